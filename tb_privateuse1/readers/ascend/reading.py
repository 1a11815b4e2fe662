"""Read a whole database as raw columns, and single rows of it again."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tb_privateuse1.discovery import packed
from tb_privateuse1.discovery.file import basename, has_own_file, open_file
from tb_privateuse1.i18n import say
from tb_privateuse1.readers.ascend import device, host, memory, metadata, schema
from tb_privateuse1.readers.ascend.columns import Names, Places, Times
from tb_privateuse1.readers.ascend.database import Database
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.decompress import Source
from tb_privateuse1.readers.raw import MISSING_OF, Group, Progress, Raw
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.file_checkpoints import Checkpoints
from tb_privateuse1.trace.table import I64

_OF_HOST = "cpu_op"
_OF_RUNTIME = "ascend_runtime"
_NO_CATEGORY = ""
"""The vendor's data names the categories of the device's events."""


def read(path: str, progress: Progress | None = None) -> Raw:
    """Return the columns of a database; ``findings`` list its problems.

    Rows before a damaged page are read. Raises TraceError ``unreadable``, ``too_large``,
    ``not_a_database`` or ``not_a_trace``.
    """
    with _opened(path, progress) as database:
        if not any(database.has(table) for table in schema.EVENT_TABLES):
            if database.damaged:
                raise database.unreadable(say("its list of tables is damaged"))
            message = say("{path} is a database without events of a profiler.", path=path)
            raise TraceError("not_a_trace", message)
        return _Reading(database).raw()


def read_row(path: str, checkpoints: Checkpoints, event: int) -> Mapping[str, Any]:
    """Return the row of an event's number, with names instead of ids; a task with its operator.

    Raises TraceError as ``read`` does, ``no_event`` if there is none of that number.
    """
    place = int(np.searchsorted(checkpoints.event, event, side="right")) - 1
    with _opened(path, None) as database:
        found = None
        if event >= 0 and place >= 0:
            table = schema.EVENT_TABLES[int(checkpoints.offset_bytes[place])]
            found = database.row(table, event - int(checkpoints.event[place]))
        if found is None:
            hint = say("Was it written again since it was read? Reload the list of runs.")
            raise TraceError("no_event", say("{path} has no such event.", path=path), hint)
        whole = {"table": table} | _named(database, found)
        task = found.get("globalTaskId")
        if table == schema.TASKS and isinstance(task, int):
            computed = database.find(schema.COMPUTE, "globalTaskId", task)
            whole |= {schema.COMPUTE: _named(database, computed)} if computed else {}
        return whole


class _Reading:
    """The columns of a database while they are read, table by table."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.names = Names(database)
        self.places = Places(self.names)
        self.tally = Tally()
        self.groups: dict[str, list[Group]] = {}
        self._first: list[tuple[int, int]] = []
        self._next = 0

    def raw(self) -> Raw:
        database, names, places = self.database, self.names, self.places
        facts, sizes = metadata.read_metadata(database)
        links = host.Connections(database)
        ranges, flows, times, rows = host.read_ranges(
            database, names, places, links, self._begin(schema.OPS)
        )
        self._end(rows, times)
        for category, ranged in ranges.items():
            self._add(category, ranged)
        calls, times, rows = host.read_calls(
            database, names, places, links, self._begin(schema.CALLS)
        )
        self._end(rows, times)
        self._add(_OF_RUNTIME, calls)
        tasks, times, rows = device.read_tasks(
            database, names, places, links, self._begin(schema.TASKS)
        )
        self._end(rows, times)
        collectives, times, rows = device.read_collectives(
            database, names, places, links, self._begin(schema.COLLECTIVES),
            device.devices_of(tasks), sizes,
        )  # fmt: skip
        self._end(rows, times)
        self._add(_NO_CATEGORY, tasks)
        self._add(_NO_CATEGORY, collectives)
        self._add_annotations(ranges.get(_OF_HOST))
        memory_group = self._memory(ranges.get(_OF_HOST))
        groups = {c: Group.join(parts, MISSING_OF) for c, parts in self.groups.items()}
        self._check()
        return Raw(
            base_ns=0,
            strings=tuple(names.all),
            threads=places.threads(),
            groups=groups,
            memory=memory_group,
            flows=flows,
            metadata=facts,
            findings=self.tally.findings(),
            checkpoints=self._checkpoints(),
            process_names=places.process_names,
        )

    def _add_annotations(self, operators: Group | None) -> None:
        database, names, places = self.database, self.names, self.places
        marks, times, rows = host.read_marks(database, names, places, self._begin(schema.MARKS))
        self._end(rows, times)
        self._add("user_annotation", marks)
        steps, times, rows = host.read_steps(
            database, names, places, operators, self._begin(schema.STEPS)
        )
        self._end(rows, times)
        if steps is not None:
            self._add("user_annotation", steps)

    def _memory(self, operators: Group | None) -> Group:
        first = self._begin(schema.BLOCKS)
        blocks = memory.read_blocks(self.database)
        name = self.names.find(blocks["name"])
        label = self.names.index("[memory]")
        events, times = memory.memory_events(blocks, name, operators, label, first)
        if len(events) and not len(self.places.threads()):
            self.places.add("0", "0", "Memory", "Python")  # no operator has a thread
        self._end(len(name), times)
        return events

    def _add(self, category: str, events: Group) -> None:
        if len(events):
            self.groups.setdefault(category, []).append(events)

    def _begin(self, table: str) -> int:
        """Return the number of a table's first event."""
        self._first.append((schema.EVENT_TABLES.index(table), self._next))
        return self._next

    def _end(self, rows: int, times: Times) -> None:
        self._next += rows
        self.tally.add("events_without_time", times.without)
        self.tally.add("negative_durations", times.negative)
        self.tally.add("names_missing", times.nameless)

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
def _opened(path: str, progress: Progress | None) -> Iterator[Database]:
    """Open a database; one behind a URL, or a packed one, as a copy."""
    with contextlib.ExitStack() as stack:
        try:
            with open_file(path) as file:
                packing = packed.packing_of(file.read(packed.HEAD_BYTES))
            local = path
            if packing or not has_own_file(path):
                copy = stack.enter_context(tempfile.NamedTemporaryFile(suffix=".db"))
                for block in Source(path, progress).blocks():
                    copy.write(block)
                copy.flush()
                local = copy.name
            database = Database(local, basename(path), progress)
        except TraceError:  # an OSError too, of a remote file
            raise
        except OSError as error:
            message = say("{path} cannot be read: {error}", path=path, error=error)
            raise TraceError("unreadable", message) from error
        stack.callback(database.close)
        yield database


def _named(database: Database, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row in which ids of strings are the strings, where the column holds such ids."""
    named = dict(row)
    for column in schema.NAMED:
        if isinstance(value := row.get(column), int):
            found = database.find(schema.STRINGS, "id", value)
            named[column] = found.get("value") if found else value
    return {key: v if not isinstance(v, bytes) else v.hex() for key, v in named.items()}
