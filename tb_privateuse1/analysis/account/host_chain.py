"""Classify what the host did while the device was idle: per thread, and whom it waited for.

The launching thread's own events come first. While it waits for another thread (a backward pass),
that thread's events count. A worker without events of its own waits for the main thread. What is
left is the main thread's own code, or else what any other thread does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.account.class_intervals import ClassIntervals, join, no_row, of_class
from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.analysis.account.host_activity import OPS, HostRanges, disjoint, host_activity
from tb_privateuse1.analysis.threads import roles as thread_roles
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import latest_not_after
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I32, I64

_OTHER_RANK: tuple[ClassName, ...] = ("other_rank",)
"""A collective on the host comes before the operator that waits for it."""

_PREPARES: tuple[ClassName, ...] = ("dispatch", "python")
"""What a thread that loads data does of these is the input."""

_BLOCKED: tuple[ClassName, ...] = ("blocking_copy", "synchronization", "device_memory")


def host_intervals(trace: Trace, thread: I32, start_ns: I64, end_ns: I64) -> ClassIntervals:
    """Return the classes of times in which the device waits for a thread's next launch.

    The times are disjoint. ``thread`` is the launching thread, ``NONE`` if it is not known: then
    the main thread counts.
    """
    return _Chain(trace).divide(thread, start_ns, end_ns)


def blocked_intervals(trace: Trace, thread: I32, start_ns: I64, end_ns: I64) -> ClassIntervals:
    """Return only the parts of these times in which the thread is in a blocking call."""
    return _Chain(trace).blocked(thread, start_ns, end_ns)


def blocked_time(trace: Trace) -> intervals.Set:
    """Return when a thread that drives the device waits for the device or for other ranks."""
    driving = thread_roles.thread_roles(trace).driving
    blocked = [
        ranges.take(driving[ranges.thread])
        for name, ranges in _activity(trace).by_class.items()
        if name in ("synchronization", "blocking_copy", "other_rank")
    ]
    return _union([(ranges.start_ns, ranges.end_ns) for ranges in blocked])


class _Activity(Struct, frozen=True):
    """The host's ranges by class, in order of precedence."""

    by_class: Mapping[ClassName, HostRanges]
    outer: intervals.Set
    """From the first to the last event of any host thread."""


@memoize
def _activity(trace: Trace) -> _Activity:
    tables = [t for t in (trace.ops, trace.launches, trace.frames) if len(t)]
    first = np.array([min((int(t.start_ns.min()) for t in tables), default=0)])
    last = np.array([max((int(t.end_ns.max()) for t in tables), default=0)])
    return _Activity(host_activity(trace), intervals.union(first, last))


