"""Read a whole database of rocprofv3 as raw columns, and single rows of it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_privateuse1.readers.raw import Progress, Raw
from tb_privateuse1.readers.rocprof import schema
from tb_privateuse1.readers.rocprof.process import ProcessTables, read_metadata
from tb_privateuse1.readers.sqlite.columns import Names, Places, Strings
from tb_privateuse1.readers.sqlite.database import Database
from tb_privateuse1.readers.sqlite.event_tables import (
    Events,
    check_events,
    open_database,
    row_of_event,
    with_names,
)
from tb_privateuse1.trace.file_checkpoints import Checkpoints


def read(path: str, progress: Progress | None = None) -> Raw:
    """Return the columns of a database; ``findings`` list its problems.

    Rows before a damaged page are read. Raises TraceError ``unreadable``, ``too_large``,
    ``not_a_database`` or ``not_a_trace``.
    """
    with open_database(path, progress) as database:
        check_events(database, path, _tables(database))
        return _read(database)


def read_row(path: str, checkpoints: Checkpoints, event: int) -> Mapping[str, Any]:
    """Return the row of an event's number, with names instead of ids.

    Raises TraceError as ``read`` does, ``no_event`` if there is none of that number.
    """
    with open_database(path) as database:
        tables = _tables(database)
        table, row = row_of_event(database, path, tables, checkpoints, event)
        ending = next(table.removeprefix(b) for b in schema.EVENT_TABLES if table.startswith(b))
        named = with_names(database, row, schema.NAMED, schema.STRINGS + ending, "string")
        return {"table": table} | named


def _endings(database: Database) -> list[str]:
    return database.endings(schema.STRINGS)


def _tables(database: Database) -> list[str]:
    return [base + ending for ending in _endings(database) for base in schema.EVENT_TABLES]


def _read(database: Database) -> Raw:
    strings = Strings()
    places = Places(strings, "Process")
    events = Events(database, strings, places, _tables(database))
    endings = _endings(database)
    working = 0
    for number, ending in enumerate(endings):
        names = Names(database, schema.STRINGS + ending, "string", strings)
        process = ProcessTables(database, names, places, ending, number)
        regions, times, rows = process.regions(events.begin(schema.REGIONS + ending))
        events.end(rows, times)
        for category, found in regions.items():
            events.add(category, found)
        kernels, times, rows = process.kernels(events.begin(schema.DISPATCHES + ending))
        events.end(rows, times)
        events.add("kernel", kernels)
        copies, times, rows = process.copies(events.begin(schema.COPIES + ending))
        events.end(rows, times)
        events.add("gpu_memcpy", copies)
        working += bool(len(kernels) or len(copies))
    events.tally.add("several_processes", working if working > 1 else 0)
    return events.raw(read_metadata(database, endings))
