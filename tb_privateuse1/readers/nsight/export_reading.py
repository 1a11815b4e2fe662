"""Read an Nsight Systems export as raw columns, and single rows of it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tb_privateuse1.discovery.file import basename
from tb_privateuse1.i18n import say
from tb_privateuse1.readers.nsight import host, metrics, schema
from tb_privateuse1.readers.nsight.device import Device
from tb_privateuse1.readers.nsight.processes import Processes
from tb_privateuse1.readers.nsight.session import Session, read_metadata
from tb_privateuse1.readers.raw import Group, Progress, Raw
from tb_privateuse1.readers.sqlite.columns import Names, Places, Times
from tb_privateuse1.readers.sqlite.database import Database
from tb_privateuse1.readers.sqlite.event_tables import (
    Events,
    check_events,
    open_database,
    row_of_event,
    with_names,
)
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.file_checkpoints import Checkpoints
from tb_privateuse1.trace.model import NONE


def read(path: str, progress: Progress | None = None) -> Raw:
    """Return the columns of an export; ``findings`` list its problems.

    Rows before a damaged page are read. Raises TraceError ``not_exported`` for the tool's own
    files, ``unreadable``, ``too_large``, ``not_a_database`` or ``not_a_trace``.
    """
    _check_exported(path)
    with open_database(path, progress) as database:
        check_events(database, path, schema.EVENT_TABLES)
        return _read(database)


def read_row(path: str, checkpoints: Checkpoints, event: int) -> Mapping[str, Any]:
    """Return the row of an event's number, with names instead of ids.

    Raises TraceError as ``read`` does, ``no_event`` if there is none of that number.
    """
    _check_exported(path)
    with open_database(path) as database:
        table, row = row_of_event(database, path, schema.EVENT_TABLES, checkpoints, event)
        return {"table": table} | with_names(database, row, schema.NAMED, schema.STRINGS)


def _check_exported(path: str) -> None:
    name = basename(path)
    if name.lower().endswith(schema.REPORTS):
        message = say(
            "{path} is a report of Nsight Systems, which only its own tools read.", path=path
        )
        hint = say("Export it: nsys export --type sqlite {name}", name=name)
        raise TraceError("not_exported", message, hint)


def _read(database: Database) -> Raw:
    names = Names(database, schema.STRINGS)
    places = Places(names, "Process")
    events = Events(database, names, places, schema.EVENT_TABLES)
    session = Session(database)
    processes = Processes(database, places, names)
    calls, times, rows = host.read_calls(
        database, names, places, session, processes, events.begin(schema.CALLS)
    )
    events.end(rows, times)
    last_ns = max((int(group.end_ns.max()) for group in calls.values()), default=NONE)
    for category, found in calls.items():
        events.add(category, found)
    device = Device(database, names, session, processes)
    tables: tuple[tuple[str, str, Callable[[int], tuple[Group, Times, int]]], ...] = (
        (schema.KERNELS, "kernel", device.kernels),
        (schema.COPIES, "gpu_memcpy", device.copies),
        (schema.FILLS, "gpu_memset", device.fills),
        (schema.GRAPHS, "kernel", device.graphs),
        (schema.WAITS, "cuda_sync", device.waits),
    )
    for table, category, read_table in tables:
        found, times, rows = read_table(events.begin(table))
        events.end(rows, times)
        events.add(category, found)
        last_ns = max(last_ns, int(found.end_ns.max(initial=NONE)))
    ranges, times, rows, unclosed = host.read_ranges(
        database, names, places, session, last_ns, events.begin(schema.RANGES)
    )
    events.end(rows, times)
    for category, found in ranges.items():
        events.add(category, found)
    counters, times, rows, dropped = metrics.read_metrics(
        database, names, session, events.begin(schema.METRICS)
    )
    events.end(rows, times)
    events.tally.add("unclosed_ranges", unclosed)
    events.tally.add("counters_dropped", dropped)
    several = len(processes.on_device)
    events.tally.add("several_processes", several if several > 1 else 0)
    return events.raw(read_metadata(database, several > 1), counters=counters)
