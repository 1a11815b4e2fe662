"""Read a database's tables of events as raw columns, and single rows of them again."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tb_privateuse1.discovery import compressed_files
from tb_privateuse1.discovery.file import has_own_file, open_file
from tb_privateuse1.i18n import say
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.decompress import Source
from tb_privateuse1.readers.raw import MISSING_OF, Counters, Flows, Group, Progress, Raw
from tb_privateuse1.readers.sqlite.columns import Places, Strings, Times
from tb_privateuse1.readers.sqlite.database import Database
from tb_privateuse1.trace.errors import TraceError, no_event
from tb_privateuse1.trace.file_checkpoints import Checkpoints
from tb_privateuse1.trace.table import I64


class Events:
    """The columns of a database while they are read, table by table.

    ``tables`` are those with events, in the order in which their rows are numbered.
    """

    def __init__(self, database: Database, names: Strings, places: Places, tables: Sequence[str]):
        self.database = database
        self.names = names
        self.places = places
        self.tally = Tally()
        self._tables = tables
        self._groups: dict[str, list[Group]] = {}
        self._first: list[tuple[int, int]] = []
        self._next = 0

    def begin(self, table: str) -> int:
        """Return the number of a table's first event."""
        self._first.append((self._tables.index(table), self._next))
        return self._next

    def end(self, rows: int, times: Times) -> None:
        """Count a table's rows, and what is wrong with them."""
        self._next += rows
        self.tally.add("events_without_time", times.without)
        self.tally.add("negative_durations", times.negative)
        self.tally.add("names_missing", times.nameless)

    def add(self, category: str, events: Group) -> None:
        """Add events of a category."""
        if len(events):
            self._groups.setdefault(category, []).append(events)

    def raw(
        self,
        metadata: Mapping[str, Any],
        memory: Group | None = None,
        flows: Flows | None = None,
        counters: Counters | None = None,
    ) -> Raw:
        """Return the columns of all tables that were read; times are absolute."""
        groups = {c: Group.join(parts, MISSING_OF) for c, parts in self._groups.items()}
        self._check()
        return Raw(
            base_ns=0,
            strings=tuple(self.names.all),
            threads=self.places.threads(),
            groups=groups,
            memory=Group.join([]) if memory is None else memory,
            flows=Flows.empty() if flows is None else flows,
            metadata=metadata,
            findings=self.tally.findings(),
            checkpoints=self._checkpoints(),
            counters=Counters() if counters is None else counters,
            process_names=self.places.process_names,
        )

    def _check(self) -> None:
        if self.database.is_cut():
            self.tally.add("truncated")
        damaged = list(dict.fromkeys(self.database.damaged))
        self.tally.add("tables_damaged", len(damaged), ", ".join(damaged))

    def _checkpoints(self) -> Checkpoints:
        """Return the tables' first events; a table's offset is its place in the list of tables."""
        table, event = np.array(self._first, np.int64).reshape(-1, 2).T
        none: I64 = np.zeros(len(table), np.int64)
        return Checkpoints(
            table.copy(), event.copy(), none, none.copy(), none.copy(), none.astype(np.bool_)
        )


@contextlib.contextmanager
def open_database(path: str, progress: Progress | None = None) -> Iterator[Database]:
    """Open a database; one behind a URL, or a packed one, as a copy.

    Raises TraceError ``unreadable``, ``too_large`` or ``not_a_database``.
    """
    with contextlib.ExitStack() as stack:
        try:
            with open_file(path) as file:
                packing = compressed_files.packing_of(file.read(compressed_files.HEAD_BYTES))
            local = path
            if packing or not has_own_file(path):
                copy = stack.enter_context(tempfile.NamedTemporaryFile(suffix=".db"))
                for block in Source(path, progress).blocks():
                    copy.write(block)
                copy.flush()
                local = copy.name
            database = Database(local, path, progress)
        except TraceError:  # an OSError too, of a remote file
            raise
        except OSError as error:
            message = say("{path} cannot be read: {error}", path=path, error=error)
            raise TraceError("unreadable", message) from error
        stack.callback(database.close)
        yield database


def check_events(database: Database, path: str, tables: Sequence[str]) -> None:
    """Raise TraceError ``not_a_trace`` if a database has none of the tables with events."""
    if not any(database.has(table) for table in tables):
        if database.damaged:
            raise database.unreadable(say("its list of tables is damaged"))
        message = say("{path} is a database without events of a profiler.", path=path)
        hint = say(
            "Is it a database of sums, as analysis.db of Ascend? Open the recording beside it, or "
            "its directory."
        )
        raise TraceError("not_a_trace", message, hint)


def row_of_event(
    database: Database, path: str, tables: Sequence[str], checkpoints: Checkpoints, event: int
) -> tuple[str, dict[str, Any]]:
    """Return the table and the row of an event's number. Raises TraceError ``no_event``."""
    place = int(np.searchsorted(checkpoints.event, event, side="right")) - 1
    found = None
    if event >= 0 and place >= 0:
        table = tables[int(checkpoints.offset_bytes[place])]
        found = database.row(table, event - int(checkpoints.event[place]))
    if found is None:
        raise no_event(path)
    return table, found


def with_names(
    database: Database,
    row: Mapping[str, Any],
    columns: Sequence[str],
    strings: str,
    value: str = "value",
) -> dict[str, Any]:
    """Return a row in which ids of strings are the strings, in columns that hold such ids."""
    named = dict(row)
    for column in columns:
        if isinstance(number := row.get(column), int):
            found = database.find(strings, "id", number)
            named[column] = found.get(value) if found else number
    return {key: v if not isinstance(v, bytes) else v.hex() for key, v in named.items()}
