"""The cache directory on disk: file names, atomic writes, and its size limit.

Several servers, on several machines, may use a directory at once, and anybody may delete it at any
time: nothing here relies on what it saw a moment ago. Only files of our own names are looked at.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct

from tb_privateuse1.storage import file_identity, file_lock

BESIDE = "beside"
"""The setting for caches beside the runs."""
HIDDEN = ".tb_privateuse1"
"""Their directory in the run's; discovery leaves out hidden ones."""

LIMIT_BYTES = 20 * 10**9
PART_LIMIT_BYTES = 10**9
_PYRAMID, _PART = ".pyramid", ".part"
_STORED = re.compile(r"[0-9a-f]{32}\.(arrow|pyramid|part)")
_LEFT = re.compile(r"\.[0-9a-f]{32}\.(lock|(arrow|pyramid|part)\.[0-9a-f]{16})")
"""A lock, and a file that is not whole yet."""
STALL_S = 300.0
"""Who makes a file and shows no sign of life for so long is passed over."""
_OLD_S = 86_400.0
_SWEPT = 5
"""How often a new file may be swept before its writer has locked it."""
_FILES_PER_LOOK = 100
"""A look at all files of a large cache takes longer than to write a part."""
_EVICTED_TO = 0.9
"""What a full directory shrinks to: one that shrinks to its bound has no room for the next file, so
that each is a look. A tenth pays for a look at all files with those of half a tenth; the rest of
the cache stays."""
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_log = logging.getLogger(__name__)


def cache_directory() -> Path:
    """Return ``$TB_PRIVATEUSE1_CACHE``, or the platform's usual place for the user's caches."""
    chosen = os.environ.get("TB_PRIVATEUSE1_CACHE")
    if chosen and chosen != BESIDE:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "tb_privateuse1"


def cache_directories(trace: str, chosen: Path | None = None) -> list[Path]:
    """Return the directories that may cache a trace file, the preferred one first.

    That is ``chosen`` alone, if one is.
    With ``TB_PRIVATEUSE1_CACHE=beside`` that is a hidden directory beside it. If that cannot be
    written, or is a link to who knows where, there remains the user's.
    """
    if chosen:
        return [chosen]
    places = [cache_directory()]
    if os.environ.get("TB_PRIVATEUSE1_CACHE") == BESIDE and "://" not in trace:
        beside = Path(trace).parent / HIDDEN
        if not beside.is_symlink():
            places.insert(0, beside)
    return places


def limit_bytes() -> int:
    """Return ``$TB_PRIVATEUSE1_CACHE_BYTES``, or the default."""
    set_bytes = bytes_set("TB_PRIVATEUSE1_CACHE_BYTES")
    return LIMIT_BYTES if set_bytes is None else set_bytes


def part_limit_bytes() -> int:
    """Return ``$TB_PRIVATEUSE1_PART_BYTES``, or the default."""
    set_bytes = bytes_set("TB_PRIVATEUSE1_PART_BYTES")
    return PART_LIMIT_BYTES if set_bytes is None else set_bytes


def bytes_set(variable: str) -> int | None:
    """Return the bytes of an environment variable, such as ``500M`` or ``20G``; None if unset."""
    text = os.environ.get(variable, "")
    if not text:
        return None
    match = re.fullmatch(r"([0-9]{1,15}) ?([kMGT]?)B?", text.strip())
    if match is None:
        _log.warning("%s: %r is no number of bytes, such as 20G", variable, text)
        return None
    return int(match[1]) * _UNITS[match[2]]


def claim(path: Path) -> file_lock.Claim | None:
    """Return the lock to make a cache file; None if another process makes it. Raises OSError."""
    _make(path.parent)
    return file_lock.claim(_lock(path))


