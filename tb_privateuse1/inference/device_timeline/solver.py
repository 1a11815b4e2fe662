"""Bound the device time of every event from both sides.

Below: an event comes after its record plus the latency, after the events before it, and as long
after its partner as the elapsed time says. Above: in a launch-free segment an event executes at
once, at its record plus the latency or right behind the event before it. A launch-free segment
that took the device longer than an event costs was idle time. So its event is tied to the host's
clock: an *anchor*.

If the bounds cross, an assumption is wrong. The weakest goes first: that an operator's first event
was recorded right before its time stamp (a thread may be preempted in between). Then the anchor is
dropped: something launched there after all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tb_privateuse1.inference.device_timeline import constraints
from tb_privateuse1.inference.device_timeline.base import ANY, Bounds, Calibration, EventPairs
from tb_privateuse1.inference.device_timeline.constraints import UNKNOWN, Spans, Tree
from tb_privateuse1.inference.device_timeline.sync_points import SyncPoints
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING, Ops
from tb_privateuse1.trace.table import I64, Bools

_REPAIRS = 6
"""Rounds in which contradicted assumptions are dropped."""

_ROUNDS = 3
"""Rounds in which a backlog that became certain tightens the other bounds."""

NOISE_NS = 300
"""Bounds that cross by less agree: so much do events scatter."""

_PACED_NS, _PACED_RUN = 6_000, 5
"""The least host time of an operator that shows the pace, and how many in a row must."""


@dataclass(frozen=True)
class Solution:
    """Bounds per event, spans, anchors per segment, and what contradicted the assumptions."""

    bounds: Bounds
    spans: Spans
    anchors: Bools
    refuted: Bools
    """Launch-free segments whose anchor was contradicted."""
    unknown: Bools
    """Events without a latest time: no anchor bounds their backlog."""
    relaxed: int
    """Operators whose first event was recorded long before their time stamp."""
    excess_ns: I64
    """How far each event's earliest time is after its latest one; 0 or less if they agree."""
    mean: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    """The likely time of each row of ``spans``."""
    reach: int = 0
    """More than the time between any two events."""
    dropped: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    """Segments whose claims were dropped because they contradicted others."""
    claims: int = 0
    """The number of claims: launch-free segments and synchronization points."""
    first_crossing: int = 0
    """The number of events that crossed before claims were dropped."""

    @property
    def crossing(self) -> int:
        """Return the number of events whose bounds contradict each other."""
        return int((self.excess_ns > NOISE_NS).sum())


def host_paced(events: EventPairs, ops: Ops, c: Calibration) -> Bools:
    """Return operators in runs that took the device as long as the host: it was likely idle.

    It is not certain: a host that waits for a full queue keeps the device's pace too.
    """
    host = ops.end_ns - ops.start_ns
    excess = ops.elapsed_ns + c.resolution_ns // 2 - host
    same = (np.abs(excess - 900) <= max(c.jitter_ns, 1_000)) & (host >= _PACED_NS)
    same &= ops.elapsed_ns != MISSING
    leaf = events.end - events.start == 1
    order = np.flatnonzero(leaf & (host >= _PACED_NS))
    order = order[np.argsort(events.end[order])]
    paced = same[order]
    run = np.cumsum(~paced)
    long = np.bincount(run[paced], minlength=len(order) + 1) >= _PACED_RUN
    result = np.zeros(len(ops), np.bool_)
    result[order[paced & long[run]]] = True
    return result


