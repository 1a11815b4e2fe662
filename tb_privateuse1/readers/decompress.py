"""Read a compressed or plain file block by block, complete or cut off.

What it is packed with is in its first bytes (``discovery.compressed_files``), not in its name. What
is in it may be packed in turn. A stream that is cut or damaged yields what could be unpacked, and
``Source.fault`` says so. The unpacked size has a limit (``compressed_files.most_bytes``), that of
each packing too.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import IO, BinaryIO, cast

from isal import igzip_lib

from tb_privateuse1.discovery import compressed_files
from tb_privateuse1.discovery.archive_streams import MemberStream
from tb_privateuse1.discovery.file import open_file
from tb_privateuse1.i18n import say
from tb_privateuse1.readers.raw import Progress
from tb_privateuse1.trace.errors import TraceError

_BLOCK = 1 << 20
_PIECE = 512
"""Packed bytes that are unpacked at once. A damaged stream loses at most this much, and it bounds
a block: deflate packs 1,032 times at best."""

_PIECES = 64

_GZIP = b"\x1f\x8b"

# isal's type stubs call its exception a value.
_BROKEN: tuple[type[Exception], ...] = (zlib.error, igzip_lib.IsalError)  # type: ignore[assignment]


class Source:
    """One file. ``fault`` is ``cut`` or ``damaged`` once the end of a broken stream is reached."""

    def __init__(self, path: str, progress: Progress | None = None) -> None:
        self.path = path
        self.fault: str | None = None
        self.events = 0
        """Events read so far, for reports of progress."""
        self.size = 0
        """Of the file, in bytes."""
        self._progress = progress
        self._unpacked = 0

    def blocks(self, start: int = 0) -> Iterator[bytes]:
        """Yield the unpacked content from ``start`` on in blocks of about a megabyte.

        Raises TraceError ``unreadable`` (the file cannot be opened or read) or ``too_large``,
        and ``remote.RemoteError`` for a URL.
        """
        try:
            with open_file(self.path) as file:
                size = self.size = file.seek(0, os.SEEK_END)
                packed_bytes = file.packed_bytes if isinstance(file, MemberStream) else size
                file.seek(0)
                packing = compressed_files.packing_of(file.read(compressed_files.HEAD_BYTES))
                self._unpacked = 0 if packing else start
                file.seek(self._unpacked)
                blocks = self._unpack(file, packing, packed_bytes) if packing else _read(file)
                for block in blocks:
                    skip = max(0, start - self._unpacked)
                    self._unpacked += len(block)
                    self._check(self._unpacked, packed_bytes)
                    if self._progress:
                        self._progress("reading", file.tell(), size, self.events)
                    if skip < len(block):
                        yield block[skip:] if skip else block
                if isinstance(file, MemberStream):
                    self.fault = self.fault or file.fault
        except TraceError:  # an OSError too, of a remote file
            raise
        except OSError as error:
            raise TraceError(
                "unreadable", say("{path} cannot be read: {error}", path=self.path, error=error)
            ) from error

    def _check(self, unpacked: int, packed_bytes: int) -> None:
        limit = compressed_files.most_bytes(packed_bytes)
        if unpacked > limit:
            message = say(
                "{path} unpacks to more than {limit:,} bytes.", path=self.path, limit=limit
            )
            hint = say(
                "If it is a trace all the same, set {variable} to a larger number.",
                variable=compressed_files.LIMIT_VARIABLE,
            )
            raise TraceError("too_large", message, hint)

    def _unpack(
        self, file: IO[bytes], packing: str, packed_bytes: int, layers: int = 1
    ) -> Iterator[bytes]:
        """Yield the content of a packed file, unpacked in turn if it is packed itself."""
        content = compressed_files.Content(lambda: self._layer(file, packing, packed_bytes))
        inner = compressed_files.packing_of(content.peek(compressed_files.HEAD_BYTES))
        if inner is None:
            yield from content.blocks()
        elif layers == compressed_files.MOST_LAYERS:
            message = say("{path} is packed more than {count} times.", path=self.path, count=layers)
            raise TraceError("too_large", message, say("Unpack it."))
        else:
            yield from self._unpack(cast(IO[bytes], content), inner, packed_bytes, layers + 1)

    def _layer(self, file: IO[bytes], packing: str, packed_bytes: int) -> Iterator[bytes]:
        """Yield what a file unpacks to once; a broken stream ends, and ``fault`` says so."""
        file.seek(0)
        unpacked = 0
        try:
            blocks = (
                self._gunzip(file) if packing == "gzip" else compressed_files.unpack(file, packing)
            )
            for block in blocks:
                unpacked += len(block)
                self._check(unpacked, packed_bytes)
                yield block
        except compressed_files.BrokenStream as error:
            self.fault = self.fault or error.fault

    def _gunzip(self, file: IO[bytes]) -> Iterator[bytes]:
        unpack = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        start = done = 0
        out: list[bytes] = []
        while block := file.read(_BLOCK):
            at = 0
            while at < len(block):
                piece = block[at : at + _PIECE]
                try:
                    out.append(unpack.decompress(piece))
                except _BROKEN:
                    self.fault = self.fault or "damaged"
                    yield b"".join(out)
                    yield _last(file, start, done + at)
                    return
                at += len(piece)
                if unpack.eof:
                    at -= len(unpack.unused_data)
                    if at + len(_GZIP) > len(block):  # the next stream may begin at the edge
                        block += file.read(_BLOCK)
                    if block[at : at + 2] != _GZIP:  # the end, or padding behind it
                        yield b"".join(out)
                        return
                    start = done + at
                    unpack = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
                if len(out) == _PIECES:
                    yield b"".join(out)
                    out.clear()
            done += len(block)
        self.fault = self.fault or "cut"
        yield b"".join(out)


def _read(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


def _last(file: IO[bytes], start: int, stop: int) -> bytes:
    """Unpack a stream that starts at ``start`` byte by byte from ``stop`` up to its damage."""
    unpack = zlib.decompressobj(31)
    out: list[bytes] = []
    file.seek(start)
    try:
        while (left := stop - file.tell()) > 0:
            unpack.decompress(file.read(min(left, _PIECE)))
        for byte in file.read(_PIECE):
            out.append(unpack.decompress(bytes([byte])))
    except zlib.error:
        pass
    return b"".join(out)


def first_bytes(path: str, size: int) -> bytes:
    """Return the first bytes of a file's unpacked content, fewer of a short or broken one.

    Raises TraceError as ``Source.blocks`` does.
    """
    parts, missing = list[bytes](), size
    for block in Source(path).blocks():
        parts.append(block[:missing])
        missing -= len(parts[-1])
        if not missing:
            break
    return b"".join(parts)


def read_bytes(path: str, limit: int = 1 << 30) -> bytes:
    """Return the content of a small file.

    Raises TraceError ``unreadable`` (also if the file is cut) or ``too_large``.
    """
    source = Source(path)
    parts, size = [], 0
    for block in source.blocks():
        size += len(block)
        if size > limit:
            raise TraceError(
                "too_large", say("{path} is larger than {limit:,} bytes.", path=path, limit=limit)
            )
        parts.append(block)
    if source.fault:
        hint = say("Was the job killed while it wrote? Remove the file or record the run again.")
        message = say("{path}: the packed stream is damaged.", path=path)
        if source.fault == "cut":
            message = say("{path}: the packed stream ends early.", path=path)
        raise TraceError("unreadable", message, hint)
    return b"".join(parts)
