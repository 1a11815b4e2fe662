"""Read a torch_npu database as raw columns, and single rows of it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_privateuse1.readers.ascend import counters, device, host, memory, metadata, schema
from tb_privateuse1.readers.raw import Counters, Group, Progress, Raw
from tb_privateuse1.readers.sqlite.columns import Names, Places
from tb_privateuse1.readers.sqlite.database import Database
from tb_privateuse1.readers.sqlite.event_tables import (
    Events,
    check_events,
    open_database,
    row_of_event,
    with_names,
)
from tb_privateuse1.trace.file_checkpoints import Checkpoints

_OF_HOST = "cpu_op"
_OF_RUNTIME = "ascend_runtime"
_NO_CATEGORY = ""
"""The vendor's data names the categories of the device's events."""
_NUMBERED = (*schema.EVENT_TABLES, *counters.TABLES)
"""The tables whose rows are numbered."""


def read(path: str, progress: Progress | None = None) -> Raw:
    """Return the columns of a database; ``findings`` list its problems.

    Rows before a damaged page are read. Raises TraceError ``unreadable``, ``too_large``,
    ``not_a_database`` or ``not_a_trace``.
    """
    with open_database(path, progress) as database:
        check_events(database, path, schema.EVENT_TABLES)
        return _read(database)


def read_row(path: str, checkpoints: Checkpoints, event: int) -> Mapping[str, Any]:
    """Return the row of an event's number, with names instead of ids; a task with its operator.

    Raises TraceError as ``read`` does, ``no_event`` if there is none of that number.
    """
    with open_database(path) as database:
        table, row = row_of_event(database, path, _NUMBERED, checkpoints, event)
        whole = {"table": table} | with_names(database, row, schema.NAMED, schema.STRINGS)
        task = row.get("globalTaskId")
        if table == schema.TASKS and isinstance(task, int):
            computed = database.find(schema.COMPUTE, "globalTaskId", task)
            if computed:
                named = with_names(database, computed, schema.NAMED, schema.STRINGS)
                whole[schema.COMPUTE] = named
        return whole


def _read(database: Database) -> Raw:
    names = Names(database, schema.STRINGS)
    places = Places(names, "Python")
    events = Events(database, names, places, _NUMBERED)
    facts, sizes = metadata.read_metadata(database)
    links = host.Connections(database)
    ranges, flows, times, rows = host.read_ranges(
        database, names, places, links, events.begin(schema.OPS)
    )
    events.end(rows, times)
    for category, ranged in ranges.items():
        events.add(category, ranged)
    calls, times, rows = host.read_calls(database, names, places, links, events.begin(schema.CALLS))
    events.end(rows, times)
    events.add(_OF_RUNTIME, calls)
    tasks, times, rows = device.read_tasks(
        database, names, places, links, events.begin(schema.TASKS)
    )
    events.end(rows, times)
    collectives, times, rows = device.read_collectives(
        database, names, places, links, events.begin(schema.COLLECTIVES),
        device.devices_of(tasks), sizes,
    )  # fmt: skip
    events.end(rows, times)
    events.add(_NO_CATEGORY, tasks)
    events.add(_NO_CATEGORY, collectives)
    _add_annotations(events, names, ranges.get(_OF_HOST))
    blocks = _memory(events, names, ranges.get(_OF_HOST))
    return events.raw(facts, blocks, flows, _counters(events, names))


def _counters(events: Events, names: Names) -> Counters:
    reader = counters.CounterReader(events.database, names)
    for table in counters.TABLES:
        times, rows = reader.read(table, events.begin(table))
        events.end(rows, times)
    events.tally.add("counters_dropped", reader.dropped)
    return reader.counters()


def _add_annotations(events: Events, names: Names, operators: Group | None) -> None:
    database, places = events.database, events.places
    marks, times, rows = host.read_marks(database, names, places, events.begin(schema.MARKS))
    events.end(rows, times)
    events.add("user_annotation", marks)
    steps, times, rows = host.read_steps(
        database, names, places, operators, events.begin(schema.STEPS)
    )
    events.end(rows, times)
    if steps is not None:
        events.add("user_annotation", steps)


def _memory(events: Events, names: Names, operators: Group | None) -> Group:
    first = events.begin(schema.BLOCKS)
    blocks = memory.read_blocks(events.database)
    name = names.find(blocks["name"])
    label = names.index("[memory]")
    found, times = memory.memory_events(blocks, name, operators, label, first)
    if len(found) and not len(events.places.threads()):
        events.places.add("0", "0", "Memory", "Python")  # no operator has a thread
    events.end(len(name), times)
    return found
