"""A file as the search found it, how it is opened, the order of names, names fit to be shown.

A path is local, or a URL: only this module and ``tree`` tell them apart.
"""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tb_privateuse1.discovery import remote

_DIGITS = re.compile("([0-9]+)")


@dataclass(frozen=True)
class File:
    """A file at the time of the search; size, mtime and version are its identity."""

    path: str
    size: int
    mtime_ns: int
    """0 where a remote filesystem does not tell."""
    version: str = ""
    """Of a remote file: what its filesystem says of its content (an ETag), if anything."""

    @functools.cached_property
    def name(self) -> str:
        """Its name within its directory."""
        return basename(self.path)

    @property
    def is_remote(self) -> bool:
        """Whether it is behind a URL."""
        return remote.is_url(self.path)

    def same(self, other: File) -> bool:
        """Whether the content is the same, as far as the filesystem tells."""
        if self.version and other.version:
            return (self.size, self.version) == (other.size, other.version)
        return (self.size, self.mtime_ns) == (other.size, other.mtime_ns)


def file_at(path: str) -> File:
    """The file as it is now. Raises OSError, of a URL ``remote.RemoteError``, if it is gone."""
    if remote.is_url(path):
        return remote_file(remote.status(path))
    status = Path(path).stat()
    return File(path, status.st_size, status.st_mtime_ns)


def remote_file(status: remote.Status) -> File:
    """A remote file as it was listed."""
    return File(status.url, status.size, status.mtime_ns, status.version)


def open_file(path: str, size: int | None = None) -> BinaryIO:
    """Open a file for reading bytes. ``size``, if it is known, saves a question to a server.

    Raises OSError, of a URL ``remote.RemoteError``, here and while it is read.
    """
    if remote.is_url(path):
        return remote.open_url(path, size)
    return open(path, "rb")


def basename(path: str) -> str:
    """The last part of a path; of a URL without a query."""
    return remote.name(path) if remote.is_url(path) else os.path.basename(path)


def parent(path: str) -> str | None:
    """The directory of a file; None for a URL with a query, which is valid for the file alone."""
    return remote.parent(path) if remote.is_url(path) else str(Path(path).parent)


def natural(name: str) -> list[str | int]:
    """A key that sorts numbers within names as numbers: ``rank9`` before ``rank10``."""
    parts: list[str | int] = list(_DIGITS.split(name))
    parts[1::2] = [int(part) for part in parts[1::2]]
    return parts


def shown(path: str) -> str:
    """A path as valid text: names on disk are bytes, and need not be UTF-8.

    A URL is shown without user, password and query.
    """
    if remote.is_url(path):
        path = remote.shown(path)
    return os.fsencode(path).decode("utf-8", "backslashreplace")