def beat_ns(path: Path) -> int:
    """Return when the maker of a cache file last showed a sign of life; 0 without a maker."""
    try:
        return _lock(path).stat().st_mtime_ns
    except OSError:
        return 0


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that appears at its path whole, and only if nothing was raised.

    Until then it has a name of its own and is locked, by which ``make_room`` knows that its
    writer lives. Raises OSError.
    """
    _make(path.parent)
    temporary, file = _half(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # else a crash may leave a whole file of zeros
            if sys.platform != "win32":
                temporary.replace(path)
        if sys.platform == "win32":  # no open file is renamed there
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _half(path: Path) -> tuple[Path, IO[bytes]]:
    """Return a new locked file beside a path. Raises OSError.

    Between its making and its locking another server's sweep may take it for a dead writer's.
    """
    for _ in range(_SWEPT):
        temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
        file = temporary.open("xb")
        held = True
        with contextlib.suppress(OSError):  # a file system without locks
            held = file_lock.try_lock(file.fileno())
        if held and file_lock.is_at(file.fileno(), temporary):
            return temporary, file
        file.close()
        temporary.unlink(missing_ok=True)
    raise FileNotFoundError(f"{path.parent} is emptied all the time")


def pyramid_path(path: Path) -> Path:
    """Return the path of the pyramid beside a cached trace."""
    return path.with_suffix(_PYRAMID)


def part_path(path: Path) -> Path:
    """Return the path of the part (``part_file``) beside a cached trace; it may outlive that.

    Each version of the analysis has one of its own.
    """
    maker = file_identity.digest([path.stem, file_identity.analysis_version()])
    return path.with_name(f"{file_identity.content_of(path.stem)}{maker}{_PART}")


def touch(path: Path) -> None:
    """Set a file's time of last use to now: eviction starts with the longest unused."""
    with contextlib.suppress(OSError):  # a cache that we may only read
        os.utime(path)


def make_room(directory: Path, keep: Path | None = None, to: float = 1.0) -> tuple[int, int]:
    """Remove what dead writers left, then what was not used for longest, down to the bounds.

    Where a bound is exceeded, down to ``to`` of it, above 0 and at most 1.

    These are ``limit_bytes`` for traces and ``part_limit_bytes`` for parts, and never more
    than is free on the disk. ``keep`` stays with its part, even if it is larger alone. What cannot
    be removed (another user's) is passed over. Returns how many bytes of traces and of parts there
    is room for then.
    """
    try:
        traces, parts = _stored(directory)
        bounds = _bounds(directory, traces, parts)
    except OSError:  # deleted meanwhile, or closed to us
        return 0, 0
    room = []
    kept = (keep, keep and part_path(keep))
    for stored, bound in zip((traces, parts), bounds, strict=True):
        total = sum(size for _, size, _ in stored)
        target = bound if total <= bound else bound * to
        for _, size, path in sorted(stored):
            if total <= target:
                break
            if path not in kept and evict(path):
                total -= size
        room.append(bound - total)
    return room[0], room[1]


class Room:
    """Keeps directories within their bounds, without a look at all files for each new one.

    A thousand traces would be two million looks. Its methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: dict[Path, tuple[int, int, int]] = {}
        """By directory the bytes of traces and of parts, and the files, until the next look."""
        self._limits = (limit_bytes(), part_limit_bytes())

    def wrote(self, path: Path) -> None:
        """Look at a directory if a trace that was written there may be too much, with its part.

        Half of the room that was found is for other servers that write there.
        """
        size = sum(map(_size, (path, pyramid_path(path))))
        with self._lock:
            limits = (limit_bytes(), part_limit_bytes())
            if limits != self._limits:
                self._left, self._limits = {}, limits
            traces, parts, files = self._left.get(path.parent, (0, 0, 0))
            left = traces - 2 * size, parts - 2 * _size(part_path(path)), files - 1
            self._left[path.parent] = left
        if min(left) <= 0:
            room = make_room(path.parent, path, _EVICTED_TO)
            with self._lock:
                self._left[path.parent] = (*room, _FILES_PER_LOOK)


def _size(path: Path) -> int:
    """Return a file's bytes; 0 if it does not exist."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def give_up(directory: Path, wanted_bytes: int) -> int:
    """Remove what was not used for longest until these bytes are free; return how many are.

    For a disk that is full, whatever the bounds: parts and traces alike. Returns 0 if there is
    nothing left that can be removed.
    """
    freed = 0
    try:
        traces, parts = _stored(directory)
    except OSError:  # deleted meanwhile, or closed to us
        return 0
    for _, size, path in sorted(traces + parts):
        if freed >= wanted_bytes:
            break
        freed += size if evict(path) else 0
    return freed


