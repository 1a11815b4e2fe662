"""Find long host calls that launch nothing, such as decoding or logging, and long pauses.

Such a call (decoding, tokenizing, logging, metrics) can move to another thread, or out of the loop.
The code around launches cannot: only fewer launches make it shorter. A call is apart if the host
could have run several operators meanwhile. No names decide.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account.class_intervals import ClassIntervals
from tb_privateuse1.analysis.account.classes import NUMBER
from tb_privateuse1.analysis.idle import launch_times
from tb_privateuse1.analysis.operators.function_names import call_title
from tb_privateuse1.analysis.operators.groups import frame_title
from tb_privateuse1.analysis.threads import roles as thread_roles
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.call_tree import STEP, has_functions, starts_with
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.findings import TableName
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import ANNOTATION, MISSING, NONE, OPERATOR, Frames, Ops, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

LONG = 5
"""A call as long as this many usual operators is apart."""
_PAUSE = 20
"""Time without events as long as this many usual operators is no pace of launching."""
_EACH = 2
"""A thread that runs Python begins a function in the time of this many usual operators."""


class ApartCalls(Struct, frozen=True):
    """Calls of one name that launch nothing, and the part of the given time inside of them."""

    table: TableName
    rows: I64
    time: intervals.Set

    @property
    def ns(self) -> int:
        """The length of ``time``."""
        return intervals.length(self.time)


def apart_calls(trace: Trace, times: intervals.Set) -> tuple[ApartCalls, ...]:
    """Return the outermost calls apart from launches, by name, those with most of ``times`` first.

    They are Python frames; without frames, annotations. Only threads whose time can delay launches
    count.
    """
    found = sorted(_by_name(trace, times), key=lambda calls: -calls.ns)
    return tuple(calls for calls in found if calls.ns)


def pauses(trace: Trace, own: ClassIntervals) -> intervals.Set:
    """Return the long intervals of Python's time in which no event begins or ends.

    ``own`` are intervals of the account.
    """
    least = _PAUSE * usual_operator_ns(trace)
    length = own.end_ns - own.start_ns
    rows = np.flatnonzero((own.time_class == NUMBER["python"]) & (length >= least))
    found = intervals.EMPTY
    for thread, some in groupby.split_by_value(own.thread[rows]) if least else ():
        inside = intervals.union(own.start_ns[rows[some]], own.end_ns[rows[some]])
        quiet = intervals.intersect(inside, _without_frames(trace.frames, thread, inside))
        long = quiet[1] - quiet[0] >= least
        found = intervals.merge(found, (quiet[0][long], quiet[1][long]))
    return found


def held_by_others(trace: Trace, quiet: intervals.Set) -> intervals.Set:
    """Return those of the given pauses in which other threads run Python functions all the time.

    A thread that waits wakes up now and then; one that has the interpreter calls functions.
    """
    usual = usual_operator_ns(trace)
    starts = np.sort(trace.frames.start_ns, kind="stable")
    begun = np.searchsorted(starts, quiet[1]) - np.searchsorted(starts, quiet[0], side="right")
    held = begun * _EACH * usual >= quiet[1] - quiet[0]
    return (quiet[0][held], quiet[1][held]) if usual else intervals.EMPTY


def _without_frames(frames: Frames, thread: int, inside: intervals.Set) -> intervals.Set:
    """Return the time between the frames' starts and ends of a thread, from first to last."""
    rows = np.flatnonzero(frames.thread == thread)
    edges = np.concatenate(
        ([inside[0][0]], frames.start_ns[rows], frames.end_ns[rows], [inside[1][-1]])
    )
    edges = np.sort(edges, kind="stable").astype(np.int64)
    between = np.diff(edges) > 1
    # A set joins neighbors: a nanosecond keeps them apart.
    return edges[:-1][between], edges[1:][between] - 1


def innermost_names(trace: Trace, times: intervals.Set, count: int) -> list[str]:
    """Return names of the innermost Python frames with most of the time; empty without frames."""
    frames = trace.frames
    inside = intervals.covered_length(times, frames.start_ns, frames.end_ns)
    inside[~lookup(thread_roles.thread_roles(trace).driving, frames.thread, False)] = 0
    length = groupby.without_children(frames.parent, inside)
    if not len(length):
        return []
    total = groupby.sums(frames.name, np.maximum(length, 0), int(frames.name.max()) + 1)
    best = np.argsort(-total, kind="stable")[:count]
    return [call_title(trace, trace.text(name)) for name in best.tolist() if total[name]]


def _by_name(trace: Trace, times: intervals.Set) -> Iterator[ApartCalls]:
    table: TableName = "frames" if has_functions(trace) else "ops"
    columns: Frames | Ops = trace.frames if table == "frames" else trace.ops
    if not len(columns) or not len(times[0]):
        return
    launched = np.sort(_launched(trace), kind="stable")
    free = _driving(trace, columns)
    if isinstance(columns, Ops):
        free &= (columns.kind == ANNOTATION) & ~starts_with(trace, STEP)[columns.name]
    asked = np.flatnonzero(free)
    first, last = np.searchsorted(launched, (columns.start_ns[asked], columns.end_ns[asked]))
    free[asked] = first == last
    outer = free & ~lookup(free, columns.parent, False)
    rows = np.flatnonzero(outer)
    length = columns.end_ns[rows] - columns.start_ns[rows]
    rows = rows[length >= LONG * usual_operator_ns(trace)]
    for _, some in groupby.split_by_value(title_numbers(trace, columns.name[rows])):
        own = rows[some]
        inside = intervals.union(columns.start_ns[own], columns.end_ns[own])
        spent = intervals.covered_length(times, columns.start_ns[own], columns.end_ns[own])
        yield ApartCalls(table, own[spent > 0], intervals.intersect(inside, times))


def title_numbers(trace: Trace, name: I32 | I64) -> I64:
    """Return for each name the first one with its title: addresses of objects do not count."""
    used = groupby.distinct_values(name)
    first: dict[str, int] = {}
    same = np.full(int(used.max(initial=NONE)) + 2, NONE, np.int64)
    same[used] = [first.setdefault(frame_title(trace.text(n)), n) for n in used.tolist()]
    numbers: I64 = same[name]
    return numbers


def _launched(trace: Trace) -> I64:
    """Return when the activities were launched that have a recorded launch."""
    at: I64 = launch_times.likely_launch(trace, np.arange(len(trace.kernels)))
    return np.asarray(at[at != MISSING], np.int64)


@memoize
def usual_operator_ns(trace: Trace) -> float:
    """Return the median host time of the outermost operators that launch; 0 without any."""
    ops = trace.ops
    launching = trace.kernels.op[trace.kernels.op >= 0]
    operator = ops.kind == OPERATOR
    outer = intervals.nearest(ops.parent, operator & (intervals.nearest(ops.parent, operator) < 0))
    above = outer[launching]
    rows = groupby.distinct_values(np.where(above >= 0, above, launching))
    return float(np.median(ops.end_ns[rows] - ops.start_ns[rows])) if len(rows) else 0.0


def _driving(trace: Trace, columns: Frames | Ops) -> Bools:
    return lookup(thread_roles.thread_roles(trace).driving, columns.thread, False)
