"""Streams of archives that read forward, within limits, and end where they are damaged."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from collections.abc import Callable
from typing import IO, Any, Protocol

from tb_privateuse1.discovery import compressed_files
from tb_privateuse1.discovery.compressed_files import ReadStream

BROKEN: tuple[type[Exception], ...] = (
    *compressed_files.BROKEN,
    zipfile.BadZipFile,
    tarfile.TarError,
    struct.error,
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    RuntimeError,
    MemoryError,
)
"""The errors of an archive that is cut, damaged or hostile: the libraries raise any of these."""

_MOST_AT_ONCE = 4 << 20
"""An archive's own tables must not be larger, whatever it says: 10,000 files take 1 MB."""
_PIECE = 64 << 10


class Closed(Protocol):
    """A file or stream with an end of its own."""

    def close(self) -> None:
        """Close it."""


class TooLarge(ValueError):
    """A packed archive that unpacks to more than its limit."""


class Bounded(ReadStream):
    """An archive's file, without large reads at once. Such a read raises ValueError.

    ``owners`` are closed with it.
    """

    def __init__(self, file: IO[bytes], *owners: Closed) -> None:
        self._file = file
        self._owners = owners

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, as of any file. Raises ValueError for one before its beginning."""
        if whence == io.SEEK_SET and offset < 0:
            raise ValueError("the archive says that a file is before its beginning")
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the place of the next read."""
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises ValueError if they are too many."""
        if size < 0:
            at = self._file.tell()
            size = self._file.seek(0, io.SEEK_END) - at
            self._file.seek(at)
        if size > _MOST_AT_ONCE:
            raise ValueError("the archive's table of files is too large")
        return self._file.read(size)

    def close(self) -> None:
        """Close the stream below, too."""
        self._file.close()
        for owner in self._owners:
            owner.close()
        super().close()


class InOrder(Bounded):
    """A tar that is read forward: an entry that leads back would have no end."""

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a later place. Raises ValueError for an earlier one."""
        if whence != io.SEEK_SET or offset < self.tell():
            raise ValueError("the archive's files are not in order")
        return super().seek(offset)


class Forward(Bounded):
    """An unpacked stream that seeks by reading on. Raises ``TooLarge`` beyond ``most`` bytes."""

    def __init__(self, file: IO[bytes], most: int, *owners: Closed) -> None:
        super().__init__(file, *owners)
        self._most = most
        self._at = 0

    def tell(self) -> int:
        """Return the place of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Read on up to a later place. Raises ValueError for an earlier one."""
        if whence != io.SEEK_SET or offset < self._at:
            raise ValueError("the archive's files are not in order")
        while self._at < offset and self.read(min(_PIECE, offset - self._at)):
            pass
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Return as many bytes as asked for, fewer only at the end."""
        parts = list[bytes]()
        while size > 0 and (block := super().read(size)):
            parts.append(block)
            size -= len(block)
            self._at += len(block)
            if self._at > self._most:
                raise TooLarge("the archive unpacks to more than its limit")
        return b"".join(parts)


class MemberStream(ReadStream):
    """The content of a file in an archive; ``fault`` once a damage or an early end is reached.

    ``head`` is its beginning, if that is known. ``open_content`` opens its content to be read
    forward, from its first byte. To seek backward opens it again.
    """

    def __init__(
        self, size: int, packed_bytes: int, head: bytes, open_content: Callable[[], IO[bytes]]
    ) -> None:
        self.packed_bytes = packed_bytes
        """What the content takes in the archive, or the whole archive if that is not known."""
        self.fault: str | None = None
        self._size = size
        self._head = head
        self._open_content = open_content
        self._at = 0
        self._stream: IO[bytes] | None = None
        self._stream_at = 0

    def tell(self) -> int:
        """Return the place of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, as of any file."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, as ``read`` does."""
        view = memoryview(buffer).cast("B")
        block = self.read(len(view))
        view[: len(block)] = block
        return len(block)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes: as many as asked for, fewer only at the end or at a damage."""
        left = max(0, self._size - self._at)
        size = left if size < 0 else min(size, left)
        parts = list[bytes]()
        while size > 0 and (block := self._read(min(size, _PIECE))):
            parts.append(block)
            size -= len(block)
            self._at += len(block)
        return b"".join(parts)

    def close(self) -> None:
        """Close the stream below, too."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        super().close()

    def _read(self, size: int) -> bytes:
        if self._at < len(self._head):
            return self._head[self._at : self._at + size]
        try:
            if self._stream is None or self._stream_at > self._at:
                if self._stream is not None:
                    self._stream.close()
                self._stream, self._stream_at = self._open_content(), 0
            while self._stream_at < self._at:
                skipped = self._stream.read(min(_PIECE, self._at - self._stream_at))
                self._stream_at += len(skipped)
                if not skipped:
                    break
            block = self._stream.read(size) if self._stream_at == self._at else b""
        except BROKEN as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the disk
            self.fault = self.fault or "damaged"
            return b""
        self._stream_at += len(block)
        if not block:
            self.fault = self.fault or "cut"
        return block
