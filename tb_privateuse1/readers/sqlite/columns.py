"""Names, threads and times of a database's rows, as columns of a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.readers.raw import Group
from tb_privateuse1.readers.sqlite.database import ABSENT, Database
from tb_privateuse1.trace.model import NONE, Threads
from tb_privateuse1.trace.table import I32, I64, Bools

_LIMIT_NS = 1 << 62
"""Times and lengths from here on are none: year 2116."""
NO_ID = 4294967295
"""An id that tools write for none: -1 as a 32-bit number without a sign."""


class Strings:
    """The strings of a trace while they grow."""

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self.all: list[str] = []
        self._known: dict[str, int] = {}
        for text in strings:
            self._known.setdefault(text, len(self.all))
            self.all.append(text)

    def index(self, text: str) -> int:
        """Return the index of a string, which is added if it is new."""
        known = self._known.setdefault(text, len(self.all))
        if known == len(self.all):
            self.all.append(text)
        return known

    def convert(self, column: I32, change: Callable[[str], str]) -> I32:
        """Return a column of strings after a change of each distinct one; empty ones are none."""
        used, code = np.unique(column, return_inverse=True)
        changed = [change(self.all[i]) if i >= 0 else "" for i in used.tolist()]
        indices = [self.index(text) if text else NONE for text in changed]
        return np.array(indices, np.int32)[code.reshape(-1)]

    def matching(self, column: I32, fits: Callable[[str], bool]) -> Bools:
        """Return which rows have a string that fits; each string is judged once."""
        used = np.unique(column)
        wanted = [i for i in used.tolist() if i >= 0 and fits(self.all[i])]
        chosen: Bools = np.isin(column, wanted)
        return chosen


class Names(Strings):
    """The strings of a trace, and the database's ids of some of them.

    ``table`` has the strings in its column ``value``, and their numbers in ``id``. ``strings`` are
    those of the trace that other tables have added.
    """

    def __init__(
        self, database: Database, table: str, value: str = "value", strings: Strings | None = None
    ) -> None:
        super().__init__()
        if strings is not None:
            self.all, self._known = strings.all, strings._known
        ids = database.numbers(table, ["id"])["id"]
        self._texts = database.texts(table, [value])
        size = min(len(ids), len(self._texts))
        self._order = np.argsort(ids[:size], kind="stable")
        self._ids = ids[self._order]
        self._index = np.full(size, NONE, np.int32)

    def find(self, ids: I64) -> I32:
        """Return the index of each id's string, ``NONE`` without one.

        A string becomes one of the trace when it is first asked for.
        """
        if not len(self._ids):
            return np.full(len(ids), NONE, np.int32)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        found = self._ids[at] == ids
        used = np.zeros(len(self._ids), np.bool_)
        used[at[found]] = True
        for row in np.flatnonzero(used & (self._index < 0)).tolist():
            self._index[row] = self.index(self._texts[self._order[row]][0])
        return np.where(found, self._index[at], NONE).astype(np.int32)

    def text(self, number: int) -> str:
        """Return the string of an id, which does not become one of the trace; empty without one."""
        row = int(np.searchsorted(self._ids, number))
        if row == len(self._ids) or self._ids[row] != number:
            return ""
        return str(self._texts[self._order[row]][0])

    def names(self, ids: I64) -> I32:
        """Return the index of each id's string, that of an empty one without one."""
        found = self.find(ids)
        return np.where(found >= 0, found, self.index("")).astype(np.int32)


