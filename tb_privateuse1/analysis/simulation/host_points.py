"""Collect host events for the dependency graph: launches, waits, steps and hand-offs."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.simulation import launches_and_waits
from tb_privateuse1.analysis.threads.hand_offs import Turns
from tb_privateuse1.analysis.threads.result_waits import Results
from tb_privateuse1.analysis.threads.roles import Roles
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I32, I64

T = TypeVar("T", bound=np.generic)

RETURNS, BEGINS, HANDS, LEAVES, ENDS = range(5)
"""The order of a thread's points at one instant."""


class Points(Struct, frozen=True):
    """Points of host threads, by thread and time; ``before`` is the previous one or ``NONE``."""

    thread: I32
    at_ns: I64
    before: I64
    gap_ns: I64
    """The thread's own time since the previous point."""

    def __len__(self) -> int:
        return len(self.at_ns)

    @property
    def since_ns(self) -> I64:
        """The time of the point before each on its thread; of the first one its own."""
        return self.of_before(self.at_ns)

    def of_before(self, values: NDArray[T]) -> NDArray[T]:
        """Return the value of the point before each on its thread; of the first one its own."""
        return np.where(self.before >= 0, values[self.before], values)


class Collected:
    """Points in the order of their discovery, before they are sorted."""

    def __init__(self) -> None:
        self._parts: list[tuple[I64, I64, I64, I64]] = []
        self.count = 0

    def add(self, thread: I32 | I64, at: I64, role: int | I64, own: I64 | None = None) -> I64:
        """Add points and return their numbers.

        ``own`` limits the thread's own time before them; -1 does not.
        """
        n = len(at)
        limit = np.full(n, -1) if own is None else own
        self._parts.append((thread.astype(np.int64), at, np.broadcast_to(role, n), limit))
        self.count += n
        return np.arange(self.count - n, self.count)

    def sorted(self) -> tuple[Points, I64]:
        """Return the points sorted, and the place of each number."""
        thread, at, role, own = (np.concatenate([p[i] for p in self._parts]) for i in range(4))
        order = np.lexsort((role, at, thread))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        thread, at, own = thread[order], at[order], own[order]
        before = np.arange(-1, len(order) - 1)
        first = np.diff(thread, prepend=-2) != 0
        before[first] = NONE
        gap = np.diff(at, prepend=0)
        gap[first] = 0
        gap = np.where(own >= 0, np.minimum(own, gap), gap)
        return Points(thread.astype(np.int32), at, before, gap), place


def add_turns(points: Collected, turns: Turns) -> tuple[I64, I64, I64, I64]:
    """Add the points of hand-offs; return those of leaving, beginning, being done, returning."""
    nothing = np.zeros(len(turns.thread), np.int64)
    leaves = points.add(turns.thread, turns.leave_ns, LEAVES)
    returns = points.add(turns.thread, turns.return_ns, RETURNS, nothing)
    begins = points.add(turns.worker, turns.begin_ns, BEGINS, nothing)
    dones = points.add(turns.worker, turns.done_ns, ENDS)
    return leaves, begins, dones, returns


def add_results(points: Collected, results: Results) -> tuple[I64, I64]:
    """Add the points of results: a worker is done, and the thread that waits goes on."""
    nothing = np.zeros(len(results), np.int64)
    points.add(results.thread, results.leave_ns, LEAVES)
    dones = points.add(results.worker, results.done_ns, ENDS)
    returns = points.add(results.thread, results.return_ns, RETURNS, nothing)
    return dones, returns


def add_tasks(points: Collected, trace: Trace) -> tuple[I64, I64, I64]:
    """Add the points at which operators hand their calls to a queue's thread, and it begins them.

    Returns both, and the usual time between them. A queue that was empty waited for the task: of
    its own it took no longer than between tasks that were there.
    """
    ops, calls = trace.ops, trace.launches
    by_op = lookup(ops.thread, calls.op, NONE)
    rows = np.flatnonzero((by_op != NONE) & (by_op != calls.thread))
    op, thread, start = calls.op[rows], calls.thread[rows], calls.start_ns[rows]
    # The operator enqueues while it runs: at its start at the earliest.
    handed = np.where(start < ops.end_ns[op], ops.start_ns[op], ops.end_ns[op])
    same = (rows > 0) & (calls.thread[rows - 1] == thread)
    free = np.where(same, calls.end_ns[rows - 1], np.iinfo(np.int64).min)
    waited = handed >= free
    queued = (start - free)[same & ~waited]
    between = int(np.median(queued)) if len(queued) else 0
    own = np.where(same, calls.end_ns[rows - 1] - calls.start_ns[rows - 1] + between, between)
    sources = points.add(by_op[rows], handed, HANDS)
    targets = points.add(thread, start, BEGINS, np.where(waited, own, -1))
    lag = start - handed
    usual = int(np.median(lag[waited])) if waited.any() else 0
    return sources, targets, np.minimum(lag, usual)


def add_steps(points: Collected, trace: Trace, roles: Roles) -> tuple[I64, I64, I64]:
    """Return points where steps begin (or ``NONE``), and pairs of a step and a point of its end.

    Without steps of its own the recording ends with the last work of a thread that drives it.
    """
    steps, ops, launches = trace.steps, trace.ops, trace.launches
    threads_, since = launches_and_waits.thread_starts(trace)
    points.add(threads_, since, BEGINS)
    if has_profiler_steps(trace):
        thread = np.full(len(steps), roles.main)
        first = points.add(thread, steps.host_start_ns, BEGINS)
        last = points.add(thread, steps.host_end_ns, ENDS)
        return first, np.arange(len(steps)), last
    ends = np.zeros(len(trace.threads) + 1, np.int64)
    np.maximum.at(ends, ops.thread, ops.end_ns)
    # A call may return after the recording ends.
    np.maximum.at(ends, launches.thread, np.minimum(launches.end_ns, trace.end_ns))
    used = groupby.distinct_values(threads_)
    driving = used[lookup(roles.driving, used, False)]
    threads = driving if len(driving) else used
    last = points.add(threads, ends[threads], ENDS)
    return np.full(len(steps), NONE), np.zeros(len(last), np.int64), last


def activity_steps(trace: Trace) -> I64:
    """Return the step that each activity can end: the one that launched it."""
    kernels = trace.kernels
    if not has_profiler_steps(trace):
        return np.zeros(len(kernels), np.int64)
    launched = (kernels.launch >= 0) | (kernels.op >= 0)
    return np.where(launched, kernels.step, NONE).astype(np.int64)


def has_profiler_steps(trace: Trace) -> bool:
    """Return whether the recording has steps of its own; else one row covers all of it."""
    return any("#" in trace.text(name) for name in trace.steps.name)
