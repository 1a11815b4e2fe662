"""Let something happen at a chosen operation on the files of a folder: its moments are counted."""

from __future__ import annotations

import contextlib
import io
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_BUFFER_BYTES = 1024
"""Small files are read in several operations, as large ones are."""


class Moments:
    """Counts looks, openings and readings below a folder; ``happens`` hears of each before it.

    What ``happens`` does with files itself is not counted. It may raise OSError, as a disk does.
    """

    def __init__(self, folder: Path, happens: Callable[[int], None] = lambda _: None) -> None:
        self.count = 0
        self._folder = str(folder)
        self._happens = happens
        self._is_busy = False

    def passes(self) -> None:
        """Count one, and let happen what has its time now."""
        if self._is_busy:
            return
        self._is_busy = True
        try:
            self._happens(self.count)
        finally:
            self.count += 1
            self._is_busy = False

    def has(self, path: Any) -> bool:
        """Return whether a path is below the folder."""
        if isinstance(path, int) or self._is_busy:
            return False
        text = os.fsdecode(path)
        return text.startswith((self._folder, f"file:{self._folder}"))


class _File(io.FileIO):
    """A file whose readings are moments."""

    def __init__(self, path: Any, moments: Moments) -> None:
        super().__init__(path, "rb")
        self._moments = moments

    def readinto(self, buffer: Any) -> int:
        self._moments.passes()
        return super().readinto(memoryview(buffer)[:_BUFFER_BYTES])

    def read(self, size: int | None = -1) -> bytes:
        self._moments.passes()
        return super().read(size)

    def readall(self) -> bytes:
        self._moments.passes()
        return super().readall()


@contextlib.contextmanager
def counted(moments: Moments) -> Iterator[Moments]:
    """Count what this process does until the end of the block."""
    real_open, real_stat, real_low, connect = io.open, os.stat, os.open, sqlite3.connect

    def opened(path: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
        if mode != "rb" or not moments.has(path):
            return real_open(path, mode, *more, **options)
        moments.passes()
        file = _File(path, moments)
        return file if options.get("buffering") == 0 else io.BufferedReader(file, _BUFFER_BYTES)

    def look(path: Any, *more: Any, **options: Any) -> os.stat_result:
        if moments.has(path):
            moments.passes()
        return real_stat(path, *more, **options)

    def low(path: Any, *more: Any, **options: Any) -> int:
        if moments.has(path):
            moments.passes()
        return real_low(path, *more, **options)

    class Connection(sqlite3.Connection):
        def execute(self, *query: Any) -> sqlite3.Cursor:
            try:
                moments.passes()
            except OSError as error:  # as sqlite says it
                failed = sqlite3.OperationalError("disk I/O error")
                failed.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
                raise failed from error
            return super().execute(*query)

    def connected(path: Any, *more: Any, **options: Any) -> sqlite3.Connection:
        if moments.has(path):
            options["factory"] = Connection
        return connect(path, *more, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.open", opened)
        patch.setattr(io, "open", opened)
        patch.setattr(os, "stat", look)
        patch.setattr(os, "open", low)
        patch.setattr(sqlite3, "connect", connected)
        yield moments
