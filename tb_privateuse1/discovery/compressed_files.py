"""Decompress gzip, zstd, xz and bzip2 files, block by block, within limits.

What a file is packed with is in its first bytes; its name does not count. Standards: RFC 1952
(gzip), RFC 8878 (Zstandard), the .xz file format 1.2, and bzip2's block headers. A stream may be
followed by another one, which is unpacked too, or by padding. The content may be packed in turn.
"""

from __future__ import annotations

import bz2
import contextlib
import io
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

from isal import igzip, igzip_lib

SUFFIXES = (".gz", ".zst", ".xz", ".bz2")
"""The endings that are added to the names of packed files."""
SUFFIX_PATTERN = rf"(?:{'|'.join(map(re.escape, SUFFIXES))})?$"
"""Matches the end of a name, packed or not."""

HEAD_BYTES = 16
"""The first bytes that ``packing_of`` needs."""

MOST_LAYERS = 4
"""How often a file may be packed. One can be made that unpacks to itself."""

LIMIT_VARIABLE = "TB_PRIVATEUSE1_MAX_BYTES"
MAX_BYTES = 32 << 30
_MAX_RATIO = 400
_RATIO_FROM = 256 << 20
"""Up to this unpacked size the ratio does not count."""

_BLOCK = 1 << 18
_PACKED = 1 << 14
_PIECE = 1 << 12
"""What of a zstd stream is unpacked in one call. A call that fails gives nothing."""
_MOST_MEMORY = 512 << 20
"""xz's dictionary is as large as the stream says. ``xz -9`` makes 64 MiB."""

_MAGICS = {
    "gzip": re.compile(rb"\x1f\x8b"),
    # A file of several frames may begin with one that is to be skipped.
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
    "xz": re.compile(rb"\xfd7zXZ\0"),
    "bzip2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)"),
}


class BrokenStream(EOFError):
    """A packed stream that is ``cut`` or ``damaged``; everything before that was unpacked."""

    def __init__(self, fault: str) -> None:
        super().__init__(fault)
        self.fault = fault


# isal's type stubs call its exception a value.
BROKEN: tuple[type[Exception], ...] = (  # type: ignore[assignment]
    EOFError,
    OSError,
    zlib.error,
    igzip_lib.IsalError,
)
"""The errors of a stream of ``open_unpacked`` that is cut or damaged."""


def packing_of(head: bytes) -> str | None:
    """Return what a file is packed with by its first bytes; None if it is not packed."""
    return next((name for name, magic in _MAGICS.items() if magic.match(head)), None)


def most_bytes(packed_bytes: int) -> int:
    """Return the limit of what packed bytes may unpack to (real traces pack 10 to 60 times)."""
    limit = os.environ.get(LIMIT_VARIABLE, "")
    if limit.isdecimal():
        return int(limit)
    return min(MAX_BYTES, max(_RATIO_FROM, packed_bytes * _MAX_RATIO))


def unpacked_name(name: str) -> str:
    """Return a file's name without the ending of a packed file."""
    end = next((end for end in SUFFIXES if name.lower().endswith(end)), "")
    return name[: len(name) - len(end)]


def open_unpacked(file: IO[bytes] | io.RawIOBase, packing: str) -> IO[bytes]:
    """Open the content of a packed file. Reading raises one of ``BROKEN``, as late as it can."""
    if packing == "gzip":
        return cast(IO[bytes], igzip.open(file))  # type: ignore[no-untyped-call]
    return cast(IO[bytes], Content(lambda: unpack(cast(IO[bytes], file), packing)))


