"""Identify a trace's file, and the package that reads it, by content instead of by path or name.

A run directory that was moved, mounted elsewhere or is seen by two servers under two paths shares
its cached traces. The identity is size, time of change and a digest of the first and last 64 kB, so
that a replacement of the same size and time is another file. The digest misses a change in the
middle that keeps both; of a ``.gz`` it sees that too, as the last bytes are a checksum.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tb_privateuse1.discovery.file import COARSEST_NS, File, Located, locate, printable

ENDS_BYTES = 1 << 16
_TICK_NS = COARSEST_NS
_MOST = 20_000

_PACKAGE = Path(__file__).parents[1]
_MAKERS = ("i18n", "trace", "vendors", "readers", "inference", "analysis/timeline", "storage")
_DIGITS = 16
"""Hexadecimal digits of each half of a cache name."""


def identity(file: File, look: Callable[[str], Located] = locate) -> tuple[int, int, str]:
    """Return size, time of change in ns and the digest of a file's ends. Raises OSError.

    A remote file is not asked for again: its URL and version stand for its content.
    """
    if file.is_remote:
        return file.size, file.mtime_ns, f"{printable(file.path)} {file.version}"
    now = look(file.path)
    status = now.status
    assert status is not None, "only a URL has none"
    if now.member:
        # What the archive holds at a place is as old as the archive.
        size, mtime_ns, name = status.st_size, status.st_mtime_ns, f" {printable(now.member)}"
    else:
        size, mtime_ns, name = file.size, file.mtime_ns, ""
    # Two changes within a tick of the file system's clock leave the same ctime.
    is_fresh = abs(time.time_ns() - status.st_ctime_ns) < _TICK_NS
    inode = (status.st_dev, status.st_ino, status.st_ctime_ns)
    digested = _digest if is_fresh else _remembered
    return size, mtime_ns, digested(now.holder, size, mtime_ns, inode) + name


def _digest(path: str, size: int, _mtime_ns: int, _inode: tuple[int, ...]) -> str:
    return hashlib.blake2b(_ends(path, size), digest_size=16).hexdigest()


_remembered = functools.lru_cache(_MOST)(_digest)
"""So that a request need not read the file: a changed one has another inode or ctime."""


def _ends(path: str, size: int) -> bytes:
    """Return the first and the last bytes of a file, or all of a small one."""
    with Path(path).open("rb", buffering=0) as file:
        if size <= 2 * ENDS_BYTES:
            return file.read(2 * ENDS_BYTES)
        head = file.read(ENDS_BYTES)
        file.seek(size - ENDS_BYTES)
        return head + file.read(ENDS_BYTES)


def digest(values: list[object]) -> str:
    """Return half of a cache name that stands for these values."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:_DIGITS]


def content_of(key: str) -> str:
    """Return the half of a cache name that no change of the package changes."""
    return key[:_DIGITS]


@functools.cache
def engine_version() -> str:
    """Return a digest of the sources that determine a Trace's content."""
    return _digest_sources(_MAKERS)


@functools.cache
def analysis_version() -> str:
    """Return a digest of the sources that make a part of a Trace (``part_file``)."""
    return _digest_sources(("analysis",))


@functools.cache
def build_digest() -> str:
    """Return 12 hexadecimal digits that differ between builds with different sources.

    A version has many builds until it is released, and a checkout may have local changes, which a
    commit's name would not show.
    """
    return _digest_sources(("",))[:12]


def _digest_sources(folders: tuple[str, ...]) -> str:
    found = hashlib.sha256()
    for folder in folders:
        # Plain texts: each start does this, and to sort Paths takes longer than to read the files.
        for name in sorted(_sources(_PACKAGE / folder)):
            found.update(Path(name).read_bytes())
    return found.hexdigest()


def _sources(folder: Path) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        yield from (os.path.join(place, name) for name in names if name.endswith((".py", ".txt")))
