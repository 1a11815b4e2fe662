"""Find the launches and waits of host threads, for the dependency graph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.idle.device_bound import BLOCKED_NS
from tb_privateuse1.analysis.idle.launch_times import launch_latency_ns
from tb_privateuse1.analysis.simulation import stream_edges
from tb_privateuse1.analysis.threads.clock_slack import clock_slack_ns
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import (
    latest_not_after,
    lookup,
    mask_of,
    previous,
    starts_run,
)
from tb_privateuse1.trace.groupby import maxima
from tb_privateuse1.trace.intervals import Lanes, lanes
from tb_privateuse1.trace.model import MEMCPY, NONE, Frames, Kernels, Launches, Ops, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

_DRAIN_NS = 50_000
"""A call that waits for nothing returns sooner."""

_DRAINED = 10
"""A draining call spends at most this part of its time behind the end of the device's work."""

_WHOLE_DEVICE = re.compile(r"device_?synchroni|^synchronize$|ctx_?synchroni", re.IGNORECASE)


class Ranges(Struct, frozen=True):
    """Ranges of host threads."""

    thread: I32
    start_ns: I64
    end_ns: I64

    @classmethod
    def of(cls, table: Ops | Launches | Frames, rows: I32 | I64 | Bools) -> Self:
        """Return the ranges of some rows of a table."""
        return cls(table.thread[rows], table.start_ns[rows], table.end_ns[rows])

    def and_(self, other: Ranges) -> Ranges:
        """Return the ranges of both."""
        return join_ranges((self, other))

    def covered(self) -> Ranges:
        """Return disjoint ranges that cover the same time, by thread and start."""
        parts = [_NO_RANGES]
        for axis in lanes((self.thread, self.start_ns), (self.thread, self.end_ns)):
            starts, ends = intervals.union(*self.on(axis))
            thread, start_ns = axis.instants(starts)
            parts.append(Ranges(thread, start_ns, axis.instants(ends)[1]))
        return join_ranges(parts)

    def on(self, axis: Lanes) -> intervals.Set:
        """Return the starts and ends on an axis, of ranges of its threads."""
        rows = axis.has(self.thread)
        thread = self.thread[rows]
        return axis.place(thread, self.start_ns[rows]), axis.place(thread, self.end_ns[rows])

    def contain(self, thread: I32, at_ns: I64) -> Bools:
        """Return which instants of threads are in a range or at its start."""
        own = self.covered()
        found: Bools = (
            groupby.containing_by(own.thread, own.start_ns, own.end_ns, thread, at_ns) >= 0
        )
        return found

    def by_thread(self) -> Iterator[tuple[int, intervals.Set]]:
        """Yield each thread and the time that its ranges cover."""
        for thread, rows in groupby.split_by_value(self.thread):
            yield thread, intervals.union(self.start_ns[rows], self.end_ns[rows])


_NOTHING = np.empty(0, np.int64)
_NO_RANGES = Ranges(_NOTHING.astype(np.int32), _NOTHING, _NOTHING)


def join_ranges(parts: Sequence[Ranges]) -> Ranges:
    """Return the ranges of all parts, which must not be empty."""
    return Ranges(
        np.concatenate([part.thread for part in parts]),
        np.concatenate([part.start_ns for part in parts]),
        np.concatenate([part.end_ns for part in parts]),
    )


class Submissions(Struct, frozen=True):
    """Thread and time of each activity's launch; ``NONE`` and its own start if not known."""

    thread: I32
    at_ns: I64


