"""Reduce one rank's trace to the exposed communication of each process group.

Exposed communication is divided among the calls: each instant belongs to the call in progress that
began first. So the calls of a step sum to its exposed communication, however they overlap.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from tb_privateuse1.analysis.ranks.step_parts import RankActivity, StepTime
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.collective_calls import Collectives
from tb_privateuse1.trace.columns import latest_before, lookup, previous, range_rows
from tb_privateuse1.trace.groupby import group_rows, sums
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.process_groups import ProcessGroup
from tb_privateuse1.trace.table import HALF_INT64, I32, I64, Bools

MESSAGES = ("send", "recv", "send_recv")
"""Kinds of communication between two ranks."""
EXCHANGE = "all_to_all"
_EARLIEST = np.int64(-HALF_INT64)


def _no_numbers() -> I32:
    return np.empty(0, np.int32)


def _no_times() -> I64:
    return np.empty(0, np.int64)


class GroupParts(Struct, frozen=True):
    """The groups of one rank, and columns of three tables."""

    groups: tuple[ProcessGroup, ...] = ()
    exposed_step: I32 = field(default_factory=_no_numbers)
    """The step, by its place, ..."""
    exposed_shape: I32 = field(default_factory=_no_numbers)
    """... and a shape with the label of the calls, ..."""
    exposed_ns: I64 = field(default_factory=_no_times)
    """... whose exposed time in the step this is."""
    message_shape: I32 = field(default_factory=_no_numbers)
    """A shape with the label of messages, ..."""
    message_peer: I32 = field(default_factory=_no_numbers)
    """... and a rank that they go to or come from."""
    message_idle_ns: I64 = field(default_factory=_no_times)
    """By step, the idle time within it next to a message; empty without messages."""
    exchange_call: I32 = field(default_factory=_no_numbers)
    """The row in the calls of an all-to-all, ..."""
    sent_bytes: I64 = field(default_factory=_no_times)
    received_bytes: I64 = field(default_factory=_no_times)
    """... its bytes, ``MISSING`` if they are not recorded, ..."""
    exchange_work_ns: I64 = field(default_factory=_no_times)
    """... and the computation until the next all-to-all, which takes the same bytes back;
    ``MISSING`` if the next one does not."""


class _Spans(Struct, frozen=True):
    """The calls of a rank, by start."""

    start_ns: I64
    end_ns: I64
    step: I32
    shape: I32
    """The first shape with the call's label."""
    kind: tuple[str, ...]
    """Of each row of ``kind_of``."""
    kind_of: I32

    def of(self, *kinds: str) -> Bools:
        """Return which calls are of these kinds."""
        wanted = [i for i, kind in enumerate(self.kind) if kind in kinds]
        found: Bools = np.isin(self.kind_of, wanted)
        return found


def reduce_groups(
    trace: Trace,
    spans: tuple[I64, I64],
    step: I32,
    shape: I32,
    activity: RankActivity,
    time: StepTime,
) -> GroupParts:
    """Return the part of a rank whose calls have these spans, steps and shapes.

    Exposed and idle time are those of the steps' time that counts.
    """
    table = trace.collectives
    if not len(table):
        return GroupParts(groups=trace.meta.groups)
    calls = _calls(trace, table, spans, step, shape)
    at, exposed_shape, exposed = _exposed(
        trace, calls, intervals.merge(activity.hiding, time.left_out)
    )
    has_peer = np.flatnonzero(table.peer >= 0)
    first, _ = group_rows(calls.shape[has_peer], table.peer[has_peer])
    exchanges = np.flatnonzero(calls.of(EXCHANGE)).astype(np.int32)
    return GroupParts(
        groups=trace.meta.groups,
        exposed_step=at,
        exposed_shape=exposed_shape,
        exposed_ns=exposed,
        message_shape=calls.shape[has_peer][first],
        message_peer=table.peer[has_peer][first],
        message_idle_ns=_message_idle(trace, calls, activity.busy, time),
        exchange_call=exchanges,
        sent_bytes=table.sent_bytes[exchanges],
        received_bytes=table.received_bytes[exchanges],
        exchange_work_ns=_exchange_work(calls, table, exchanges, activity.work),
    )