class _Chain:
    """Divides times step by step: each step takes its part and leaves the rest."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.parts: list[ClassIntervals] = []
        self.activity = _activity(trace)
        self.roles = thread_roles.thread_roles(trace)

    def divide(self, thread: I32, start_ns: I64, end_ns: I64) -> ClassIntervals:
        main = self.roles.main
        left: list[intervals.Set] = [intervals.EMPTY]
        for own, wanted in self._by_worker(np.where(thread >= 0, thread, main), start_ns, end_ns):
            rest = self._results(own, wanted, _OTHER_RANK)
            rest = self._own(own, rest)
            rest = self._results(own, rest)
            if own != main:
                rest = self._worker(own, rest)
            left.append(rest)
        rest = _union(left)
        rest = self._results(main, rest, _OTHER_RANK)
        rest = self._own(main, rest)
        rest = self._results(main, rest)
        rest = self._lifetime(main, rest)
        rest = self._others(rest)
        outside = intervals.subtract(rest, self.activity.outer)
        self._add("profiler", outside, NONE)
        self._add("unattributed", intervals.subtract(rest, outside), NONE)
        return self._result()

    def blocked(self, thread: I32, start_ns: I64, end_ns: I64) -> ClassIntervals:
        threads = np.where(thread >= 0, thread, self.roles.main)
        for own, wanted in self._by_worker(threads, start_ns, end_ns):
            self._own(own, wanted, _BLOCKED)
        return self._result()

    def _result(self) -> ClassIntervals:
        """Return the parts by start."""
        return join([ClassIntervals.empty(), *self.parts])

    def _by_worker(
        self, thread: I32, start_ns: I64, end_ns: I64
    ) -> Iterator[tuple[int, intervals.Set]]:
        """Yield threads and times; a turn's time goes to the thread that works in it."""
        turns = thread_roles.find_turns(self.trace)
        times: dict[int, list[intervals.Set]] = {}
        for own, rows in groupby.split_by_value(thread):
            rest = intervals.union(start_ns[rows], end_ns[rows])
            given = np.flatnonzero(turns.thread == own)
            for worker, some in groupby.split_by_value(turns.worker[given]):
                away = intervals.union(turns.leave_ns[given[some]], turns.return_ns[given[some]])
                times.setdefault(worker, []).append(intervals.intersect(rest, away))
                rest = intervals.subtract(rest, away)
            times.setdefault(own, []).append(rest)
        for own, sets in times.items():
            yield own, _union(sets)

    def _own(
        self, thread: int, rest: intervals.Set, only: tuple[ClassName, ...] | None = None
    ) -> intervals.Set:
        """Take the thread's own events, class by class; return the remainder."""
        for name, every in self.activity.by_class.items():
            if not len(rest[0]):
                break
            ranges = every.of_thread(thread)
            if len(ranges) and (only is None or name in only):
                loads = name in _PREPARES and self.roles.role[thread] == thread_roles.LOADER
                rest = self._take("input" if loads else name, rest, ranges)
        return rest

    def _results(
        self, thread: int, rest: intervals.Set, only: tuple[ClassName, ...] | None = None
    ) -> intervals.Set:
        """Take the events of workers while the thread waits for their results."""
        every = self.roles.results
        own = every.take(every.thread == thread)
        for worker, rows in groupby.split_by_value(own.worker):
            away = intervals.union(own.leave_ns[rows], own.return_ns[rows])
            waits = intervals.intersect(rest, away)
            if len(waits[0]):
                left = self._own(worker, waits, only)
                rest = intervals.merge(intervals.subtract(rest, waits), left)
        return rest

    def _take(self, name: ClassName, rest: intervals.Set, ranges: HostRanges) -> intervals.Set:
        whole = (ranges.start_ns, ranges.end_ns)
        start, end = intervals.intersect(rest, whole)
        at = latest_not_after(whole[0], start)
        self.parts.append(
            of_class(name, start, end, ranges.thread[at], ranges.table[at], ranges.row[at])
        )
        return intervals.subtract(rest, whole)

    def _worker(self, thread: int, rest: intervals.Set) -> intervals.Set:
        """Take a worker's time between its events within a turn: the engine dispatches there."""
        turns = thread_roles.find_turns(self.trace)
        rows = turns.worker == thread
        inside = intervals.union(turns.begin_ns[rows], turns.done_ns[rows])
        self._add("dispatch", intervals.intersect(rest, inside), thread)
        return intervals.subtract(rest, inside)

    def _lifetime(self, main: int, rest: intervals.Set) -> intervals.Set:
        """Take the time from the main thread's first to its last event: it runs the program."""
        tables = (self.trace.ops, self.trace.launches, self.trace.frames)
        own = [(t, rows) for t in tables if len(rows := np.flatnonzero(t.thread == main))]
        if main == NONE or not own:
            return rest
        first = np.array([min(int(t.start_ns[rows].min()) for t, rows in own)])
        last = np.array([max(int(t.end_ns[rows].max()) for t, rows in own)])
        self._add("python", intervals.intersect(rest, (first, last)), main)
        return intervals.subtract(rest, (first, last))

    def _others(self, rest: intervals.Set) -> intervals.Set:
        """Take what other driving threads do."""
        driving = self.roles.driving
        for name, every in self.activity.by_class.items():
            if not len(rest[0]):
                break
            own = every.take(driving[every.thread])
            if len(own):
                own = own.take(np.argsort(own.start_ns, kind="stable"))
                start, end, place = disjoint(own.start_ns, own.end_ns)
                rest = self._take(name, rest, replace(own.take(place), start_ns=start, end_ns=end))
        return rest

    def _add(self, name: ClassName, times: intervals.Set, thread: int) -> None:
        count = len(times[0])
        threads = np.full(count, thread, np.int32)
        self.parts.append(of_class(name, *times, threads, OPS, no_row(count)))


def _union(sets: list[intervals.Set]) -> intervals.Set:
    return intervals.union(
        np.concatenate([start for start, _ in sets]), np.concatenate([end for _, end in sets])
    )
