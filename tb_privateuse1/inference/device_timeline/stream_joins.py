"""Find where streams of a device may have waited for each other, and until when.

No trace records such waits. A stream may have been made to wait wherever a program or autograd's
engine is between two operators. Then it waits at most until the other streams finished all work
submitted before. So the streams are simulated together, operator by operator in launch order: each
begins once it is launched, the one before it on its stream is done, and so is work submitted to
others since. Only changes from one stream to another cost a step in Python.
"""

from __future__ import annotations

import itertools

import numpy as np
from msgspec import Struct

from tb_privateuse1.inference.device_timeline.timeline_inputs import NEVER, Calibration, EventPairs
from tb_privateuse1.trace.columns import starts_run
from tb_privateuse1.trace.model import MISSING, Ops
from tb_privateuse1.trace.table import I64, Bools

FAR = 1 << 60
"""A time without an upper bound."""

_MOST_CHANGES = 100_000
"""More changes between streams would take seconds: then waits are taken as unbounded."""


class Lane(Struct, frozen=True):
    """A stream: its operators and events, the segments without a wait, its constants.

    ``unit`` are the outermost operators whose own body cannot make the stream wait, in order.
    """

    ops: Ops
    order: EventPairs
    wait_free: Bools
    unit: I64
    c: Calibration


class Joins(Struct, frozen=True):
    """Per event of a stream: when the work was done that its segment may have waited for.

    ``latest_ns``: the latest time, ``FAR`` if unknown, ``NEVER`` if no wait is possible.
    ``likely_ns``: the likely time if others got work since the stream's last operator (programs
    that change streams order them), else ``NEVER``.
    """

    latest_ns: I64
    likely_ns: I64
    by_ns: I64
    """The latest time at which the stream reached the event, ``FAR`` if unknown."""
    likely_by_ns: I64


def build_lane(ops: Ops, order: EventPairs, wait_free: Bools, waits: Bools, c: Calibration) -> Lane:
    """Return a lane; ``waits`` are the operators whose own body may make the stream wait."""
    plain = ~waits
    outer = np.zeros(len(ops), np.bool_)
    up = ops.parent
    inside = up >= 0
    # Rows are ordered so that parents come first within a thread; a few rounds reach all depths.
    while True:
        more = inside & (plain[up] | outer[up]) & ~outer
        if not more.any():
            break
        outer |= more
    unit = np.flatnonzero(plain & ~outer & (ops.elapsed_ns != MISSING))
    return Lane(ops, order, wait_free, unit[np.argsort(order.start[unit], kind="stable")], c)


def find_joins(lanes: list[Lane], waits: tuple[I64, I64]) -> list[Joins]:
    """Return the joins of each stream. ``waits`` are host ranges that wait for the whole device."""
    of = np.concatenate([np.full(len(x.unit), k) for k, x in enumerate(lanes)])
    host = np.concatenate([x.order.host_ns[x.order.start[x.unit]] for x in lanes])
    order = np.argsort(host, kind="stable")
    of, host = of[order], host[order]
    begins = np.flatnonzero(starts_run(of))
    found = [
        Joins(*(np.full(len(x.order), value) for value in (NEVER, NEVER, FAR, FAR))) for x in lanes
    ]
    if len(begins) > _MOST_CHANGES:
        for join, x in zip(found, lanes, strict=True):
            join.latest_ns[~x.wait_free] = FAR
        return found
    queues = [_Queue(x, join) for x, join in zip(lanes, found, strict=True)]
    rank = np.argsort(waits[1], kind="stable")
    pending = list(zip(waits[0][rank].tolist(), waits[1][rank].tolist(), strict=True))[::-1]
    cuts = [*begins.tolist(), len(of)]
    for begin, end in itertools.pairwise(cuts):
        now = int(host[begin])
        while pending and pending[-1][1] <= now:
            start, done = pending.pop()
            for queue in queues:
                queue.waited(start, done)
        k = int(of[begin])
        others = [q for i, q in enumerate(queues) if i != k]
        queues[k].run(end - begin, max(q.latest for q in others), max(q.likely for q in others))
    for k, queue in enumerate(queues):
        others = [q for i, q in enumerate(queues) if i != k]
        queue.finish(max(q.latest for q in others), max(q.likely for q in others))
    return found


class _Queue:
    """The simulated state of a stream: when its submitted work is done."""

    def __init__(self, lane: Lane, found: Joins) -> None:
        self.latest, self.likely = FAR, NEVER
        self._lane, self._found = lane, found
        self._at = 0
        self._event = 0
        ops, order, unit, c = lane.ops, lane.order, lane.unit, lane.c
        start, end = order.start[unit], order.end[unit]
        self._last = end
        self._host = order.host_ns[start]
        between = np.maximum(np.diff(end, prepend=-1) - (end - start), 0)
        elapsed = ops.elapsed_ns[unit]
        self._due = (
            order.host_high_ns[start] + c.latency_ns + c.jitter_ns,
            (order.host_ns[start] + c.latency_ns),
        )
        drift = (elapsed * c.drift).astype(np.int64)
        self._taken = (
            elapsed + c.resolution_ns + drift + between * c.event_high_ns,
            elapsed + c.resolution_ns // 2 + between * c.event_ns,
        )

    def waited(self, start: int, done: int) -> None:
        """Record that the host waited for the whole device from ``start`` to ``done``."""
        if not self._at or self._host[self._at - 1] <= start:
            self.latest, self.likely = min(self.latest, done), min(self.likely, done)

    def run(self, count: int, latest: int, likely: int) -> None:
        """Submit the next ``count`` operators; others are done by ``latest`` and ``likely``."""
        at = slice(self._at, self._at + count)
        self._add_waits(int(self._last[at.stop - 1]) + 1, latest, likely)
        before = max(self.latest, latest)
        if before < FAR:
            done = _done(self._due[0][at], self._taken[0][at], before)
            self._found.by_ns[self._last[at]] = done
        self.latest = FAR if before >= FAR else int(done[-1])
        done = _done(self._due[1][at], self._taken[1][at], max(self.likely, likely))
        self._found.likely_by_ns[self._last[at]] = done + self._lane.c.jitter_ns
        self.likely = int(done[-1])
        self._at = at.stop

    def finish(self, latest: int, likely: int) -> None:
        """Handle the events after the last operator of all streams."""
        self._add_waits(len(self._lane.order), latest, likely)

    def _add_waits(self, stop: int, latest: int, likely: int) -> None:
        held = self._event + np.flatnonzero(~self._lane.wait_free[self._event : stop])
        self._found.latest_ns[held] = latest
        self._found.likely_ns[held[:1]] = likely
        self._event = max(self._event, stop)


def _done(due: I64, taken: I64, before: int) -> I64:
    """Return when a queue that is busy until ``before`` finishes each item, due and lasting so."""
    end = np.cumsum(taken)
    waiting = due - (end - taken)
    waiting[0] = max(int(waiting[0]), before)
    result: I64 = end + np.maximum.accumulate(waiting)
    return result
