"""Types that the data quality checks share: subject, examples and units of findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.i18n.units import percent, shorten
from tb_privateuse1.readers.raw import Sidecar
from tb_privateuse1.trace import labels
from tb_privateuse1.trace.findings import LONGEST_NAME, Example, TableName
from tb_privateuse1.trace.model import Memory, Trace
from tb_privateuse1.trace.table import I32, I64

MOST_EXAMPLES = 3
"""Events, or names, that a finding shows of its kind: it counts the others."""

LITTLE = 0.01
"""A smaller share of a figure changes no conclusion from it: an info, not a warning."""


class Clues(Struct, frozen=True):
    """Facts that only raw columns have."""

    unmatched: int
    """The number of sidecar rows whose id no event has."""
    orphans: I32
    """The event numbers of the frames whose caller is missing."""


class Subject(Struct, frozen=True):
    """A trace with its sources."""

    trace: Trace
    clues: Clues
    sidecar: Sidecar | None
    tolerance_ns: int
    """The largest difference of two times by rounding alone."""


def subject(trace: Trace, clues: Clues, sidecar: Sidecar | None) -> Subject:
    """Return the subject with its tolerance.

    Start and length of either event are rounded, each by up to the file's resolution, which is a
    whole microsecond in older traces.
    """
    coarse = not any(
        (times[:1000] % 1000).any()
        for table in (trace.ops, trace.kernels, trace.launches)
        for times in (table.start_ns, table.end_ns)
    )
    return Subject(trace, clues, sidecar, 2000 if coarse else 2)


def examples(
    trace: Trace, table: TableName, rows: NDArray[Any], notes: Sequence[str] = ()
) -> tuple[Example, ...]:
    """Return the first few of these rows as examples; ``notes`` belong to them in this order."""
    columns = getattr(trace, table)
    times: I64 = columns.ts_ns if isinstance(columns, Memory) else columns.start_ns
    return tuple(
        Example(
            table=table,
            row=int(row),
            name=_name(trace, columns, row),
            thread=labels.place(trace, columns, row, LONGEST_NAME),
            start_ns=int(times[row]),
            note=notes[i] if i < len(notes) else None,
        )
        for i, row in enumerate(rows[:MOST_EXAMPLES].tolist())
    )


def _name(trace: Trace, table: Any, row: int) -> str:
    name = "[memory]" if isinstance(table, Memory) else trace.text(table.name[row])
    return shorten(name, LONGEST_NAME)


def share(part: int, whole: int) -> str:
    """Return the part in per cent; of nothing, 0 %."""
    return percent(part / whole if whole else 0)


_MICROSECOND, _SECOND = 1_000, 1_000_000_000  # ns


def microseconds(ns: int) -> str:
    """Return ``12.3 µs``; ns below a microsecond, seconds from one second on."""
    if ns < _MICROSECOND:
        return f"{ns} ns"
    if ns < _SECOND:
        return f"{ns / _MICROSECOND:,.6g} µs"
    return f"{ns / _SECOND:,.6g} s"