def elapsed_limits(elapsed_ns: I64, calibration: Calibration) -> tuple[I64, I64]:
    """Return the least and largest device time of each elapsed time; unknown if it is missing."""
    known = elapsed_ns != MISSING
    value = np.where(known, elapsed_ns, 0)
    drift = (value * calibration.drift).astype(np.int64)
    res = calibration.resolution_ns
    below = {"floor": 0, "round": (res + 1) // 2, "both": res}[calibration.rounding]
    above = {"floor": res, "round": (res + 1) // 2, "both": res}[calibration.rounding]
    low = np.where(known, np.maximum(value - below - drift, 0), 0)
    high = np.where(known, value + above + drift, UNKNOWN)
    return low, high


@dataclass(frozen=True)
class _Problem:
    """The input of all passes: events and their tree, limits of elapsed times, constants.

    ``node`` are the least and largest times per operator. ``prompt``, per event, is the latest
    device time if it executes at once. ``reach`` exceeds any time between two events.
    """

    events: EventPairs
    tree: Tree
    in_tree: Bools
    node: tuple[I64, I64]
    prompt: I64
    reach: int
    c: Calibration

    def tighten(self, most: I64) -> tuple[Spans, Bools]:
        """Return spans if segments last at most ``most``, and the segments that contradict it."""
        least = np.full(len(self.events), self.c.event_low_ns)
        return constraints.tighten_spans(self.tree, *self.node, least, most, self.reach)


def solve(
    events: EventPairs,
    tree: Tree,
    in_tree: Bools,
    launch_free: Bools,
    elapsed_ns: I64,
    points: SyncPoints,
    c: Calibration,
    until: I64 | None = None,
) -> Solution:
    """Return the bounds of all events; their likely times are the earliest ones.

    ``launch_free`` is per segment, ``in_tree`` per operator. ``until``, per event, is when the
    work of other streams is done that the event's stream may have waited for.
    """
    if not len(events):
        none = np.zeros(0, np.bool_)
        empty = np.zeros(0, np.int64)
        return Solution(
            Bounds(empty, empty, empty), Spans(empty, empty, 0, ()), none, none, none, 0, empty
        )
    node = elapsed_limits(elapsed_ns, c)
    ready = events.host_low_ns + c.latency_ns
    prompt = events.host_high_ns + c.latency_ns + c.jitter_ns
    if until is not None:
        prompt = np.maximum(prompt, until)
    reach = _reach(tree, in_tree, node[0], int(prompt.max() - ready.min()))
    problem = _Problem(events, tree, in_tree, node, prompt, reach, c)
    spans, _ = problem.tighten(np.full(len(events), UNKNOWN))
    anchored = launch_free & (spans.segment_low > c.event_high_ns)
    limit = np.where(anchored, prompt, np.int64(ANY))
    _limit_launch_free(events, launch_free, node[0], prompt, limit, c)
    np.minimum.at(limit, points.event, points.latest)
    np.maximum.at(ready, points.event, points.earliest)
    ready, low, relaxed = _repair(problem, spans, ready, limit)
    wrong = low > limit
    spans, low, high, anchored, unknown = _tighten_bounds(
        problem, low, limit, launch_free, anchored, wrong
    )
    excess = low - high
    low, high = np.minimum(low, high), np.maximum(low, high)
    return Solution(
        Bounds(low, high, low), spans, anchored & ~wrong, anchored & wrong, unknown, relaxed,
        excess, reach=reach,
    )  # fmt: skip


def _tighten_bounds(
    problem: _Problem, low: I64, limit: I64, launch_free: Bools, anchored: Bools, wrong: Bools
) -> tuple[Spans, I64, I64, Bools, Bools]:
    """Return spans, bounds, anchors, and the events without a latest time.

    Each round finds segments with a certain backlog: they last no longer than an event costs, which
    tightens the bounds, which shows more of them. ``wrong`` are the limits that ``low`` exceeds.
    """
    tree, prompt, c = problem.tree, problem.prompt, problem.c
    limit = np.where(wrong, np.int64(ANY), limit)
    launch_free = launch_free & ~wrong
    far = int(low.max() - low.min()) + 10**9
    behind = np.zeros(len(low), np.bool_)
    for turn in range(_ROUNDS):
        before = np.concatenate((low[:1], low[:-1]))
        # A certain backlog: the event before is not done when this one is due.
        certain = launch_free & ~anchored & (before + c.event_low_ns > prompt)
        if turn and (certain == behind).all():
            break
        behind = certain
        spans, doubted = problem.tighten(np.where(behind, c.event_high_ns, UNKNOWN))
        launch_free &= ~doubted
        low = constraints.earliest_times(tree, spans, low)
        high = np.minimum(int(low.max()) + 2 * far, limit)
        high = constraints.latest_times(tree, spans, high)
        for _ in range(2):
            high = constraints.latest_times(
                tree, spans, _execute_promptly(high, prompt, launch_free, c)
            )
        anchored = anchored | (
            launch_free & (spans.segment_low > c.event_high_ns) & (low <= prompt)
        )
        limit = np.where(anchored & ~wrong, np.minimum(limit, prompt), limit)
    return spans, low, high, anchored, high > int(low.max()) + far


def _reach(tree: Tree, in_tree: Bools, elapsed_low: I64, extent: int) -> int:
    """Return more than the time between any two bounds, however far the device is behind."""
    outer = ~in_tree
    row = tree.levels[0].step - 2 * len(in_tree)
    outer[row[(row >= 0) & (row < len(in_tree))]] = True
    return 4 * (extent + int(elapsed_low.sum(where=outer)) + 10**9)


def _repair(problem: _Problem, spans: Spans, ready: I64, limit: I64) -> tuple[I64, I64, int]:
    """Return the earliest solution, with room for late time stamps if it passes a limit."""
    events, c, node = problem.events, problem.c, problem.node
    ready = ready.copy()
    relaxed = 0
    for _ in range(_REPAIRS):
        low = constraints.earliest_times(problem.tree, spans, ready)
        low = _apply_outside_tree(events, problem.in_tree, node, low)
        passed = np.flatnonzero(low > limit)
        if not len(passed):
            break
        # Its first event is as early as its time stamp allows, and its device time moves all
        # later events.
        start, end = events.start, events.end
        room = events.host_floor_ns[start] + c.latency_ns < ready[start]
        pushes = room & (low[start] <= ready[start]) & (low[end] <= low[start] + node[0] + 1000)
        pushes &= low[end] > ready[end] + c.jitter_ns
        latest = np.full(len(events), -1, np.int64)
        latest[end[pushes]] = np.flatnonzero(pushes)
        at = np.maximum.accumulate(np.where(latest >= 0, np.arange(len(events)), -1))[passed]
        row = np.unique(latest[at[at >= 0]])
        if not len(row):
            break
        relaxed += len(row)
        ready[start[row]] = events.host_floor_ns[start[row]] + c.latency_ns
    return ready, low, relaxed


def _limit_launch_free(
    events: EventPairs, launch_free: Bools, low: I64, prompt: I64, limit: I64, c: Calibration
) -> None:
    """Limit the ends of launch-free operators that took longer than their events; in place."""
    launching = np.concatenate(([0], np.cumsum(~launch_free)))
    launch_free_ops = launching[events.end + 1] == launching[events.start + 1]
    row = np.flatnonzero(launch_free_ops & (low > (events.end - events.start) * c.event_high_ns))
    index = np.arange(len(events)) * c.event_high_ns
    reach = intervals.running_max(prompt - index, np.cumsum(~launch_free)) + index
    end = events.end[row]
    limit[end] = np.minimum(limit[end], reach[end])


def _execute_promptly(high: I64, prompt: I64, launch_free: Bools, c: Calibration) -> I64:
    """Return ``high`` with launch-free events right after their record or the event before."""
    index = np.arange(len(high)) * c.event_high_ns
    due = np.where(launch_free, prompt, high)
    reach = intervals.running_max(due - index, np.cumsum(~launch_free)) + index
    return np.where(launch_free, np.minimum(high, reach), high)


def _apply_outside_tree(events: EventPairs, in_tree: Bools, node: tuple[I64, I64], low: I64) -> I64:
    """Apply the elapsed times of operators outside the tree once to the earliest times."""
    row = np.flatnonzero(~in_tree)
    start, end = events.start[row], events.end[row]
    low = low.copy()
    np.maximum.at(low, end, low[start] + node[0][row])
    np.maximum.at(low, start, low[end] - node[1][row])
    return low
