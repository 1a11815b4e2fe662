"""Read one event with its full record in the trace file.

The trace file is read again for it, so it must still be the file of the trace. The record has
nothing of the file's metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1 import readers
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.i18n import say
from tb_privateuse1.storage.ingest import without_paths
from tb_privateuse1.trace import labels
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import TableName
from tb_privateuse1.trace.model import (
    EVIDENCE,
    MISSING,
    Evidence,
    Frames,
    Kernels,
    Launches,
    Memory,
    Ops,
    Trace,
)

LONGEST = 1 << 18
"""Characters of a record; an event may hold a million lines of a stack."""

_encoder = msgspec.json.Encoder(decimal_format="number")


class Link(Struct, frozen=True):
    """Another event that this one belongs to."""

    table: TableName
    row: int
    name: str


class EventRecord(Struct, frozen=True):
    """A row of a table and its record. Null: not known, or of no meaning for such an event."""

    file: str
    table: TableName
    row: int
    record: str | None
    """The event as it is in the file: JSON, indented, with exact numbers. Null for an inferred
    activity, which is in no file."""
    cut: bool
    """The record is longer than what is shown of it."""
    name: str
    thread: str
    """The host thread, or the stream of a device activity."""
    start_ns: int
    duration_ns: int | None
    self_ns: int | None
    elapsed_ns: int | None
    step: str | None
    operator: Link | None
    launch: Link | None
    parent: Link | None
    evidence: Evidence | None
    start_bound_ns: int | None
    shift_bound_ns: int | None
    """The part of ``start_bound_ns`` that all starts share: the error of the launch latency."""
    duration_bound_ns: int | None


def read_record(
    trace: Trace,
    files: TraceFiles,
    *,
    table: Annotated[TableName, "the table that has the event"],
    row: Annotated[int, "row of the event, as in the findings' examples"],
) -> EventRecord:
    """Return the event of a row, with its record in the file.

    ``trace`` and ``files`` are as ``Store.open`` returns them. Raises TraceError ``unknown_row``,
    ``changed`` if the file has changed since then, and those of reading.
    """
    rows = getattr(trace, table)
    if not 0 <= row < len(rows):
        message = say("There is no row {row} in {table}.", row=row, table=table)
        last = len(rows) - 1
        hint = say("Its rows are 0 to {last}.", last=last) if last >= 0 else say("It has none.")
        raise TraceError("unknown_row", message, hint)
    number, text = int(rows.event[row]), None
    if number >= 0:
        try:
            reader = readers.reader_named(trace.meta.reader)
            fields = reader.record(files.trace.path, trace.checkpoints, number)
        except TraceError as error:
            if not files.is_unchanged():
                raise _changed(files) from error
            raise TraceError(error.code, without_paths(error.message, files), error.hint) from error
        text = msgspec.json.format(_encoder.encode(_escaped(fields)), indent=2).decode()
    if not files.is_unchanged():
        raise _changed(files)
    return _event(trace, table, row, files.trace.name, text)


def _escaped(value: Any) -> Any:
    """Return a JSON value with lone surrogates, which UTF-8 does not have, escaped."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {_escaped(key): _escaped(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(inner) for inner in value]
    return value


def _changed(files: TraceFiles) -> TraceError:
    message = say(
        "{name} changed while the event was looked for.",
        name=without_paths(files.trace.path, files),
    )
    return TraceError("changed", message, say("Reload the page, and choose the event again."))


def _event(trace: Trace, table: TableName, row: int, file: str, text: str | None) -> EventRecord:
    rows = getattr(trace, table)
    start = int((rows.ts_ns if isinstance(rows, Memory) else rows.start_ns)[row])
    kernel = rows if isinstance(rows, Kernels) else None
    ranged = not isinstance(rows, Memory)
    called = isinstance(rows, Kernels | Launches | Memory)
    return EventRecord(
        file=file,
        table=table,
        row=row,
        record=text[:LONGEST] if text is not None else None,
        cut=text is not None and len(text) > LONGEST,
        name="[memory]" if isinstance(rows, Memory) else trace.text(rows.name[row]),
        thread=labels.place(trace, rows, row),
        start_ns=start,
        duration_ns=int(rows.end_ns[row]) - start if ranged else None,
        self_ns=_value(rows.self_ns, row) if isinstance(rows, Ops | Frames) else None,
        elapsed_ns=_value(rows.elapsed_ns, row) if isinstance(rows, Ops) else None,
        step=_step(trace, rows, row),
        operator=_link(trace, "ops", rows.op[row]) if called else None,
        launch=_link(trace, "launches", kernel.launch[row]) if kernel else None,
        parent=_link(trace, table, rows.parent[row]) if isinstance(rows, Ops | Frames) else None,
        evidence=EVIDENCE[kernel.evidence[row]] if kernel else None,
        start_bound_ns=_value(kernel.start_bound_ns, row) if kernel else None,
        shift_bound_ns=int(kernel.shift_bound_ns[row]) if kernel else None,
        duration_bound_ns=_value(kernel.duration_bound_ns, row) if kernel else None,
    )


def _value(column: NDArray[np.int64], row: int) -> int | None:
    return None if column[row] == MISSING else int(column[row])


def _link(trace: Trace, table: TableName, row: Any) -> Link | None:
    return Link(table, int(row), trace.text(getattr(trace, table).name[row])) if row >= 0 else None


def _step(trace: Trace, rows: Any, row: int) -> str | None:
    if isinstance(rows, Ops | Kernels):
        step = rows.step[row]
    elif isinstance(rows, Launches | Memory) and rows.op[row] >= 0:
        step = trace.ops.step[rows.op[row]]
    else:
        return None
    return trace.text(trace.steps.name[step]) if step >= 0 else None