def find_submissions(trace: Trace, calls: device_bound.Waits) -> Submissions:
    """Return the start of each launch or, without one, a time within the operator.

    A blocked launch submits when it returns. A launch that waits for its own activity, or for its
    stream, submits when it begins; so does an operator that waits while its stream is busy.
    """
    kernels, launches, ops = trace.kernels, trace.launches, trace.ops
    by_launch, by_op = kernels.launch >= 0, (kernels.launch < 0) & (kernels.op >= 0)
    thread = np.full(len(kernels), NONE, np.int32)
    at = kernels.start_ns.copy()
    launch = kernels.launch[by_launch]
    thread[by_launch] = launches.thread[launch]
    start, end = launches.start_ns[launch], launches.end_ns[launch]
    waited = np.zeros(len(launches) + 1, np.bool_)
    waited[calls.launch] = True
    waited[NONE] = False
    held = _held_by_stream(trace)[launch]
    blocked = (end - start >= BLOCKED_NS) & ~waited[launch] & ~held
    at[by_launch] = np.where(blocked, end, start)
    op = kernels.op[by_op]
    thread[by_op] = ops.thread[op]
    waiting = mask_of(calls.op[calls.launch < 0], len(ops))
    launched = np.clip(at[by_op] - launch_latency_ns(trace), ops.start_ns[op], ops.end_ns[op])
    # On an idle stream nothing delays the activity but the operator itself, before it submits.
    behind = waiting[op] & (_stream_free_ns(kernels)[by_op] >= launched)
    at[by_op] = np.where(behind, ops.start_ns[op], launched)
    return Submissions(thread, np.minimum(at, kernels.start_ns))


def _held_by_stream(trace: Trace) -> Bools:
    """Return by launch whether it waits for its stream: a long one in which its copy begins.

    The stream was busy until then. Memory that the device cannot read is copied within the call,
    part by part, from when the stream has come to it: the call returns with the last part.
    """
    kernels, launches = trace.kernels, trace.launches
    rows = np.flatnonzero((kernels.kind == MEMCPY) & (kernels.launch >= 0))
    launch = kernels.launch[rows]
    start, end = launches.start_ns[launch], launches.end_ns[launch]
    held = (kernels.start_ns[rows] < end) & (_stream_free_ns(kernels)[rows] >= start + _DRAIN_NS)
    return mask_of(launch[held & (end - start >= BLOCKED_NS)], len(launches))


def _stream_free_ns(kernels: Kernels) -> I64:
    """Return when the stream of each activity has ended all earlier ones; at least 0."""
    free = np.zeros(len(kernels), np.int64)
    rows = np.argsort(kernels.lane, kind="stable")
    lane = kernels.lane[rows].astype(np.int64)
    ended = previous(intervals.running_max(kernels.end_ns[rows], lane), 0)
    free[rows] = np.where(starts_run(lane), 0, np.maximum(ended, 0))
    return free


class Waits(Struct, frozen=True):
    """Ranges in which a host thread only waits for the device, by start.

    ``op`` and ``launch`` are the waiting rows; ``thread`` is where the range ends. A ``queue``
    wait is a launch that takes long. ``kernel`` and ``wait`` pair activities with the ranges that
    wait for them.
    """

    thread: I32
    start_ns: I64
    end_ns: I64
    op: I32
    launch: I32
    queue: Bools
    kernel: I64
    wait: I64


def find_waits(trace: Trace, submission: Submissions, calls: device_bound.Waits) -> Waits:
    """Return the waits of ``calls``, launches that take long, and calls that drain the device."""
    kernels, launches, ops = trace.kernels, trace.launches, trace.ops
    called = groupby.distinct_values(kernels.launch[kernels.launch >= 0])
    long = launches.end_ns[called] - launches.start_ns[called] >= BLOCKED_NS
    blocked = np.setdiff1d(called[long], calls.launch).astype(np.int32)
    added = np.concatenate((blocked, _draining_calls(trace, submission, calls)))
    launch = np.concatenate((calls.launch, added))
    op = np.concatenate((calls.op, launches.op[added]))
    start = np.concatenate((calls.start_ns, launches.start_ns[added]))
    end = np.concatenate((calls.end_ns, launches.end_ns[added]))
    by_op = lookup(ops.thread, op, NONE)
    thread = np.where(launch >= 0, lookup(launches.thread, launch, NONE), by_op)
    # An operator can only wait behind its last launch.
    rows = np.flatnonzero((kernels.op >= 0) & (submission.thread >= 0))
    never = np.iinfo(np.int64).min
    last = maxima(kernels.op[rows], submission.at_ns[rows], len(ops), never)
    start = np.where(launch >= 0, start, np.clip(lookup(last, op, never), start, end))
    order = intervals.nesting_order(thread, start, end)
    # Of nested waits only the innermost counts.
    inner = intervals.nest_ordered(thread[order], start[order], end[order])
    order = np.delete(order, inner[inner >= 0])
    launch, op, thread = launch[order], op[order], thread[order]
    start, end = start[order], end[order]
    kernel, wait = _awaited(trace, _known_ns(trace, submission), start, end, op, launch)
    full = np.setdiff1d(blocked, np.flatnonzero(_held_by_stream(trace)))
    queue = lookup(np.isin(np.arange(len(launches)), full), launch, False)
    return Waits(thread, start, end, op, launch, queue, kernel, wait)


