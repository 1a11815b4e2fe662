"""Recognize a trace, its format and rank by its first bytes (and its last ones, if cheap).

torch writes the metadata (``distributedInfo``, …) before the events. Tools that rewrite a trace may
put it behind them, so the end of the file is read, too, if that is cheap. Two facts need the whole
file, and are asked only where they matter: the ranks of a merged one, and whether it used a device.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import IO, Any, TypeVar

from msgspec import Struct

from tb_privateuse1.discovery import compressed_files
from tb_privateuse1.discovery.archive_streams import MemberStream
from tb_privateuse1.discovery.compressed_files import ReadStream
from tb_privateuse1.discovery.daemon_pool import DaemonPool
from tb_privateuse1.discovery.file import File, open_file
from tb_privateuse1.discovery.formats import (
    Format,
    OtherKind,
    Signs,
    other_kind,
)
from tb_privateuse1.discovery.remote import RemoteError

_BLOCK = 64 << 10
_MOST = 4 << 20
"""The limit of unpacked bytes: thousands of process groups take megabytes."""
_SMALL_GZIP = 256 << 10
"""Packed files up to this size are unpacked up to ``_MOST``, for metadata after the events."""
_PROCESS = re.compile(rb'"pid"\s*:\s*"?([0-9]{1,18})\b')
_HOST_PROCESS = re.compile(
    rb'"cat"\s*:\s*"(?:cpu_op|operator|user_annotation|python_function)"[^{}]*?'
    rb'"pid"\s*:\s*"?([0-9]{1,18})\b',
    re.IGNORECASE,
)
_LABEL = re.compile(
    rb'"pid"\s*:\s*"(\[[^\]"\\]{1,64}\]|rank[-_ ]?[0-9]{1,9}:?) (?=[^"\\]*[0-9]")', re.IGNORECASE
)
"""Matches a process of a merged file: group 1 is the label of its rank, ``[TP00]`` of SGLang, or
``rank 0:``."""
_DEVICE = re.compile(rb'"cat"\s*:\s*"[^"]*(?:kernel|gpu|memcpy|memset|_ccp_)[^"]*"', re.IGNORECASE)
_MOST_JOINED = 64 << 20
"""Bytes of a file that is read to tell its recordings apart: a listing must not wait long."""
_SCANNED = 1 << 20
_OVERLAP = 256
"""Bytes of a block that are searched again, with the next one: no match is longer."""
_SIDECAR_RANK = re.compile(rb'"rank"\s*:\s*([0-9]{1,9})\b')


_AT_ONCE = 8
"""Remote files that are read at a time."""
_PATIENCE = 3
"""Remote files that may fail in a row before their host is given up."""


class Head(Struct, frozen=True):
    """The contents of a file's first (and, if near, last) bytes."""

    is_trace: bool
    rank: int | None
    world_size: int | None = None
    processes: frozenset[int] = frozenset()
    """The numbers of processes in its beginning."""
    adds: bool = False
    """It lies beside a trace and may add to it (``Format.beside``, ``Format.joins_any``)."""
    joins_rank: bool = False
    """It adds to another recording of its rank (``Format.joins_rank``)."""
    is_partial: bool = False
    """It has no operators (``Format.is_partial``)."""
    other: OtherKind | None = None
    """What it is if it is no trace by itself."""
    host: int | None = None
    """The process that ran the operators in its beginning; None if none did, or several."""
    labels: tuple[str, ...] = ()
    """Labels of the ranks in a merged file, as its processes are spelled."""


_F = TypeVar("_F", bound=Format)
_T = TypeVar("_T")
_Look = Callable[[IO[bytes], bool, File], _T]


