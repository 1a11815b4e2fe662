"""Tell what a recording of host events alone shows of a device: waits, and the host's own time.

Operators of a device return before their work is done. So their times are none of computation. What
is sure is when the host waits, and that in the rest of the time up to a wait it was at work itself:
the device had finished all of it by then.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.blocking_names import blocks
from tb_privateuse1.trace.columns import ends_run, mask_of, previous, starts_run
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I64, Bools

_READS = re.compile(
    r"^aten::(item|_local_scalar_dense|is_nonzero|equal|allclose|nonzero|unique\w*|masked_select)$"
)
"""Operators that hand a value, or a size, of the device to the host."""
_COPY = re.compile(r"memcpy", re.IGNORECASE)
_LONG, _USUAL = 10.0, 75
"""Times of this percentile: half of the operators only view. Calls and operators differ by a few
times in what they dispatch; one that takes an order longer may have waited."""
_BEHIND = 0.05
"""Share of the time since the wait before. A wait that takes less returned when the host came, but
for what the call itself takes."""
_ASYNCHRONOUS_NS = 50_000
"""A launch takes 2 to 20 us. Where half of all take longer, they may wait for their kernels."""


class HostSide(Struct, frozen=True, eq=False):
    """The waits of the host within some windows, and its own time."""

    start_ns: I64
    """Of each wait for the device, in order."""
    end_ns: I64
    name: I64
    """The string of each wait: the operator that reads, or the call."""
    op: I64
    """The operator of each, or ``NONE``."""
    spare_ns: I64
    """What each wait can save at most: without it the host would be ahead by no more than the wait,
    and by no more than its own time up to the next wait."""
    own: intervals.Set
    """Its own time up to waits that return at once: the device was not behind the host."""


def host_side(trace: Trace, window: intervals.Set) -> HostSide | None:
    """Return what the host shows within a window; None if no wait in or behind it is known."""
    calls = trace.launches.end_ns - trace.launches.start_ns
    if not len(window[0]) or (len(calls) and np.median(calls) > _ASYNCHRONOUS_NS):
        return None
    start, end, name, op = _waits(trace)
    stop = int(window[1][-1])
    behind = np.flatnonzero(start >= stop)[:1]
    known = (start < stop) | mask_of(behind, len(start))
    since = previous(end[known], 0)
    prompt = end[known] - start[known] <= _BEHIND * (end[known] - since)
    before = intervals.intersect(window, (since[prompt], start[known][prompt]))
    inside = intervals.covered_length(window, start, end) > 0
    then = np.append(start[1:], np.maximum(end[-1:], stop))
    spare = np.minimum(end - start, np.maximum(np.minimum(then, stop) - end, 0))
    return HostSide(
        start_ns=start[inside],
        end_ns=end[inside],
        name=name[inside],
        op=op[inside],
        spare_ns=spare[inside],
        own=intervals.subtract(before, _long(trace)),
    )


def _waits(trace: Trace) -> tuple[I64, I64, I64, I64]:
    """Return start, end, name and operator of the waits of driving threads; none overlap."""
    ops, launches, frames = trace.ops, trace.launches, trace.frames
    driving = thread_roles(trace).driving
    outer = _reads(trace, driving)
    called = groupby.named_rows(trace.strings, launches.name, blocks)
    copies = groupby.named_rows(trace.strings, launches.name, lambda text: bool(_COPY.search(text)))
    called |= copies & _is_long(launches.end_ns - launches.start_ns)
    call = np.flatnonzero(called & driving[launches.thread])
    frame = np.flatnonzero(
        groupby.named_rows(trace.strings, frames.name, blocks) & driving[frames.thread]
    )
    if len(launches):  # each wait of a frame is a call of the runtime
        frame = frame[:0]
    own = launches.op[call]
    named = np.where(own >= 0, ops.name[own], launches.name[call]) if len(ops) else own
    return _apart(
        np.concatenate((ops.start_ns[outer], launches.start_ns[call], frames.start_ns[frame])),
        np.concatenate((ops.end_ns[outer], launches.end_ns[call], frames.end_ns[frame])),
        np.concatenate((ops.name[outer], named, frames.name[frame])).astype(np.int64),
        np.concatenate((outer, own, np.full(len(frame), NONE))).astype(np.int64),
    )


def _reads(trace: Trace, driving: Bools) -> I64:
    """Return the outermost operators that hand a value of the device to the host.

    That takes a call of the runtime. Where no call is recorded, it takes no less than what most
    operators do: a value that is on the host already is read at once.
    """
    ops, launches = trace.ops, trace.launches
    reads = groupby.named_rows(trace.strings, ops.name, lambda text: bool(_READS.match(text)))
    reads &= driving[ops.thread]
    outer: I64 = np.flatnonzero(reads)
    outer = outer[call_tree.around(ops.parent, ops.parent[outer], reads) == NONE]
    if not len(launches):
        least = np.percentile(ops.self_ns, _USUAL) if len(outer) else 0
        return outer[ops.end_ns[outer] - ops.start_ns[outer] >= least]
    calls = np.bincount(launches.op[launches.op >= 0], minlength=len(ops))
    return outer[groupby.with_descendants(ops.parent, calls)[outer] > 0]


def _apart(start: I64, end: I64, name: I64, op: I64) -> tuple[I64, I64, I64, I64]:
    """Return waits in order without those inside of others; those of one operator are one."""
    order = np.lexsort((-end, start))
    start, end, name, op = (column[order] for column in (start, end, name, op))
    latest = np.maximum.accumulate(end)
    kept = end > previous(latest, -1)
    start, end, name, op = (column[kept] for column in (start, end, name, op))
    first = starts_run(np.where(op >= 0, op, -2 - np.arange(len(op))))
    return start[first], end[ends_run(np.cumsum(first))], name[first], op[first]


def _long(trace: Trace) -> intervals.Set:
    """Return the time of calls that may have waited; of operators where no call is recorded."""
    table, length = trace.launches, trace.launches.end_ns - trace.launches.start_ns
    rows = np.flatnonzero(_is_long(length))
    if not len(table):
        ops = trace.ops
        own = np.flatnonzero(ops.kind == OPERATOR)
        own = own[_is_long(ops.self_ns[own])]
        return intervals.union(ops.start_ns[own], ops.end_ns[own])
    return intervals.union(table.start_ns[rows], table.end_ns[rows])


def _is_long(length_ns: I64) -> Bools:
    return length_ns > _LONG * np.percentile(length_ns, _USUAL) if len(length_ns) else length_ns > 0