class Places:
    """The threads of a trace: those of the host, the streams and the groups of ranks.

    ``process`` is the name of the processes whose threads are the host's.
    """

    def __init__(self, names: Strings, process: str) -> None:
        self._names = names
        self._process = process
        self._rows: dict[tuple[str, str], int] = {}
        self._columns: list[tuple[int, int, int]] = []
        self.process_names: dict[str, str] = {}
        self.thread_names: dict[tuple[int, int], str] = {}
        """The host's, by the system's numbers."""
        self.host_names: dict[int, str] = {}
        """The names of the host's processes that have one of their own."""

    def host(self, pid: I64, tid: I64) -> I32:
        """Return the thread of each pair of system numbers; negative ones are 0."""
        pairs, code = np.unique(np.stack((pid, tid)).clip(0), axis=1, return_inverse=True)
        rows = [
            self.add(
                str(p),
                str(t),
                self.thread_names.get((p, t), f"Thread {t}"),
                self.host_names.get(p, self._process),
            )
            for p, t in pairs.T.tolist()
        ]
        return np.array(rows, np.int32)[code.reshape(-1)]

    def add(self, pid: str, tid: str, name: str, process: str) -> int:
        """Return a thread of a process, which is added if it is new."""
        row = self._rows.setdefault((pid, tid), len(self._columns))
        if row == len(self._columns):
            index = self._names.index
            self._columns.append((index(pid), index(tid), index(name)))
            self.process_names[pid] = process
        return row

    def threads(self) -> Threads:
        """Return the table of threads."""
        whole = np.array(self._columns, np.int32).reshape(-1, 3)
        return Threads(*(whole[:, i].copy() for i in range(3)))


class Times(Struct):
    """Valid rows of a table with their times; counts of what is wrong with others."""

    rows: I64
    start_ns: I64
    end_ns: I64
    without: int
    negative: int
    nameless: int = 0
    """Rows that are left out since nothing says what they are."""

    def take(self, rows: Bools) -> Times:
        """Return the times of a mask's rows."""
        return Times(
            self.rows[rows], self.start_ns[rows], self.end_ns[rows], self.without, self.negative
        )


def rows_of(table: dict[str, I64], times: Times) -> dict[str, I64]:
    """Return the columns at the valid rows; without a copy if all rows are valid."""
    if all(len(column) == len(times.rows) for column in table.values()):
        return dict(table)
    return {key: column[times.rows] for key, column in table.items()}


def valid_times(start_ns: I64, end_ns: I64, least_ns: int = 1) -> Times:
    """Return the rows with possible times; a range that ends before it starts has no length.

    ``least_ns`` is the first possible time: 1970 by default.
    """
    possible = (start_ns >= least_ns) & (start_ns < _LIMIT_NS)
    possible &= (end_ns >= least_ns) & (end_ns < _LIMIT_NS)
    rows = np.flatnonzero(possible)
    start, end = (start_ns, end_ns) if possible.all() else (start_ns[rows], end_ns[rows])
    negative = int((end < start).sum())
    return Times(rows, start, np.maximum(start, end), len(possible) - len(rows), negative)


def group(
    times: Times, name: I32, thread: I32, first: int, **arguments: NDArray[np.signedinteger]
) -> Group:
    """Return the events of valid rows; ``first`` is the number of the table's first event.

    Arguments that no row has are left out: numbers are int64, texts int32.
    """
    ids = {k: v for k, v in arguments.items() if v.dtype == np.int64}
    texts = {k: v for k, v in arguments.items() if v.dtype == np.int32 and (v >= 0).any()}
    return Group(
        name=name,
        start_ns=times.start_ns,
        end_ns=times.end_ns,
        thread=thread,
        event=(first + times.rows).astype(np.int32),
        ids=ids,
        texts=texts,
    )


def ids_of(column: I64) -> I64:
    """Return ids in which absent ones, and those that the tool writes for none, are ``NONE``."""
    none = (column == ABSENT) | (column < 0) | (column == NO_ID)
    return np.where(none, NONE, column)


def look_up(keys: I64, values: NDArray[np.signedinteger], wanted: I64, none: int) -> I64:
    """Return the value of each wanted key, the first if there are several; ``none`` without."""
    if not len(keys):
        return np.full(len(wanted), none, np.int64)
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    row = order[at]
    return np.where((keys[row] == wanted) & (wanted != NONE), values[row], none).astype(np.int64)