class Heads:
    """A cache of heads by file identity, so that only changed files are opened again.

    ``formats`` are the formats that a trace may have. An unreadable file is not cached, but read
    again at the next call; one that has only just changed is read again behind the next
    ``forget_unused``. Raises ``RemoteError`` if several files in a row have no answer.
    ``clock`` returns nanoseconds since 1970.
    """

    def __init__(self, formats: Sequence[Format], clock: Callable[[], int] = time.time_ns) -> None:
        self.formats = formats
        self._clock = clock
        self._known: dict[File, Head] = {}
        self._used: set[File] = set()
        self._fresh: set[File] = set()
        """Those that may have changed since, and seem the same."""
        self._pool: DaemonPool | None = None
        self._ahead: dict[File, Future[Head]] = {}
        self._unanswered: set[File] = set()
        self._with_device: dict[File, bool] = {}
        self._failed = 0
        self._results: dict[str, tuple[Any, Any, set[File]]] = {}
        """By name a listing, what was made of it, and the files whose heads that used."""
        self._named: set[str] = set()

    def once(self, name: str, listing: object, make: Callable[[], _T]) -> _T:
        """Return what ``make`` made of an equal listing before, else make it.

        ``make`` depends on the listing's files and their heads alone. Where one of them could not
        be read, it is made again at the next call.
        """
        known = self._results.get(name)
        if known is None or known[0] != listing:
            failed, earlier, self._used = self._failed, self._used, set()
            try:
                known = listing, make(), self._used
            finally:
                self._used = earlier | self._used
            self._results.pop(name, None)
            if failed == self._failed:
                self._results[name] = known
        self._named.add(name)
        self._used |= known[2]
        made: _T = known[1]
        return made

    def trace(self, file: File) -> Head:
        """Return whether a file is a trace, and the rank in its metadata; else what it is."""
        return self._get(file, self._trace)

    def sidecar(self, file: File) -> Head:
        """Return the rank in a sidecar of ours."""
        return self._get(file, lambda stream, *_: _sidecar(stream))

    def has_device_work(self, file: File) -> bool:
        """Return whether any event of a local trace ran on a device, by its whole text."""
        if file not in self._with_device:
            try:
                self._with_device[file] = has_device_work(file)
            except OSError:  # the reader reports it
                self._failed += 1
                return False
        return self._with_device[file]

    def forget_unused(self) -> None:
        """Drop the heads and results that no call has used since the last one, or of new files."""
        kept = self._used - self._fresh
        self._known = {file: self._known[file] for file in kept}
        self._with_device = {f: d for f, d in self._with_device.items() if f in kept}
        self._results = {
            name: one
            for name, one in self._results.items()
            if name in self._named and self._fresh.isdisjoint(one[2])
        }
        self._used, self._named, self._fresh = set(), set(), set()

    def look_ahead(self, files: Iterable[File]) -> None:
        """Start to read the heads of remote traces ahead of their use, a few at a time."""
        for file in files:
            if file.is_remote and file not in self._known:
                self._pool = self._pool or DaemonPool(_AT_ONCE, "heads")
                self._ahead[file] = self._pool.submit(_look, file, self._trace)

    def stop(self) -> None:
        """Cancel the reading ahead."""
        self._unanswered.clear()
        for future in self._ahead.values():
            future.cancel()
        self._ahead.clear()
        if self._pool:
            self._pool.shutdown(wait=False)
            self._pool = None

    def _trace(self, stream: IO[bytes], zipped: bool, file: File) -> Head:
        sniffed, text = _sniff(stream, self.formats)
        if sniffed is None:
            return _added(file.name, text, self.formats)
        processes = frozenset(map(int, set(_PROCESS.findall(text[:_BLOCK]))))
        hosts = {int(number) for number in _HOST_PROCESS.findall(text[:_BLOCK])}
        is_merged = _LABEL.search(text[:_BLOCK]) and not file.is_remote
        kind, info = sniffed[0], sniffed[1].info
        asks = info.rank is None and kind.last_info is not None
        head = text
        if not zipped and (asks or not file.is_remote):
            stream.seek(max(file.size - _BLOCK, 0))
            text = _read(stream, _BLOCK)
        elif asks and file.size <= _SMALL_GZIP:
            text += _read(stream, _MOST)
        is_joined = _has_several(head + text)
        if asks and kind.last_info:
            info = kind.last_info(text)
        return Head(
            True,
            info.rank,
            info.world_size,
            processes,
            adds=kind.joins_any,
            joins_rank=kind.joins_rank,
            is_partial=kind.is_partial,
            other=other_kind(file.name, head, [kind]) if kind.joins_any else None,
            host=hosts.pop() if len(hosts) == 1 else None,
            labels=labels_in(file) if is_merged else _joined(file, kind) if is_joined else (),
        )

    def _get(self, file: File, look: _Look[Head]) -> Head:
        if file not in self._known:
            if file.may_seem_same(self._clock()):
                self._fresh.add(file)
            try:
                ahead = self._ahead.pop(file, None)
                self._known[file] = ahead.result() if ahead else _look(file, look)
            except OSError as error:  # gone or not readable: the reader reports it
                self._failed += 1
                if isinstance(error, RemoteError) and error.passing:
                    self._unanswered.add(file)  # asked again, it is one file still
                    if len(self._unanswered) > _PATIENCE:
                        raise
                return Head(False, None)
            self._unanswered.clear()
        self._used.add(file)
        return self._known[file]


