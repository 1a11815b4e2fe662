"""Intervals of time with their class, thread and responsible event: built, cut and joined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.analysis.account.classes import NUMBER, ClassName
from tb_privateuse1.analysis.account.host_activity import EventRow
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I8, I32, I64, Code, MaybeThreadRow, Table


class ClassIntervals(Table, frozen=True):
    """Disjoint intervals by start.

    ``time_class`` is an index into ``classes.NAMES``. ``thread`` is the host thread that the device
    waits for, ``NONE`` without one. ``row`` is the responsible row of the table ``table`` (see
    ``host_activity.TABLES``): the activity that runs or that is late, or the host's call.
    """

    start_ns: I64
    end_ns: I64
    time_class: Code
    thread: MaybeThreadRow
    table: Code
    row: EventRow


def of_class(
    name: ClassName,
    start_ns: I64,
    end_ns: I64,
    thread: I32,
    table: I8 | int,
    row: I32 | I64,
) -> ClassIntervals:
    """Build the intervals of one class, without empty ones."""
    some = np.flatnonzero(end_ns > start_ns)
    return ClassIntervals(
        start_ns=start_ns[some],
        end_ns=end_ns[some],
        time_class=np.full(len(some), NUMBER[name], np.int8),
        thread=thread[some].astype(np.int32),
        table=np.broadcast_to(np.asarray(table, np.int8), len(start_ns))[some],
        row=row[some].astype(np.int32),
    )


def within(every: ClassIntervals, part: intervals.Set) -> ClassIntervals:
    """Return the parts of intervals that lie in a set; the intervals are disjoint and by start."""
    whole = (every.start_ns, every.end_ns)
    if len(part[0]) == 1 and len(every):  # no search for each interval
        low, high = int(part[0][0]), int(part[1][0])
        if low <= whole[0][0] and whole[1][-1] <= high:
            return every
        first = int(np.searchsorted(whole[1], low, side="right"))
        last = max(int(np.searchsorted(whole[0], high)), first)
        own = ClassIntervals(**{name: column[first:last] for name, column in every.columns()})
        return replace(
            own, start_ns=np.maximum(own.start_ns, low), end_ns=np.minimum(own.end_ns, high)
        )
    piece, at = intervals.overlaps(part, whole)
    start = np.maximum(part[0][piece], whole[0][at])
    end = np.minimum(part[1][piece], whole[1][at])
    return ClassIntervals(
        start, end, every.time_class[at], every.thread[at], every.table[at],
        every.row[at],
    )  # fmt: skip


def join(parts: Sequence[ClassIntervals]) -> ClassIntervals:
    """Return all intervals by start."""
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ClassIntervals.column_types()
    }
    order = np.argsort(columns["start_ns"], kind="stable")
    return ClassIntervals(**{name: column[order] for name, column in columns.items()})


def no_row(count: int) -> I32:
    """Return the column of rows of intervals without a responsible event."""
    return np.full(count, NONE, np.int32)
