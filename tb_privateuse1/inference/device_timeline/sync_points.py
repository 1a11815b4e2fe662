"""What else tells the times of marks: calls that waited for the device, other streams."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.inference.device_timeline.base import ANY, NEVER, Calibration, Marks
from tb_privateuse1.trace.table import I64, Bools

_WAITED_NS = 1_000_000
"""A call that took this long did wait for the device, not only look."""

_RETURN_NS, _RETURN_MOST_NS = 150_000, 700_000
"""From the last mark to the return of a call that waited: likely less than, and at most."""


@dataclass(frozen=True)
class Pins:
    """Marks of which something else tells the time: earliest, likely earliest, latest.

    ``NEVER`` and ``ANY`` stand for what is not known.
    """

    mark: I64
    earliest: I64
    nearer: I64
    latest: I64

    def more(self, mark: I64, nearer: I64, latest: I64) -> Pins:
        """The pins and others that have no certain earliest times."""
        return Pins(
            np.concatenate((self.mark, mark)),
            np.concatenate((self.earliest, np.full(len(mark), NEVER))),
            np.concatenate((self.nearer, nearer)),
            np.concatenate((self.latest, latest)),
        )


def blocking_pins(marks: Marks, blocking: Bools, waits: tuple[I64, I64], c: Calibration) -> Pins:
    """What blocking calls say: the device was done when they returned.

    Behind an operator that waits for its work nothing is left to do before its end mark. A call
    that waits for the whole device (``waits``: host starts and ends) and took long came back
    soon after the last mark before it.
    """
    order = np.argsort(waits[0], kind="stable")
    start, done = waits[0][order], waits[1][order]
    at = np.searchsorted(marks.host_ns, start) - 1
    # A range with marks inside does more than wait.
    bare = (at >= 0) & (np.searchsorted(marks.host_ns, done) - 1 == at)
    start, done, at = start[bare], done[bare], at[bare]
    lengthy = done - start >= _WAITED_NS
    earliest, nearer = (
        np.where(lengthy, done - late, NEVER) for late in (_RETURN_MOST_NS, _RETURN_NS)
    )
    end = marks.end[blocking]
    prompt = marks.host_high_ns[end] + c.latency_ns + c.jitter_ns
    return Pins(at, earliest, nearer, done).more(end, np.full(len(end), NEVER), prompt)


def without_waits(pins: Pins, late: Bools | None = None) -> Pins:
    """The pins less what waits (those that are ``late``; all by default) say of earliest times."""
    late = np.ones(len(pins.mark), np.bool_) if late is None else late
    return dataclasses.replace(
        pins,
        earliest=np.where(late, NEVER, pins.earliest),
        nearer=np.where(late, NEVER, pins.nearer),
    )


def join_pins(pins: Pins, until: I64) -> Pins:
    """The pins, and that marks probably waited ``until`` another stream was done (or ``NEVER``)."""
    mark = np.flatnonzero(until > NEVER)
    return pins.more(mark, until[mark], np.full(len(mark), ANY))


def limit_pins(pins: Pins, latest: I64) -> Pins:
    """The pins, and latest times of all marks."""
    return pins.more(np.arange(len(latest)), np.full(len(latest), NEVER), latest)


def idle_pins(pins: Pins, marks: Marks, waits: tuple[I64, I64], until: I64, c: Calibration) -> Pins:
    """The pins, and that the stream was idle before its first mark if the device was waited for.

    Then only another stream can have kept it, ``until`` that was done.
    """
    if not len(marks) or not (waits[1] <= marks.host_ns[0]).any():
        return pins
    prompt = np.maximum(marks.host_high_ns[:1] + c.latency_ns + c.jitter_ns, until[:1])
    return pins.more(np.zeros(1, np.int64), np.full(1, NEVER), prompt)
