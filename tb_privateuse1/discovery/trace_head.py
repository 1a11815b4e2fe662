"""Recognize a trace, its format and its rank by few bytes.

torch writes the metadata (``distributedInfo``, …) before the events; other tools that rewrite a
trace may put it behind them, so the end is looked at too where it is near.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import IO, Any, TypeVar

from isal import igzip, igzip_lib

from tb_privateuse1.discovery.daemon_pool import DaemonPool
from tb_privateuse1.discovery.file import File, open_file
from tb_privateuse1.discovery.formats import Format, Signs
from tb_privateuse1.discovery.remote import RemoteError

_BLOCK = 64 << 10
_MOST = 4 << 20
"""Unpacked bytes looked at: thousands of process groups in ``distributedInfo`` take megabytes."""
_SMALL_GZIP = 256 << 10
"""Packed files up to this size are unpacked up to ``_MOST`` to see what follows the events."""
_SIDECAR_RANK = re.compile(rb'"rank"\s*:\s*([0-9]{1,9})\b')


_AT_ONCE = 8
"""Remote files that are looked at at a time."""
_PATIENCE = 3
"""Remote files that may fail on end before their host is given up."""


@dataclass(frozen=True)
class Head:
    """What the first (and, if near, last) bytes of a file show."""

    is_trace: bool
    rank: int | None


_F = TypeVar("_F", bound=Format)
_T = TypeVar("_T")
_Look = Callable[[IO[bytes], bool, int], _T]


class Heads:
    """Heads by file identity, so that a file is opened again only when it has changed.

    ``formats`` are the formats that a trace may have.

    What cannot be read is looked at again another time. Raises ``RemoteError`` if a host does not
    answer several times on end.
    """

    def __init__(self, formats: Sequence[Format]) -> None:
        self.formats = formats
        self._known: dict[File, Head] = {}
        self._used: set[File] = set()
        self._pool: DaemonPool | None = None
        self._ahead: dict[File, Future[Head]] = {}
        self._unanswered = 0

    def trace(self, file: File) -> Head:
        """Whether a file is a trace, and the rank in its metadata."""
        return self._get(file, self._trace)

    def sidecar(self, file: File) -> Head:
        """The rank in a sidecar of ours."""
        return self._get(file, lambda stream, *_: _sidecar(stream))

    def forget_unused(self) -> None:
        """Drop what was not asked for since the last call."""
        self._known = {file: self._known[file] for file in self._used}
        self._used = set()

    def look_ahead(self, files: Iterable[File]) -> None:
        """Start to look at remote traces that will be asked for, a few at a time."""
        for file in files:
            if file.is_remote and file not in self._known:
                self._pool = self._pool or DaemonPool(_AT_ONCE, "heads")
                self._ahead[file] = self._pool.submit(_look, file, self._trace)

    def stop(self) -> None:
        """Give up what was to be looked at ahead."""
        self._unanswered = 0
        for future in self._ahead.values():
            future.cancel()
        self._ahead.clear()
        if self._pool:
            self._pool.shutdown(wait=False)
            self._pool = None

    def _trace(self, stream: IO[bytes], zipped: bool, size: int) -> Head:
        sniffed, text = _sniff(stream, self.formats)
        if sniffed is None:
            return Head(False, None)
        kind, rank = sniffed[0], sniffed[1].rank
        if rank is None and kind.last_rank:
            if not zipped:
                stream.seek(max(size - _BLOCK, 0))
                text = _read(stream, _BLOCK)
            elif size <= _SMALL_GZIP:
                text += _read(stream, _MOST)
            rank = kind.last_rank(text)
        return Head(True, rank)

    def _get(self, file: File, look: _Look[Head]) -> Head:
        if file not in self._known:
            try:
                ahead = self._ahead.pop(file, None)
                self._known[file] = ahead.result() if ahead else _look(file, look)
            except OSError as error:  # gone or not ours to read: the reader will say so
                if isinstance(error, RemoteError) and error.passing:
                    self._unanswered += 1
                    if self._unanswered > _PATIENCE:
                        raise
                return Head(False, None)
            self._unanswered = 0
        self._used.add(file)
        return self._known[file]


class _Bounded(io.RawIOBase):
    """The beginning of a packed file: one that holds nothing must not be read to its end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._left = _MOST

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        block = self._file.read(min(len(view), self._left))
        self._left -= len(block)
        view[: len(block)] = block
        return len(block)


def find_format(file: File, formats: Sequence[_F]) -> _F | None:
    """Return the format that a file's first bytes show, or None.

    Raises OSError, of a URL ``remote.RemoteError``.
    """
    return _look(file, lambda stream, *_: (_sniff(stream, formats)[0] or (None,))[0])


def _look(file: File, look: _Look[_T]) -> _T:
    with open_file(file.path, file.size) as packed:
        zipped = packed.read(2) == b"\x1f\x8b"
        packed.seek(0)
        plain: IO[bytes] = packed
        if zipped:
            plain = igzip.open(_Bounded(packed))  # type: ignore[no-untyped-call]
        return look(plain, zipped, file.size)


def _sniff(stream: IO[bytes], formats: Sequence[_F]) -> tuple[tuple[_F, Signs] | None, bytes]:
    """Return the format whose signs a text shows, with them, and what was read of the text."""
    text, wanted = b"", _BLOCK
    while True:
        text += _read(stream, wanted - len(text))
        signs = [(each, each.sniff(text)) for each in formats]
        found = [(each, sign) for each, sign in signs if sign.is_trace]
        found.sort(key=lambda one: not one[1].sure)
        decided = (found and found[0][1].sure) or all(sign.sure for _, sign in signs)
        if decided or len(text) < wanted or wanted == _MOST:
            return (found[0] if found else None), text
        wanted *= 4  # each look starts from the beginning: together they stay linear


def _sidecar(stream: IO[bytes]) -> Head:
    text = _read(stream, _BLOCK)
    found = _SIDECAR_RANK.search(text)
    return Head(False, int(found[1]) if found else None)


def _read(stream: IO[bytes], most: int) -> bytes:
    """Up to ``most`` bytes, fewer at the end or where the packed stream breaks."""
    blocks: list[bytes] = []
    try:
        while most > 0 and (block := stream.read(min(most, _BLOCK))):
            blocks.append(block)
            most -= len(block)
    except RemoteError:  # no damage of the file
        raise
    except (EOFError, OSError, zlib.error, igzip_lib.IsalError):  # type: ignore[misc]
        pass  # what came before the damage still counts
    return b"".join(blocks)
