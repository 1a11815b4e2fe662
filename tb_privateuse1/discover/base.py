"""A file as the search found it, the order of names, and names fit to be shown."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_DIGITS = re.compile("([0-9]+)")


@dataclass(frozen=True)
class File:
    """A regular file at the time of the search; size and mtime are its identity."""

    path: str
    size: int
    mtime_ns: int

    @property
    def name(self) -> str:
        """Its name within its directory."""
        return Path(self.path).name


def file_at(path: str) -> File:
    """The file as it is now; raises OSError if it is gone."""
    status = Path(path).stat()
    return File(path, status.st_size, status.st_mtime_ns)


def natural(name: str) -> list[str | int]:
    """A key that sorts numbers within names as numbers: ``rank9`` before ``rank10``."""
    parts: list[str | int] = list(_DIGITS.split(name))
    parts[1::2] = [int(part) for part in parts[1::2]]
    return parts


def shown(path: str) -> str:
    """A path as valid text: names on disk are bytes, and need not be UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