def _calls(
    trace: Trace, table: Collectives, spans: tuple[I64, I64], step: I32, shape: I32
) -> _Spans:
    first, label = group_rows(table.kind, table.group, table.purpose, table.kernel >= 0)
    kinds, kind_of = np.unique(table.kind, return_inverse=True)
    return _Spans(
        *spans,
        step,
        shape[first][label].astype(np.int32),
        tuple(trace.text(kind) for kind in kinds.tolist()),
        kind_of.astype(np.int32),
    )


def _exposed(trace: Trace, calls: _Spans, hidden: intervals.Set) -> tuple[I32, I32, I64]:
    """Return step, shape and exposed time of each label in each step that has such time.

    None of it is in ``hidden``.
    """
    steps = trace.steps
    order = np.argsort(calls.start_ns, kind="stable")
    end = calls.end_ns[order]
    reach = np.maximum.accumulate(end)
    # What an earlier call covers is that call's: the rest of each call is one interval.
    start = np.maximum(calls.start_ns[order], previous(reach, _EARLIEST))
    own = end > start
    start, end, shape = start[own], end[own], calls.shape[order][own]
    bare = intervals.subtract(intervals.union(start, end), hidden)
    first = np.searchsorted(end, steps.start_ns, side="right")
    last = np.searchsorted(start, steps.end_ns, side="left")
    counts = np.maximum(last - first, 0)
    step, row = range_rows(first, counts)
    ns = intervals.covered_length(
        bare, np.maximum(start[row], steps.start_ns[step]), np.minimum(end[row], steps.end_ns[step])
    )
    some, group = group_rows(step, shape[row])
    total = sums(group, ns, len(some))
    kept = total > 0
    some = some[kept]
    return step[some].astype(np.int32), shape[row[some]], total[kept]


def _message_idle(trace: Trace, calls: _Spans, busy: intervals.Set, time: StepTime) -> I64:
    """Return by step the idle time between a message and another activity.

    Idle time at a step's edge is not between its micro-batches: the host prepares the next step.
    """
    steps, messages = trace.steps, calls.of(*MESSAGES)
    if not messages.any() or not len(steps):
        return _no_times()
    active = intervals.merge(busy, intervals.union(calls.start_ns, calls.end_ns))
    idle = intervals.complement(active, int(steps.start_ns.min()), int(steps.end_ns.max()))
    near = np.isin(idle[0], calls.end_ns[messages]) | np.isin(idle[1], calls.start_ns[messages])
    around = latest_before(steps.start_ns, idle[0])
    near &= (around >= 0) & (idle[1] < lookup(steps.end_ns, around, 0))
    return time.inside((idle[0][near], idle[1][near]))


def _exchange_work(calls: _Spans, table: Collectives, rows: I32, work: intervals.Set) -> I64:
    """Return the computation between each all-to-all and the one that reverses it.

    Tokens go to their experts and come back: the second one sends what the first one received. The
    next one of the same group and step is compared; calls that another pair has are not.
    """
    found = np.full(len(rows), MISSING, np.int64)
    order = np.lexsort((calls.start_ns[rows], calls.shape[rows], calls.step[rows]))
    row = rows[order]
    before, after = row[:-1], row[1:]
    reverses = (
        (calls.step[before] >= 0)
        & (calls.step[before] == calls.step[after])
        & (calls.shape[before] == calls.shape[after])
        & (table.sent_bytes[before] == table.received_bytes[after])
        & (table.received_bytes[before] == table.sent_bytes[after])
    )
    # Of a chain of reversals every second one begins a pair.
    place = np.arange(len(reverses))
    broken = np.maximum.accumulate(np.where(reverses, -1, place)) if len(place) else place
    begins = np.flatnonzero(reverses & ((place - broken) % 2 == 1))
    starts, ends = calls.end_ns[before[begins]], calls.start_ns[after[begins]]
    found[order[begins]] = intervals.covered_length(work, starts, ends)
    return found
