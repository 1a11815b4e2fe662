"""Read the host's side of an export: calls of the runtime and driver, and named ranges."""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.readers.nsight import schema
from tb_privateuse1.readers.nsight.processes import Processes, pids_of, tids_of
from tb_privateuse1.readers.nsight.session import Session
from tb_privateuse1.readers.range_names import RangeNames
from tb_privateuse1.readers.raw import Group
from tb_privateuse1.readers.sqlite.columns import Names, Places, Times, group, rows_of
from tb_privateuse1.readers.sqlite.database import ABSENT, Database
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.step_names import step_strings
from tb_privateuse1.trace.table import I64

_VERSION = re.compile(r"_v[0-9]{4,5}$")
"""The version of a call's parameters, which the tool adds to its name."""

RUNTIME, DRIVER = "cuda_runtime", "cuda_driver"


def read_calls(
    database: Database, names: Names, places: Places, session: Session, processes: Processes,
    first: int,
) -> tuple[dict[str, Group], Times, int]:  # fmt: skip
    """Return the calls of the runtime and of the driver, by category, without versions in names."""
    table = database.numbers(
        schema.CALLS, ["start", "end", "eventClass", "globalTid", "correlationId", "nameId"]
    )
    times = session.times(table["start"], table["end"])
    row = rows_of(table, times)
    pid = pids_of(row["globalTid"])
    name = names.convert(names.names(row["nameId"]), lambda text: _VERSION.sub("", text))
    calls = group(
        times, np.where(name >= 0, name, names.index("")).astype(np.int32),
        places.host(pid, tids_of(row["globalTid"])), first,
        correlation=processes.correlations(pid, row["correlationId"]),
    )  # fmt: skip
    driver = row["eventClass"] == schema.DRIVER_CALL
    kinds = {RUNTIME: ~driver, DRIVER: driver}
    found = {kind: calls.take(mask) for kind, mask in kinds.items() if mask.any()}
    return found, times, len(table["start"])


def read_ranges(
    database: Database, names: Names, places: Places, session: Session, last_ns: int, first: int
) -> tuple[dict[str, Group], Times, int, int]:
    """Return operators and annotations, the times, the rows, and how many ranges had not ended.

    Those end at ``last_ns``, the end of the last call or work of the device.
    """
    table = database.numbers(schema.RANGES, ["start", "end", "eventType", "globalTid", "textId"])
    is_range = np.isin(table["eventType"], (schema.PUSH_POP, schema.START_END, ABSENT))
    open_ended = is_range & (table["end"] == ABSENT) & (table["start"] != ABSENT)
    if last_ns == NONE:
        last_ns = int(table["end"].max(initial=ABSENT)) + session.start_ns
    end = np.where(open_ended, np.maximum(last_ns - session.start_ns, table["start"]), table["end"])
    times = session.times(table["start"], end)
    times.without = int((is_range & ((table["start"] == ABSENT) | (end == ABSENT))).sum())
    times = times.take(is_range[times.rows])
    row = rows_of(table, times)
    number, texts = _names(database, names, len(table["start"]), table["textId"])
    name, sequence, shapes, operator = texts.columns(number[times.rows])
    operator &= ~step_strings(names.all)[name]
    ranges = group(
        times, name, places.host(pids_of(row["globalTid"]), tids_of(row["globalTid"])), first,
        sequence=sequence,
        shapes=shapes,
    )  # fmt: skip
    kinds = {"cpu_op": operator, "user_annotation": ~operator}
    found = {kind: ranges.take(mask) for kind, mask in kinds.items() if mask.any()}
    return found, times, len(table["start"]), int(open_ended.sum())


def _names(database: Database, names: Names, rows: int, text_id: I64) -> tuple[I64, RangeNames]:
    """Return the number of each range's name, which the row has as a text or as an id of one."""
    texts = RangeNames(names)
    written = database.codes(schema.RANGES, "text", texts.number)
    number = np.full(rows, NONE)
    number[: len(written)] = written[:rows]
    known = np.flatnonzero(number < 0)
    distinct, code = np.unique(text_id[known], return_inverse=True)
    text = [names.text(i) for i in distinct.tolist()]
    found = np.array([texts.number(t) if t else NONE for t in text], np.int64)
    number[known] = found[code.reshape(-1)]
    return number, texts
