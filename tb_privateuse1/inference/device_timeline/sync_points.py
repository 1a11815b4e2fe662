"""Bound device times of events by calls that waited for the device and by other streams."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.inference.device_timeline.timeline_inputs import (
    ANY,
    LATE_RETURN_NS,
    NEVER,
    Calibration,
    EventPairs,
)
from tb_privateuse1.trace.columns import latest_before, mask_of, sums_before
from tb_privateuse1.trace.table import I64, Bools

_WAITED_NS = 1_000_000
"""A call that took this long waited for the device; a shorter one may have only polled it."""

_RETURN_MOST_NS = 700_000
"""The largest time from the last event to the return of a call that waited."""


class SyncPoints(Struct, frozen=True):
    """Events with bounds on their device time: earliest, likely earliest (``nearer``), latest.

    ``NEVER`` and ``ANY`` are bounds that say nothing. An event may have several rows.
    """

    event: I64
    earliest: I64
    nearer: I64
    latest: I64

    def join(self, other: SyncPoints) -> SyncPoints:
        """Return the points of both."""
        return SyncPoints(
            np.concatenate((self.event, other.event)),
            np.concatenate((self.earliest, other.earliest)),
            np.concatenate((self.nearer, other.nearer)),
            np.concatenate((self.latest, other.latest)),
        )

    def extend(self, event: I64, nearer: I64, latest: I64) -> SyncPoints:
        """Return the points and others without certain earliest times."""
        return self.join(SyncPoints(event, np.full(len(event), NEVER), nearer, latest))


def find_sync_points(
    events: EventPairs, blocking: Bools, waits: tuple[I64, I64], c: Calibration
) -> SyncPoints:
    """Return the points of blocking calls: the device was done when they returned.

    An operator that waits for its work (``blocking``) leaves no backlog before its end event. A
    call that waits for the whole device (``waits``: host starts and ends) and took long returned
    soon after the last event before it.
    """
    start, done, at = bare_waits(events, waits)
    own = _own_ends(events, at, done)
    lengthy = (done - start >= _WAITED_NS) & _follows_work(events, own, at, done)
    earliest, nearer = (
        np.where(lengthy, done - late, NEVER) for late in (_RETURN_MOST_NS, LATE_RETURN_NS)
    )
    end = np.concatenate((events.end[blocking], own))
    prompt = events.host_high_ns[end] + c.latency_ns + c.jitter_ns
    return SyncPoints(at, earliest, nearer, done).extend(end, np.full(len(end), NEVER), prompt)


def bare_waits(events: EventPairs, waits: tuple[I64, I64]) -> tuple[I64, I64, I64]:
    """Return starts and ends of the calls that only wait, and the last event before each.

    A range with events inside does more.
    """
    order = np.argsort(waits[0], kind="stable")
    start, done = waits[0][order], waits[1][order]
    at = latest_before(events.host_ns, start)
    bare = (at >= 0) & (latest_before(events.host_ns, done) == at)
    return start[bare], done[bare], at[bare]


def ends_of_waits(events: EventPairs, waits: tuple[I64, I64]) -> I64:
    """Return the end events of ranges that only wait: nothing was launched since the device idled.

    ``waits``: host starts and ends of the calls.
    """
    _, done, at = bare_waits(events, waits)
    return _own_ends(events, at, done)


def _own_ends(events: EventPairs, at: I64, done: I64) -> I64:
    """Return the end events of those ranges among waits that have events of their own.

    ``at``: the last event before each wait; ``done``: when the wait returned. A range's second
    event is recorded behind its end, so that its earliest time is that of the return.
    """
    behind = np.minimum(at + 1, len(events) - 1)
    own = events.is_end[behind] & (events.host_low_ns[behind] == done)
    own &= events.start[events.op[behind]] == at
    ends: I64 = behind[own]
    return ends


def _follows_work(events: EventPairs, own: I64, at: I64, done: I64) -> Bools:
    """Return which waits follow events that no earlier wait was for.

    If nothing was recorded since the device was idle, the call took long for another reason: the
    thread was preempted. ``own``: the ends of ranges that only wait, whose events are no work.
    """
    others = sums_before(~mask_of(np.concatenate((own - 1, own)), len(events)))
    idle = np.maximum.accumulate(np.concatenate(([NEVER], done[:-1])))
    since = np.searchsorted(events.host_ns, idle)
    follows: Bools = others[at + 1] > others[np.minimum(since, at + 1)]
    return follows


def drop_earliest(points: SyncPoints, late: Bools | None = None) -> SyncPoints:
    """Return the points without earliest times, for those that are ``late`` (default: all)."""
    late = np.ones(len(points.event), np.bool_) if late is None else late
    return replace(
        points,
        earliest=np.where(late, NEVER, points.earliest),
        nearer=np.where(late, NEVER, points.nearer),
    )


def add_joins(points: SyncPoints, until: I64) -> SyncPoints:
    """Return the points and events that likely waited ``until`` another stream was done."""
    event = np.flatnonzero(until > NEVER)
    return points.extend(event, until[event], np.full(len(event), ANY))


def add_limits(points: SyncPoints, latest: I64) -> SyncPoints:
    """Return the points and latest times of all events."""
    return points.extend(np.arange(len(latest)), np.full(len(latest), NEVER), latest)


def add_idle_start(
    points: SyncPoints, events: EventPairs, waits: tuple[I64, I64], until: I64, c: Calibration
) -> SyncPoints:
    """Return the points, with the first event at once if a wait for the device came before it.

    The stream was idle then; only another stream can have delayed it, ``until`` that was done.
    """
    if not len(events) or not (waits[1] <= events.host_ns[0]).any():
        return points
    prompt = np.maximum(events.host_high_ns[:1] + c.latency_ns + c.jitter_ns, until[:1])
    return points.extend(np.zeros(1, np.int64), np.full(1, NEVER), prompt)