class DiskUse(Struct, frozen=True):
    """The use of a cache directory."""

    directory: str
    traces: int
    bytes: int
    limit_bytes: int
    """It shrinks to this after each writing."""
    parts: int
    """What views of all ranks need of a trace; a part may outlive its trace."""
    part_bytes: int
    part_limit_bytes: int


def disk_use(directory: Path) -> DiskUse:
    """Return the use of a cache directory; zero if it does not exist. Raises OSError."""
    try:
        traces, parts = _stored(directory)
        bounds = _bounds(directory, traces, parts)
    except FileNotFoundError:
        return DiskUse(str(directory), 0, 0, limit_bytes(), 0, 0, part_limit_bytes())
    bytes, part_bytes = (sum(size for _, size, _ in stored) for stored in (traces, parts))
    return DiskUse(
        str(directory), len(traces), bytes, bounds[0], len(parts), part_bytes, bounds[1]
    )  # fmt: skip


def clear(directory: Path) -> DiskUse:
    """Remove all traces and parts of a cache directory, and what dead writers left; what remains.

    Traces that are being made appear afterwards. Raises OSError.
    """
    with contextlib.suppress(FileNotFoundError):
        for stored in _stored(directory):
            for _, _, path in stored:
                evict(path)
    return disk_use(directory)


_Stored = list[tuple[int, int, Path]]
"""Time of last use in ns, bytes and path of each file."""


def _stored(directory: Path) -> tuple[_Stored, _Stored]:
    """Return the traces, their pyramids included, and the parts.

    Removes files of dead writers, and pyramids without a trace.
    """
    stored: dict[Path, tuple[int, int]] = {}
    beside: dict[Path, int] = {}
    parts: _Stored = []
    with os.scandir(directory) as entries:
        for entry in entries:
            path = Path(entry.path)
            if _LEFT.fullmatch(entry.name):
                _sweep(path)
            elif _STORED.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if path.suffix == _PYRAMID:
                        beside[path] = status.st_size
                    elif path.suffix == _PART:
                        parts.append((status.st_mtime_ns, status.st_size, path))
                    else:
                        stored[path] = status.st_mtime_ns, status.st_size
    for path in beside:
        trace = path.with_suffix(".arrow")
        if trace not in stored and not trace.exists():  # it may have come while we looked
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
    traces = [
        (used_ns, size + beside.get(pyramid_path(path), 0), path)
        for path, (used_ns, size) in stored.items()
    ]
    return traces, parts


def _bounds(directory: Path, traces: _Stored, parts: _Stored) -> list[int]:
    """Return the limits that are set, each at most the free space of the disk. Raises OSError."""
    free = shutil.disk_usage(directory).free
    return [
        min(limit, (free + sum(size for _, size, _ in stored)) // 2)
        for stored, limit in ((traces, limit_bytes()), (parts, part_limit_bytes()))
    ]


def remove(path: Path) -> bool:
    """Remove a trace's cache file, its pyramid and its part; whether all are gone."""
    return evict(path) and evict(part_path(path))


def evict(path: Path) -> bool:
    """Remove a part, or a trace with its pyramid and without its part; whether it is gone."""
    try:
        path.unlink(missing_ok=True)  # another server may have been faster
        if path.suffix != _PART:
            pyramid_path(path).unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _sweep(path: Path) -> None:
    """Remove a lock or a half-written file if nobody holds it."""
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return
    try:
        dead = file_lock.try_lock(descriptor)
    except OSError:  # no locks here: nobody writes one file for a day
        dead = time.time() - os.fstat(descriptor).st_mtime > _OLD_S
    if dead and file_lock.is_at(descriptor, path):
        file_lock.remove_open(path, descriptor)
    else:
        os.close(descriptor)


def _lock(path: Path) -> Path:
    return path.with_name(f".{path.stem}.lock")


def _make(directory: Path) -> None:
    # Beside a run all readers of the run may read it, in the user's cache the user alone.
    mode = 0o777 if directory.name == HIDDEN else 0o700
    directory.mkdir(parents=True, exist_ok=True, mode=mode)
