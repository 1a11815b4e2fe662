"""Files of a logdir: identity, opening, natural order of names, and printable names.

A path is local, in a local archive or a URL: only this module and ``walk`` distinguish them.
"""

from __future__ import annotations

import errno
import functools
import os
import re
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from tb_privateuse1.discovery import archive, remote

_DIGITS = re.compile("([0-9]+)")
_NO_ANSWER = frozenset(
    (
        *(errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.ECONNRESET),
        *(errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN, errno.ENETUNREACH),
    )
)
"""A disk or a mount that fails; what it has may be there in a moment."""
COARSEST_NS = 2_000_000_000
"""The tick of FAT's clock, the coarsest of all; those of others are 1 s and less. The clocks of a
server and of this machine may differ by as much, either way."""


class File(Struct, frozen=True, dict=True):
    """A file at the time of the search; size, mtime and version are its identity."""

    path: str
    size: int
    mtime_ns: int
    """0 if a remote filesystem does not have it."""
    version: str = ""
    """The version of a remote file's content (an ETag), if its filesystem has one."""

    @functools.cached_property
    def name(self) -> str:
        """Return the name within the directory."""
        return basename(self.path)

    @property
    def is_remote(self) -> bool:
        """Return whether the path is a URL."""
        return remote.is_url(self.path)

    def same(self, other: File) -> bool:
        """Return whether the content is the same, by version or by size and mtime."""
        if self.version and other.version:
            return (self.size, self.version) == (other.size, other.version)
        return (self.size, self.mtime_ns) == (other.size, other.mtime_ns)

    def may_seem_same(self, now_ns: int) -> bool:
        """Return whether the file may change after ``now_ns`` and keep its size and time."""
        return not self.version and abs(now_ns - self.mtime_ns) < COARSEST_NS


class Located(Struct, frozen=True):
    """A file in its present state, with what one look at the disk tells of it."""

    file: File
    holder: str
    """The path that the system can open: the file's own, or that of its archive."""
    member: str = ""
    """The name in the archive."""
    status: os.stat_result | None = None
    """The status of the holder; None of a URL."""


def locate(path: str) -> Located:
    """Return a file in its present state, from one look at it.

    Raises OSError, for a URL ``remote.RemoteError``, if there is none.
    """
    if remote.is_url(path):
        return Located(remote_file(remote.status(path)), path)
    if member := archive.split(path):
        file = File(path, archive.find(member).size, member.status.st_mtime_ns)
        return Located(file, member.archive, member.name, member.status)
    status = os.stat(path)
    return Located(File(path, status.st_size, status.st_mtime_ns), path, status=status)


def file_at(path: str) -> File:
    """Return the file in its present state; raises as ``locate`` does."""
    return locate(path).file


def remote_file(status: remote.Status) -> File:
    """Build the file of a remote listing's entry."""
    return File(status.url, status.size, status.mtime_ns, status.version)


def open_file(path: str, size: int | None = None) -> BinaryIO:
    """Open a file for reading bytes. A known ``size`` saves a request to a server.

    Raises OSError, for a URL ``remote.RemoteError``, here and while reading.
    """
    if remote.is_url(path):
        return remote.open_url(path, size)
    if member := archive.split(path):
        return archive.open_member(member)
    return open(path, "rb")


def has_no_answer(error: BaseException | None) -> bool:
    """Return whether a disk or a mount failed, rather than that a file cannot be read as it is.

    ``error`` is an OSError, or one that was raised from it.
    """
    cause = error.__cause__ if error is not None else None
    return any(isinstance(e, OSError) and e.errno in _NO_ANSWER for e in (error, cause))


def has_own_file(path: str) -> bool:
    """Return whether a file can be opened by the system: it is behind no URL and in no archive."""
    return not remote.is_url(path) and archive.split(path) is None


def basename(path: str) -> str:
    """Return the last part of a path or URL, without a query."""
    return remote.name(path) if remote.is_url(path) else os.path.basename(path)


def parent(path: str) -> str | None:
    """Return the directory of a file; None for a URL whose query is the file's."""
    return remote.parent(path) if remote.is_url(path) else str(Path(path).parent)


def natural_key(name: str) -> list[str | int]:
    """Return a sort key that orders numbers in names as numbers: ``rank9`` before ``rank10``."""
    parts: list[str | int] = list(_DIGITS.split(name))
    parts[1::2] = [int(part) for part in parts[1::2]]
    return parts


def printable(path: str) -> str:
    """Return a path as valid text, since names on disk are bytes and need not be UTF-8.

    A URL is shown without user, password and query.
    """
    if remote.is_url(path):
        path = remote.shown(path)
    return os.fsencode(path).decode("utf-8", "backslashreplace")
