"""Read a remote file like a local one, in ranges that grow during sequential reading.

The head of a file costs one small request. Sequential reading requests ever larger blocks, and
prefetches the next one. So at most two blocks are in memory. A web server that does not support
ranges (``python -m http.server``) is read from the start, in one response.
"""

from __future__ import annotations

import contextlib
import io
import time
from concurrent.futures import Future
from typing import Any, BinaryIO, cast

from tb_privateuse1.discovery.compressed_files import ReadStream
from tb_privateuse1.discovery.remote.errors import remote_error
from tb_privateuse1.discovery.remote.filesystem import Server, server_of
from tb_privateuse1.discovery.remote.listing import status
from tb_privateuse1.discovery.remote.url import is_web

_LEAST = 64 << 10
_MOST = 4 << 20
_AGAIN_S = 0.5


def open_url(url: str, size: int | None = None) -> BinaryIO:
    """Open a file for reading; requests its ``size`` if it is None.

    Raises RemoteError, here and from its methods. Not thread-safe.
    """
    server = server_of(url)
    if size is None:
        size = status(url).size
    return cast(BinaryIO, io.BufferedReader(_Ranges(server, url, size), _LEAST))


class _Ranges(ReadStream):
    def __init__(self, server: Server, url: str, size: int) -> None:
        self._server = server
        self._url = url
        self._size = size
        self._position = 0
        self._fetch = _Web(url, size) if is_web(url) else _Object(url)
        self._start = 0
        self._block = b""
        self._length = _LEAST
        self._ahead: tuple[int, Future[bytes]] | None = None

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def readinto(self, buffer: Any) -> int:
        if self._position >= self._size:
            return 0
        if not 0 <= self._position - self._start < len(self._block):
            self._load()
        at = self._position - self._start
        part = self._block[at : at + len(buffer)]
        buffer[: len(part)] = part
        self._position += len(part)
        return len(part)

    def close(self) -> None:
        if not self.closed:
            self._cancel_prefetch()
            self._block = b""
            self._fetch.close()
        super().close()

    def _load(self) -> None:
        """Load the block at the position."""
        start = self._position
        end = self._start + len(self._block)
        sequential = start == end > 0
        if self._ahead and self._ahead[0] == start:
            future = self._ahead[1]
            self._ahead = None
        else:
            self._cancel_prefetch()
            future = self._submit(start, 2 * self._length if sequential else _LEAST)
        self._block = b""  # before the next one arrives
        self._block = self._server.wait(self._url, future)
        self._start = start
        following = start + len(self._block)
        if sequential and following < self._size:
            self._ahead = following, self._submit(following, 2 * self._length)

    def _submit(self, start: int, length: int) -> Future[bytes]:
        self._length = min(length, _MOST)
        end = min(start + self._length, self._size)
        return self._server.submit(lambda fs: self._fetch_with_retry(fs, start, end))

    def _fetch_with_retry(self, fs: Any, start: int, end: int) -> bytes:
        """Fetch a range, twice if the connection breaks: a large file needs many requests."""
        try:
            return self._fetch(fs, start, end)
        except Exception as error:
            if isinstance(error, TimeoutError) or not remote_error(error, self._url).passing:
                raise
        time.sleep(_AGAIN_S)
        return self._fetch(fs, start, end)

    def _cancel_prefetch(self) -> None:
        """Cancel the prefetched range, or wait for it: one request at a time is open."""
        if self._ahead and not self._ahead[1].cancel():
            with contextlib.suppress(Exception):
                self._server.wait(self._url, self._ahead[1])
        self._ahead = None


class _Object:
    """Ranges of an object: one request each."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __call__(self, fs: Any, start: int, end: int) -> bytes:
        data: bytes = fs.cat_file(fs._strip_protocol(self._url), start=start, end=end)
        return _whole(data, end - start)

    def close(self) -> None:
        """Do nothing: no response stays open."""


class _Web:
    """Ranges of a file on a web server, or parts of one response without range support."""

    def __init__(self, url: str, size: int) -> None:
        self._url = url
        self._size = size
        self._response: Any = None
        self._at = 0

    def __call__(self, fs: Any, start: int, end: int) -> bytes:
        if self._response is None:
            try:
                with fs.open(self._url, "rb", size=self._size, cache_type="none") as file:
                    file.seek(start)
                    return _whole(file.read(end - start), end - start)
            except ValueError:  # fsspec raises it for a response without a range
                pass
        return self._read_response(fs, start, end)

    def _read_response(self, fs: Any, start: int, end: int) -> bytes:
        try:
            if self._response is None or start < self._at:
                self.close()
                self._response = fs.open(self._url, "rb", size=self._size, block_size=0)
                self._at = 0
            while self._at < start:
                self._take(min(start - self._at, _MOST))
            return self._take(end - start)
        except BaseException:
            self.close()
            raise

    def _take(self, length: int) -> bytes:
        parts: list[bytes] = []
        left = length
        while left and (part := self._response.read(left)):
            parts.append(part)
            left -= len(part)
        self._at += length - left
        return _whole(b"".join(parts), length)

    def close(self) -> None:
        """Close the open response."""
        if self._response is not None:
            self._response.close()
            self._response = None


def _whole(data: bytes, length: int) -> bytes:
    # Without this check a broken connection would look like a truncated trace.
    if len(data) != length:
        raise ConnectionError(f"{len(data)} bytes came instead of {length}")
    return data