class ReadStream(io.RawIOBase):
    """A file to be read and sought in; subclasses have ``readinto``, ``seek`` and ``tell``."""

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that it can be sought in."""
        return True


class Content(ReadStream):
    """A file of blocks. To seek backward opens them again.

    A read gives less than it is asked for only at the end, or in front of a damage.
    """

    def __init__(self, open_blocks: Callable[[], Iterator[bytes]]) -> None:
        self._open_blocks = open_blocks
        self._blocks = open_blocks()
        self._held = b""
        self._place = 0
        """Of the next byte in ``_held``."""
        self._at = 0

    def tell(self) -> int:
        """Return the place of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, counted from the beginning. Raises ValueError for another ``whence``."""
        if whence != io.SEEK_SET:
            raise ValueError("the size of the content is not known")
        if offset < self._at:
            self._blocks = self._open_blocks()
            self._held, self._place, self._at = b"", 0, 0
        while self._at < offset and self.read(min(_BLOCK, offset - self._at)):
            pass
        return self._at

    def peek(self, size: int) -> bytes:
        """Return the next bytes and stay in front of them."""
        block = self.read(size)
        self._held, self._place = block + self._held[self._place :], 0
        self._at -= len(block)
        return block

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises one of ``BROKEN`` behind all that could be unpacked."""
        parts = list[bytes]()
        left = sys.maxsize if size < 0 else size
        while left and (self._place < len(self._held) or self._refill(bool(parts))):
            parts.append(self._held[self._place : self._place + left])
            self._place += len(parts[-1])
            left -= len(parts[-1])
        block = b"".join(parts)
        self._at += len(block)
        return block

    def blocks(self) -> Iterator[bytes]:
        """Yield the rest as it comes, without a copy."""
        yield self._held[self._place :]
        yield from self._blocks

    def _refill(self, has_some: bool) -> bool:
        try:
            self._held, self._place = next((block for block in self._blocks if block), b""), 0
        except BrokenStream as error:
            if not has_some:
                raise
            self._blocks = _raise(error)
            return False
        return bool(self._held)


def _raise(error: BrokenStream) -> Iterator[bytes]:
    raise error
    yield b""


class _Unclosed:
    """A file that Arrow reads and does not close."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.read = file.read

    def close(self) -> None:
        """Leave the file open: it is the caller's."""


def unpack(file: IO[bytes], packing: str) -> Iterator[bytes]:
    """Yield the content of a file packed with zstd, xz or bzip2 in blocks of bounded size.

    The file is read from its beginning. Raises BrokenStream once all that can be unpacked is
    yielded, and OSError of the file itself.
    """
    file.seek(0)
    if packing == "zstd":
        yield from _unpack_zstd(file)
    elif packing == "xz":
        yield from _unpack(file, lambda: lzma.LZMADecompressor(memlimit=_MOST_MEMORY), "xz")
    else:
        yield from _unpack(file, bz2.BZ2Decompressor, "bzip2")


def _unpack(file: IO[bytes], make: Callable[[], Any], packing: str) -> Iterator[bytes]:
    unpacker = make()
    while True:
        packed = b""
        if unpacker.eof:
            packed = unpacker.unused_data
            packed += file.read(_PACKED)
            if not _MAGICS[packing].match(packed):  # the end, or padding
                return
            unpacker = make()
        elif unpacker.needs_input and not (packed := file.read(_PACKED)):
            raise BrokenStream("cut")
        try:
            block = unpacker.decompress(packed, _BLOCK)
        except (lzma.LZMAError, OSError, ValueError) as error:
            raise BrokenStream("damaged") from error
        if block:
            yield block


def _unpack_zstd(file: IO[bytes]) -> Iterator[bytes]:
    stream, done, parts = _zstd(file), 0, list[bytes]()
    try:
        while piece := _read(stream, _PIECE):
            parts.append(piece)
            if len(parts) == _BLOCK // _PIECE:
                done += _BLOCK
                yield b"".join(parts)
                parts.clear()
        yield b"".join(parts)
    except BrokenStream as error:
        yield b"".join(parts)
        file.seek(0)
        yield _last(_zstd(file), done + sum(map(len, parts)))
        raise error from None


def _zstd(file: IO[bytes]) -> Any:
    import pyarrow  # most files need no import of it

    return pyarrow.CompressedInputStream(pyarrow.PythonFile(_Unclosed(file), "r"), "zstd")


def _read(stream: Any, size: int) -> bytes:
    try:
        piece: bytes = stream.read(size)
    except OSError as error:
        # An error of unpacking comes from no call of the system.
        if type(error) is not OSError or error.errno is not None:
            raise
        raise BrokenStream("cut" if "Truncated" in str(error) else "damaged") from error
    return piece


def _last(stream: Any, skip: int) -> bytes:
    """Return what is between a place and the damage behind it, byte by byte."""
    last = bytearray()
    with contextlib.suppress(BrokenStream):
        while skip > 0:
            skip -= len(_read(stream, min(skip, _PIECE)))
        while piece := _read(stream, 1):
            last += piece
    return bytes(last)
