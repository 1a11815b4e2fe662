"""Collectives of programs without a device: what waits for them, and which of them repeat.

A host library (gloo, MPI) runs a collective on a thread of its own. Its range lasts from the call
until the result is there, so it holds the wait for later ranks as well.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.analysis.roofs.best_rates import best_rate
from tb_privateuse1.analysis.steps.training_phases import STEPPING, find_passes, phase_kinds
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import latest_not_after, lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I64, Bools

_CALLS = r"^c10d::"
_SUMS = ("all_reduce", "reduce_scatter")
_LARGE, _STEPS = 1 << 20, 3
"""Bytes from which the rate counts and not the latency, as in ``small_collectives``; steps that
have such collectives: one or two may be the program's start."""
_UNCACHED = 1 << 20
"""Smaller tensors stay in a cache of the host: their rate is not that of its memory."""
_PASSES = 20
"""How often a sum over sockets of one host reads or writes each byte: into a buffer and out of it
on both ranks, for its two halves, and once to add."""
_WAITS = 10
"""A collective that takes this multiple of these passes does something else: it waits."""


def host_calls(case: RuleContext) -> I64:
    """Return the judged rows of ``trace.collectives`` of known size; none beside a device."""
    calls = case.trace.collectives
    if case.limits.known != "host":
        return np.empty(0, np.int64)
    rows = np.flatnonzero((calls.op >= 0) & (calls.bytes > 0))
    return rows[case.judged[calls.op[rows]]]


def durations(case: RuleContext, rows: I64) -> I64:
    """Return the time of each of these collectives in ns, at least 1."""
    ops, op = case.trace.ops, case.trace.collectives.op[rows]
    duration: I64 = np.maximum(ops.end_ns[op] - ops.start_ns[op], 1)
    return duration


def awaited(case: RuleContext, rows: I64) -> intervals.Set:
    """Return the judged time of these collectives in which no operator computes."""
    talk = intervals.intersect(
        case.time(case.trace.collectives.op[rows].astype(np.int64)), case.window
    )
    work = case.top[~case.named("ops", _CALLS)[case.top]]
    return intervals.subtract(talk, case.time(work))


def repeated_sums(case: RuleContext, rows: I64) -> I64:
    """Return sums of backward passes that a later pass before the same update repeats.

    Sums of the forward pass refute it: then parts of the model are split over the ranks. So do as
    many updates as there were passes: each may have its own model.
    """
    trace, passes = case.trace, find_passes(case.trace)
    names = [trace.text(kind) for kind in trace.collectives.kind[rows]]
    rows = rows[np.isin(names, _SUMS)]
    if not len(rows) or not len(passes.backward_ns):
        return rows[:0]
    start = trace.ops.start_ns[trace.collectives.op[rows]]
    at = latest_not_after(passes.backward_ns, start)
    following = latest_not_after(passes.forward_ns, start)
    if (following > at).any():
        return rows[:0]
    size = np.bincount(at, trace.collectives.bytes[rows], minlength=len(passes.backward_ns))
    count = np.bincount(at, minlength=len(size))
    return rows[_repeats(case, passes.backward_ns, count, size)[at]]


def _repeats(case: RuleContext, backward_ns: I64, count: I64, size: np.ndarray) -> Bools:
    """Return by backward pass whether the last one before the same update sends the same."""
    updates = np.sort(case.trace.ops.start_ns[phase_kinds(case.trace) == STEPPING])
    before = np.searchsorted(updates, backward_ns)
    first = np.searchsorted(before, before)
    last = latest_not_after(before, before)
    behind = lookup(before, last + 1, len(updates)) - before
    same = (count > 0) & (count == count[last]) & (size == size[last])
    is_early = np.arange(len(before)) < last
    found: Bools = same & is_early & (behind > 0) & (behind < last - first + 1)
    return found


def slow_rate(case: RuleContext, rows: I64) -> float | None:
    """Return the best rate of large collectives in bytes per ns; None if it is no slow one.

    The host itself takes a while to move the bytes, at the rate of its own operators. What takes
    many times as long waits for others, or for a network slower than that. The best of several
    steps had least to wait for. One step alone may be that of a late start.
    """
    calls, memory = case.trace.collectives, host_memory(case.trace)
    large = rows[calls.bytes[rows] >= _LARGE]
    if memory is None or len(np.unique(case.trace.ops.step[calls.op[large]])) < _STEPS:
        return None
    rate = float((calls.bytes[large] / durations(case, large)).max())
    return rate if rate * _PASSES * _WAITS < memory / 1e9 else None


def bucketed_share(case: RuleContext, rows: I64, needed: int) -> float:
    """Return the share of these collectives' time that buckets save, from 0 to 1.

    A bucket takes as long as one of them does on average, as it waits for others just the same,
    or as a line of latency and bytes says: through the fastest of the smallest and of the largest.
    """
    size, duration = case.trace.collectives.bytes[rows], durations(case, rows)
    smallest, largest = int(size.min()), int(size.max())
    latency = int(duration[size == smallest].min())
    slope = max(int(duration[size == largest].min()) - latency, 0) / max(largest - smallest, 1)
    line = needed * latency + slope * max(int(size.sum()) - needed * smallest, 0)
    return max(1 - max(needed * float(duration.mean()), line) / float(duration.sum()), 0.0)


@memoize
def host_memory(trace: Trace) -> float | None:
    """Return the best rate of bytes per second that operators of the host sustained, or None."""
    ops, work = trace.ops, operator_work(trace)
    known = (work.read_bytes != MISSING) & (work.written_bytes != MISSING)
    size = work.read_bytes + work.written_bytes
    rows = np.flatnonzero(known & ~work.matrix & (size >= _UNCACHED) & ~work.at_most)
    duration = np.maximum(ops.end_ns - ops.start_ns, 1)[rows]
    return best_rate(size[rows], duration, duration)
