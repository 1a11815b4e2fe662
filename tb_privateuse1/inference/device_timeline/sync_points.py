"""What else tells the times of marks: calls that waited for the device, other streams."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.inference.device_timeline.base import ANY, NEVER, Calibration, EventPairs
from tb_privateuse1.trace.table import I64, Bools

_WAITED_NS = 1_000_000
"""A call that took this long did wait for the device, not only look."""

_RETURN_NS, _RETURN_MOST_NS = 150_000, 700_000
"""From the last mark to the return of a call that waited: likely less than, and at most."""


@dataclass(frozen=True)
class SyncPoints:
    """Marks of which something else tells the time: earliest, likely earliest, latest.

    ``NEVER`` and ``ANY`` stand for what is not known.
    """

    event: I64
    earliest: I64
    nearer: I64
    latest: I64

    def more(self, event: I64, nearer: I64, latest: I64) -> SyncPoints:
        """The pins and others that have no certain earliest times."""
        return SyncPoints(
            np.concatenate((self.event, event)),
            np.concatenate((self.earliest, np.full(len(event), NEVER))),
            np.concatenate((self.nearer, nearer)),
            np.concatenate((self.latest, latest)),
        )


def find_sync_points(
    events: EventPairs, blocking: Bools, waits: tuple[I64, I64], c: Calibration
) -> SyncPoints:
    """What blocking calls say: the device was done when they returned.

    Behind an operator that waits for its work nothing is left to do before its end mark. A call
    that waits for the whole device (``waits``: host starts and ends) and took long came back
    soon after the last mark before it.
    """
    order = np.argsort(waits[0], kind="stable")
    start, done = waits[0][order], waits[1][order]
    at = np.searchsorted(events.host_ns, start) - 1
    # A range with marks inside does more than wait.
    bare = (at >= 0) & (np.searchsorted(events.host_ns, done) - 1 == at)
    start, done, at = start[bare], done[bare], at[bare]
    lengthy = done - start >= _WAITED_NS
    earliest, nearer = (
        np.where(lengthy, done - late, NEVER) for late in (_RETURN_MOST_NS, _RETURN_NS)
    )
    end = events.end[blocking]
    prompt = events.host_high_ns[end] + c.latency_ns + c.jitter_ns
    return SyncPoints(at, earliest, nearer, done).more(end, np.full(len(end), NEVER), prompt)


def drop_earliest(points: SyncPoints, late: Bools | None = None) -> SyncPoints:
    """The pins less what waits (those that are ``late``; all by default) say of earliest times."""
    late = np.ones(len(points.event), np.bool_) if late is None else late
    return dataclasses.replace(
        points,
        earliest=np.where(late, NEVER, points.earliest),
        nearer=np.where(late, NEVER, points.nearer),
    )


def add_joins(points: SyncPoints, until: I64) -> SyncPoints:
    """The pins, and that marks probably waited ``until`` another stream was done (or ``NEVER``)."""
    event = np.flatnonzero(until > NEVER)
    return points.more(event, until[event], np.full(len(event), ANY))


def add_limits(points: SyncPoints, latest: I64) -> SyncPoints:
    """The pins, and latest times of all marks."""
    return points.more(np.arange(len(latest)), np.full(len(latest), NEVER), latest)


def add_idle_start(
    points: SyncPoints, events: EventPairs, waits: tuple[I64, I64], until: I64, c: Calibration
) -> SyncPoints:
    """The pins, and that the stream was idle before its first mark if the device was waited for.

    Then only another stream can have kept it, ``until`` that was done.
    """
    if not len(events) or not (waits[1] <= events.host_ns[0]).any():
        return points
    prompt = np.maximum(events.host_high_ns[:1] + c.latency_ns + c.jitter_ns, until[:1])
    return points.more(np.zeros(1, np.int64), np.full(1, NEVER), prompt)
