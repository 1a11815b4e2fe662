"""Define the tables of recorded counters: CounterSeries and CounterSamples."""

from __future__ import annotations

from tb_privateuse1.trace.table import (
    F64,
    MaybeText,
    Nanoseconds,
    SeriesRow,
    SmallNumber,
    Table,
)

COMPUTED = "tb_privateuse1"
"""The category of counters that our export computed from the rest of the trace: none is read."""


class CounterSeries(Table, frozen=True):
    """The counters of a trace: each has a name and, within it, a key; by first occurrence.

    ``process`` is the name of the process that the trace puts it under, or the process's number.
    """

    name: MaybeText
    key: MaybeText
    process: MaybeText


class CounterSamples(Table, frozen=True):
    """The values of all counters, by series and time; each holds until the next one.

    The unit is whatever the trace means: it is often in the name or the key. Values are finite.
    """

    ORDER = ("series", "ts_ns")

    series: SeriesRow
    ts_ns: Nanoseconds
    value: F64
    event: SmallNumber
