"""Read columns of a profiler's sqlite database, without trusting it.

The file is opened read-only and as immutable, so that nothing beside it is read or written. Nothing
that it says is executed: only plain tables and stored columns of known names are read, in order of
their rows and without its indexes, and functions in its schema are not trusted
(https://www.sqlite.org/security.html). A row takes at least six bytes of the file: more rows than
that are a page that is its own child. What comes before a damaged page is kept.
"""

from __future__ import annotations

import errno
import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from tb_privateuse1.i18n import say
from tb_privateuse1.readers.raw import Progress
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import I64

ABSENT = int(MISSING)
"""The value of a number that is NULL, or whose column the table does not have."""

_PIECE = 200_000
_ROW_BYTES = 6
_TYPICAL_ROW_BYTES = 64
_LONGEST = 16 << 20
_STEPS = 100_000
_PATIENCE_S, _BYTES_PER_S = 120.0, 1 << 20
_SETTINGS = ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "mmap_size=0")
_OF_CUT_FILES = "writable_schema=ON"
"""Lets a file that is cut off be opened; nothing can be written all the same."""
_HEADER = 32
_BROKEN = (sqlite3.Error, UnicodeDecodeError, MemoryError)
"""The second: a message of sqlite that has a name of the file. The last: a page says that it needs
more than there is."""

_Table = dict[str, I64]