def _has_several(text: bytes) -> bool:
    """Return whether operators of several processes are in a text."""
    return len(set(_HOST_PROCESS.findall(text))) > 1


def _joined(file: File, kind: Format) -> tuple[str, ...]:
    """Return the labels of the recordings in a local file that is small enough to be read."""
    may = kind.joined and not file.is_remote and file.size <= _MOST_JOINED
    return kind.joined(file.path) if may and kind.joined else ()


def labels_in(file: File) -> tuple[str, ...]:
    """Return the labels of the ranks of a merged file, in its order. Raises OSError."""
    found: dict[bytes, None] = {}
    for block in _blocks(file):
        found.update(dict.fromkeys(_LABEL.findall(block)))
    return tuple(label.decode("utf-8", "replace") for label in found)


def has_device_work(file: File) -> bool:
    """Return whether any event of a file ran on a device. Raises OSError."""
    return any(_DEVICE.search(block) for block in _blocks(file))


def _blocks(file: File) -> Iterator[bytes]:
    with open_file(file.path, file.size) as opened:
        stream: IO[bytes] = opened
        packing = compressed_files.packing_of(opened.read(compressed_files.HEAD_BYTES))
        opened.seek(0)
        for _ in range(compressed_files.MOST_LAYERS):
            if packing is None:
                break
            stream = compressed_files.open_unpacked(stream, packing)
            packing = compressed_files.packing_of(_read(stream, compressed_files.HEAD_BYTES))
            stream.seek(0)
        left, rest = compressed_files.most_bytes(file.size), b""
        try:
            while left > 0 and (block := stream.read(_SCANNED)):
                yield rest + block
                rest, left = block[-_OVERLAP:], left - len(block)
        except compressed_files.BROKEN:
            pass  # the bytes before the damage still count


class _Bounded(ReadStream):
    """The beginning of a packed file: one that unpacks to nothing must not be read to its end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._left = _MOST

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._left = _MOST
        return self._file.seek(offset, whence)

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
    with open_file(file.path, file.size) as opened:
        plain: IO[bytes] = opened
        packing = compressed_files.packing_of(opened.read(compressed_files.HEAD_BYTES))
        opened.seek(0)
        for _ in range(compressed_files.MOST_LAYERS):
            if packing is None:
                break
            plain = compressed_files.open_unpacked(_Bounded(plain), packing)
            packing = compressed_files.packing_of(_read(plain, compressed_files.HEAD_BYTES))
            plain.seek(0)
        # To go to the end of a file in an archive takes as long as of a packed one.
        return look(plain, plain is not opened or isinstance(opened, MemberStream), file)


def _sniff(stream: IO[bytes], formats: Sequence[_F]) -> tuple[tuple[_F, Signs] | None, bytes]:
    """Return the format whose signs a text shows, with them, and what was read of the text."""
    text, wanted = b"", _BLOCK
    while True:
        text += _read(stream, wanted - len(text))
        signs = [(each, each.sniff(text)) for each in formats]
        matches = [(each, sign) for each, sign in signs if sign.is_trace]
        matches.sort(key=lambda match: not match[1].sure)
        decided = (matches and matches[0][1].sure) or all(sign.sure for _, sign in signs)
        if decided or len(text) < wanted or wanted == _MOST:
            return (matches[0] if matches else None), text
        wanted *= 4  # sniff starts from the beginning each time: the sum stays linear


def _added(name: str, text: bytes, formats: Sequence[Format]) -> Head:
    """Return the head of a file that is no trace: it may add to one."""
    asked = (each.beside(text) for each in formats if each.beside)
    process = next((number for number in asked if number is not None), None)
    other = other_kind(name, text, formats)
    if process is None:
        return Head(False, None, other=other)
    return Head(False, None, processes=frozenset({process} - {0}), adds=True, other=other)


def _sidecar(stream: IO[bytes]) -> Head:
    text = _read(stream, _BLOCK)
    match = _SIDECAR_RANK.search(text)
    return Head(False, int(match[1]) if match else None)


def _read(stream: IO[bytes], most: int) -> bytes:
    """Return up to ``most`` bytes, fewer at the end or if the packed stream is damaged."""
    blocks: list[bytes] = []
    try:
        while most > 0 and (block := stream.read(min(most, _BLOCK))):
            blocks.append(block)
            most -= len(block)
    except RemoteError:  # the connection failed, not the file
        raise
    except compressed_files.BROKEN:
        pass  # the bytes before the damage still count
    return b"".join(blocks)