def _draining_calls(trace: Trace, submission: Submissions, calls: device_bound.Waits) -> I32:
    """Return other calls that return as the work launched before them has ended.

    To free memory, for example, some runtimes wait until the device is done. Such a call launches
    nothing, takes long, and the device works for most of it, until just before its return.
    """
    kernels, launches = trace.kernels, trace.launches
    silent = np.ones(len(launches), np.bool_)
    silent[kernels.launch[kernels.launch >= 0]] = False
    silent[calls.launch[calls.launch >= 0]] = False
    length = launches.end_ns - launches.start_ns
    driving = lookup(thread_roles(trace).driving, launches.thread, False)
    rows = np.flatnonzero(silent & driving & (length >= _DRAIN_NS))
    left = left_behind_ns(kernels, submission, launches.start_ns[rows], launches.end_ns[rows])
    drained = (left >= -clock_slack_ns(trace)) & (left <= length[rows] // _DRAINED)
    draining: I32 = rows[drained].astype(np.int32)
    return draining


def may_drain(kernels: Kernels, submission: Submissions, start_ns: I64, end_ns: I64) -> Bools:
    """Return which ranges of the host may be waits for the device that are not recorded.

    They take long, and the device works for most of them on what was launched before, until just
    before their end.
    """
    left = left_behind_ns(kernels, submission, start_ns, end_ns)
    length = end_ns - start_ns
    drains: Bools = (length >= _DRAIN_NS) & (left >= 0) & (left <= length // _DRAINED)
    return drains


def left_behind_ns(kernels: Kernels, submission: Submissions, start_ns: I64, end_ns: I64) -> I64:
    """Return the time of each range behind the end of all work that was launched before it.

    It is negative if that work ends later, and the whole length if it ended before.
    """
    if not len(start_ns):
        return end_ns - start_ns
    known = np.flatnonzero(submission.thread >= 0)
    known = known[np.argsort(submission.at_ns[known], kind="stable")]
    done = np.maximum.accumulate(kernels.end_ns[known])
    at = latest_not_after(submission.at_ns[known], start_ns)
    last = lookup(done, at, np.iinfo(np.int64).min)
    left: I64 = end_ns - np.maximum(last, start_ns)
    return left


def _known_ns(trace: Trace, submission: Submissions) -> I64:
    """Return from when on a wait includes each activity: it was launched, or is in a task queue.

    A queue's thread launches later what its operator handed over by its end.
    """
    kernels, ops = trace.kernels, trace.ops
    thread = lookup(ops.thread, kernels.op, NONE)
    queued = (thread != NONE) & (submission.thread >= 0) & (thread != submission.thread)
    handed = lookup(ops.end_ns, kernels.op, 0)
    return np.where(queued, np.minimum(handed, submission.at_ns), submission.at_ns)


def _awaited(
    trace: Trace, known_ns: I64, start: I64, end: I64, op: I32, launch: I32
) -> tuple[I64, I64]:
    """Return pairs (activity, wait). ``known_ns`` is by activity (``_known_ns``).

    A copy's call waits for that copy, a call whose stream is recorded for that stream, and other
    waits for activities launched before. If the clocks disagree, the copy may end behind its call:
    the activity before it ends in the call.
    """
    kernels, launches, slack = trace.kernels, trace.launches, clock_slack_ns(trace)
    own = np.where(
        launch >= 0,
        _last(kernels.launch, len(launches), kernels.end_ns)[launch],
        _last(kernels.op, len(trace.ops), kernels.end_ns)[op],
    )
    behind = lookup(kernels.end_ns, own, 0) - end
    own[(behind > 0) & (behind <= slack)] = NONE
    long = launches.end_ns - launches.start_ns >= BLOCKED_NS
    queued = lookup(long, launch, False) & (own >= 0) & (lookup(kernels.end_ns, own, 0) > end)
    fits = (own >= 0) & ~queued & (lookup(kernels.end_ns, own, 0) <= end)
    pairs = [(own[fits], np.flatnonzero(fits))]
    recorded, kernel = stream_edges.host_waits(trace, known_ns, launch)
    ended = (own < 0) & (kernel >= 0) & (lookup(kernels.end_ns, kernel, 0) <= end + slack)
    pairs.append((kernel[ended], np.flatnonzero(ended)))
    others = np.flatnonzero((own < 0) & ~recorded)
    best = np.full(len(start), NONE)
    reach = np.full(len(start), np.iinfo(np.int64).min)
    called = lookup(launches.name, launch, NONE)
    whole = groupby.named_rows(trace.strings, called, _WHOLE_DEVICE.search)
    full = np.flatnonzero(queued)
    full_by_lane = {lane: full[at] for lane, at in groupby.split_by_value(kernels.lane[own[full]])}
    on_lanes = kernels.lane if len(others) or len(full) else kernels.lane[:0]
    for lane, rows in groupby.split_by_value(on_lanes):
        ends = np.maximum.accumulate(kernels.end_ns[rows])
        before = np.searchsorted(np.maximum.accumulate(known_ns[rows]), start[others], "right")
        done = np.searchsorted(ends, end[others], side="right")
        at = np.minimum(before, done) - 1
        late = lookup(ends, before - 1, 0) > end[others] + slack
        hit = (at >= 0) & ~late
        each = hit & whole[others]
        pairs.append((rows[at[each]], others[each]))
        kernel, wait = rows[at[hit]], others[hit]
        better = kernels.end_ns[kernel] > reach[wait]
        best[wait[better]], reach[wait[better]] = kernel[better], kernels.end_ns[kernel[better]]
        # A full queue gets a place when an activity on the launch's stream ends.
        queue = full_by_lane.get(lane, full[:0])
        at = latest_not_after(ends, end[queue])
        freed = (at >= 0) & (lookup(ends, at, 0) >= start[queue])
        pairs.append((rows[at[freed]], queue[freed]))
    single = others[(best[others] >= 0) & ~whole[others]]
    pairs.append((best[single], single))
    return np.concatenate([k for k, _ in pairs]), np.concatenate([w for _, w in pairs])


def _last(of: I32, size: int, end_ns: I64) -> I64:
    """Return the activity of each row that ends last; the appended entry is for ``NONE``."""
    found = np.full(size + 1, NONE)
    rows = np.flatnonzero(of >= 0)
    rows = rows[np.argsort(end_ns[rows], kind="stable")]
    found[of[rows]] = rows
    return found


def thread_starts(trace: Trace) -> tuple[I64, I64]:
    """Return the threads with operators or runtime calls, and the start of the first one."""
    thread = np.concatenate((trace.ops.thread, trace.launches.thread))
    start = np.concatenate((trace.ops.start_ns, trace.launches.start_ns))
    order = np.lexsort((start, thread))
    first = order[np.flatnonzero(np.diff(thread[order], prepend=-2))]
    return thread[first].astype(np.int64), start[first]