class Database:
    """An open database; ``damaged`` are the tables that could not be read to their end."""

    def __init__(self, path: str, name: str, progress: Progress | None = None) -> None:
        self._name = name
        self._progress = progress
        self._path = Path(path)
        self._size = self._path.stat().st_size
        self._deadline = time.monotonic() + _PATIENCE_S + self._size / _BYTES_PER_S
        self._stopped: BaseException | None = None
        self.rows = 0
        self.damaged: list[str] = []
        uri = f"file:{quote(str(self._path.absolute()))}?mode=ro&immutable=1"
        try:
            self._connection = sqlite3.connect(uri, uri=True)
        except _BROKEN as error:
            raise self.unreadable(error) from error
        try:
            self._restrict()
            self._tables = self._find_tables()
        except _BROKEN as error:
            self.close()
            self._check_disk(error)
            raise self._stopped or self.unreadable(error) from error

    def is_cut(self) -> bool:
        """Return whether the file has fewer pages than its header says."""
        with self._path.open("rb") as file:
            head = file.read(_HEADER)
        page = int.from_bytes(head[16:18], "big")
        pages = int.from_bytes(head[28:32], "big")
        return pages * (1 << 16 if page == 1 else page) > self._size

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def unreadable(self, error: object) -> TraceError:
        """Return the error for a file that is no such database, or whose schema is damaged."""
        message = say("{name} is no complete database ({error}).", name=self._name, error=error)
        hint = say(
            "Was it cut off? A file that is still being written can be read once it is whole."
        )
        return TraceError("not_a_database", message, hint)

    def has(self, table: str) -> bool:
        """Return whether there is a plain table of a name."""
        return table in self._tables

    def endings(self, beginning: str) -> list[str]:
        """Return what follows a beginning in the names of plain tables, sorted."""
        names = (name for name in self._tables if name.startswith(beginning))
        return sorted(name.removeprefix(beginning) for name in names)

    def numbers(self, table: str, columns: Sequence[str]) -> _Table:
        """Return columns of whole numbers, as long as the table; ``ABSENT`` where there is none.

        A column may have several names by version, with ``|`` between; the key is the first.
        """
        there = self._tables.get(table, frozenset())
        names = {c: next((n for n in c.split("|") if n in there), None) for c in columns}
        keys = [c for c in columns if names[c] is not None]
        cells = ", ".join(f'ifnull(cast("{names[c]}" AS INTEGER), {ABSENT + 1} - 1)' for c in keys)
        pieces: list[list[I64]] = [[np.empty(0, np.int64)] for _ in keys]
        if keys:
            rows = self._select(table, cells)
            while len(piece := self._piece(rows, len(keys))):
                for i, column in enumerate(pieces):
                    column.append(piece[:, i].copy())
        found: _Table = {}
        for key, column in zip(keys, pieces, strict=True):
            found[key.split("|")[0]] = np.concatenate(column)
            column.clear()  # a table is large: its pieces must not stay beside its columns
        length = len(next(iter(found.values()), ()))
        absent = np.full(length, ABSENT, np.int64)
        return {key: found.get(key, absent) for key in (c.split("|")[0] for c in columns)}

    def texts(self, table: str, columns: Sequence[str]) -> list[tuple[str, ...]]:
        """Return rows of columns as text, in the order of rows; empty without one of the columns.

        Together they may be as long as the file: more is text that rows share by damage.
        """
        if not self._tables.get(table, frozenset()).issuperset(columns):
            return []
        cells = ", ".join(f"ifnull(cast(\"{c}\" AS TEXT), '')" for c in columns)
        rows, left = [], self._size
        for row in self._select(table, cells):
            left -= sum(map(len, row))
            if left < 0:
                self.damaged.append(table)
                break
            rows.append(row)
        return rows

    def codes(self, table: str, column: str, index: Callable[[str], int]) -> I64:
        """Return a column of texts as what ``index`` returns of each, which is not empty.

        ``NONE`` stands for an empty one and for what is beyond the limit of ``texts``.
        """
        if column not in self._tables.get(table, frozenset()):
            return np.empty(0, np.int64)
        left = self._size

        def code(text: str) -> int:
            nonlocal left
            left -= len(text)
            return index(text) if text and left >= 0 else NONE

        rows = self._select(table, f"ifnull(cast(\"{column}\" AS TEXT), '')")
        found = np.fromiter((code(text) for (text,) in rows), np.int64)
        if left < 0:
            self.damaged.append(table)
        return found

    def row(self, table: str, number: int) -> dict[str, Any] | None:
        """Return a row by its place in the table, with all plain columns; None if there is none."""
        names = sorted(self._tables.get(table, ()))
        if not names:
            return None
        cells = ", ".join(f'"{name}"' for name in names)
        rows = self._select(table, cells, f"LIMIT 1 OFFSET {number:d}")
        row = next(iter(rows), None)
        return None if row is None else dict(zip(names, row, strict=True))

    def find(self, table: str, key: str, value: int) -> dict[str, Any] | None:
        """Return the first row with a number in a column, with all plain columns."""
        names = sorted(self._tables.get(table, ()))
        if key not in names:
            return None
        cells = ", ".join(f'"{name}"' for name in names)
        rows = self._select(table, cells, f'WHERE "{key}" = {value:d} LIMIT 1')
        row = next(iter(rows), None)
        return None if row is None else dict(zip(names, row, strict=True))

    def _restrict(self) -> None:
        connection = self._connection
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.text_factory = _decode
        for setting in (*_SETTINGS, *([_OF_CUT_FILES] if self.is_cut() else [])):
            connection.execute(f"PRAGMA {setting}").fetchall()
        connection.set_progress_handler(self._must_stop, _STEPS)

    def _check_disk(self, error: BaseException) -> None:
        """Raise TraceError ``unreadable`` if the disk failed: the file may be whole."""
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_READ:
            failed = OSError(errno.EIO, os.strerror(errno.EIO))
            message = say("{path} cannot be read: {error}", path=self._name, error=failed)
            raise TraceError("unreadable", message) from failed

    def _must_stop(self) -> bool:
        """Return whether reading takes too long or was canceled; called by sqlite now and then."""
        try:
            if self._progress:
                self._progress("reading", self._done, self._size, self.rows)
        except BaseException as error:  # it must not pass through sqlite, which drops it
            self._stopped = error
            return True
        return time.monotonic() > self._deadline

    @property
    def _done(self) -> int:
        """Return about how many bytes of the file were read."""
        return min(self.rows * _TYPICAL_ROW_BYTES, self._size)

    def _find_tables(self) -> dict[str, frozenset[str]]:
        """Return the stored columns of plain tables; views and virtual tables have no root page."""
        listed = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
        tables = {}
        for (name,) in self._connection.execute(listed).fetchall():
            if isinstance(name, str) and _is_plain(name):
                columns = self._connection.execute(f'PRAGMA table_xinfo("{name}")').fetchall()
                plain = [c[1] for c in columns if c[6] == 0 and _is_plain(c[1])]
                if columns:
                    tables[name] = frozenset(plain)
                else:  # its definition is damaged
                    self.damaged.append(name)
        return tables

    def _select(self, table: str, cells: str, end: str = "") -> Iterator[tuple[Any, ...]]:
        most = self._size // _ROW_BYTES
        try:
            cursor = self._connection.execute(f'SELECT {cells} FROM "{table}" NOT INDEXED {end}')
            for number, row in enumerate(cursor):
                if number >= most:
                    self.damaged.append(table)
                    return
                yield row
        except _BROKEN as error:
            if self._stopped is not None:
                raise self._stopped from None
            self._check_disk(error)
            self.damaged.append(table)

    def _piece(self, rows: Iterator[tuple[Any, ...]], width: int) -> Any:
        flat = itertools.chain.from_iterable(itertools.islice(rows, _PIECE))
        piece = np.fromiter(flat, np.int64).reshape(-1, width)
        self.rows += len(piece)
        if self._progress:
            self._progress("reading", self._done, self._size, self.rows)
        return piece


def _is_plain(name: str) -> bool:
    return name.replace("_", "").isalnum()


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")
