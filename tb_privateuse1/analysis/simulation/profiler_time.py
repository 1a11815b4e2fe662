"""Estimate the profiler's own time on the host, from the recording itself.

The profiler works at each start and end of a recorded range. So between two of these in a row there
is its own work, and little else where ranges are dense.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tb_privateuse1.analysis.simulation.host_points import Points
from tb_privateuse1.analysis.simulation.launches_and_waits import Ranges
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.intervals import Lanes, lanes
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I32, I64

Shares = NDArray[np.float64]

_MOST_EVENT_NS = 2_000
"""The profiler takes no longer than this for one event, also with stacks and shapes."""

_FEWEST = 100
"""The median distance of fewer ranges says nothing."""

MOST = 0.8
"""The profiler takes no more than this share of a thread's time between two points."""

USUAL, COSTLY = 50, 75
"""Percentiles of the distances between events: their middle, and the end of their middle half.

Of 13 developed recordings whose host limits the step, the profiler's time for a range (recorded
less real step, by ranges) was twice a distance of the middle half in ten, less in one and more in
two (docs/internals/pairs.md)."""


def is_dense(trace: Trace) -> bool:
    """Return whether ranges are so dense that the profiler's time for one is known."""
    return _is_known(find_events(trace))


def _driving_ranges(trace: Trace) -> tuple[Ranges, Ranges]:
    """Return the operators and Python frames of threads that drive the device; the frames alone."""
    driving = thread_roles(trace).driving
    of_ops, of_frames = (
        Ranges.of(table, lookup(driving, table.thread, False))
        for table in (trace.ops, trace.frames)
    )
    return of_ops.and_(of_frames), of_frames


def profiler_shares(trace: Trace, points: Points, *, of_stacks: bool = False) -> Shares:
    """Return the share of the host's time before each point that the profiler may have taken.

    With ``of_stacks`` for Python frames alone, which a recording without stacks does not have.
    """
    events = find_events(trace)
    of_frames = _driving_ranges(trace)[1]
    if of_stacks:
        thread, at_ns = _edges(of_frames)
        events = replace(events, thread=thread, at_ns=at_ns)
    until = events_until(events, points)
    taken = events.usual_ns * (until - points.of_before(until))
    return np.minimum(taken / np.maximum(points.gap_ns, 1), MOST)


class Events(Struct, frozen=True):
    """Starts and ends of recorded ranges, at which the profiler works."""

    thread: I32
    at_ns: I64
    """Their instants in order, by thread."""
    usual_ns: float
    """What the profiler takes for each."""
    most_ns: float
    """What it may take."""

    def count_until(self, axis: Lanes) -> Callable[[I64], Shares]:
        """Return a function that counts the events before places of an axis; one there is half.

        Those of the threads before count as well: only differences say something.
        """
        first, end = np.searchsorted(self.thread, (axis.first, axis.end)).tolist()
        own = axis.place(self.thread[first:end], self.at_ns[first:end])

        def until(place: I64) -> Shares:
            before, since = (np.searchsorted(own, place, side=side) for side in ("left", "right"))
            found: Shares = first + (before + since) / 2
            return found

        return until


@memoize
def find_events(trace: Trace) -> Events:
    """Return the events of threads that drive the device, and what the profiler takes for each."""
    ranges = _driving_ranges(trace)[0]
    if not len(ranges.thread):
        return Events(ranges.thread, ranges.start_ns, 0.0, 0.0)
    thread, at_ns = _edges(ranges)
    between = np.diff(at_ns)[np.diff(thread) == 0]
    usual, most = np.percentile(between, (USUAL, COSTLY)).tolist()
    return Events(thread, at_ns, min(usual, _MOST_EVENT_NS / 2), min(most, _MOST_EVENT_NS / 2))


def _edges(ranges: Ranges) -> tuple[I32, I64]:
    """Return the threads and times of the starts and ends of ranges, in order.

    The edges are made of a few runs in order, which a stable sort merges.
    """
    parts = [(ranges.thread[:0], ranges.start_ns[:0])]
    for axis in lanes((ranges.thread, ranges.start_ns), (ranges.thread, ranges.end_ns)):
        parts.append(axis.instants(np.sort(np.concatenate(ranges.on(axis)), kind="stable")))
    thread, at_ns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return thread, at_ns


def events_until(events: Events, points: Points) -> Shares:
    """Return the number of events before each point, with those of the threads before its own."""
    found = np.zeros(len(points))
    for axis in lanes((points.thread, points.at_ns), (events.thread, events.at_ns)):
        rows = axis.has(points.thread)
        at = axis.place(points.thread[rows], points.at_ns[rows])
        found[rows] = events.count_until(axis)(at)
    return found


def left_ns(was: tuple[I64, Shares], now: tuple[I64, Shares], each_ns: float) -> Shares:
    """Return what the profiler takes of each time after a change.

    ``was`` and ``now`` are times in ns and the numbers of events in them, before and after. What
    goes takes its own events with it: a time without events leaves all of the profiler's.
    """
    (gap, count), (left, remaining) = was, now
    taken = np.minimum(count * each_ns, MOST * gap)
    most = MOST * np.abs(gap - left)
    gone = np.clip((count - remaining) * each_ns, -most, most)
    found: Shares = np.clip(taken - gone, 0, MOST * left)
    return found


def profiler_ns(trace: Trace, instants: intervals.Set) -> int:
    """Return the time that the profiler takes within some instants; 0 where it is not known.

    By the number of ranges that begin in them, on any thread that drives the device.
    """
    events = find_events(trace)
    if not _is_known(events):
        return 0
    starts = np.sort(_driving_ranges(trace)[0].start_ns, kind="stable")
    begun = np.searchsorted(starts, instants[1]) - np.searchsorted(starts, instants[0])
    taken = 2 * events.usual_ns * int(begun.sum())
    return round(min(taken, MOST * intervals.length(instants)))


def _is_known(events: Events) -> bool:
    return len(events.at_ns) >= 2 * _FEWEST and 2 * events.usual_ns < _MOST_EVENT_NS
