"""Bound the device time of every event from both sides.

Below: an event comes after its record plus the latency, after the events before it, and as long
after its partner as the elapsed time says. Above: in a launch-free segment an event executes at
once, at its record plus the latency or right behind the event before it. A launch-free segment
that took the device longer than an event costs was idle time. So its event is tied to the host's
clock: an *anchor*.

If the bounds cross, an assumption is wrong. The weakest goes first: that an operator's first event
was recorded right before its time stamp (a thread may be preempted in between), or the second one
right behind it. Then the anchor is dropped: something launched there after all.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tb_privateuse1.inference.device_timeline import constraints
from tb_privateuse1.inference.device_timeline.constraints import UNKNOWN, Spans, Tree
from tb_privateuse1.inference.device_timeline.sync_points import SyncPoints
from tb_privateuse1.inference.device_timeline.timeline_inputs import (
    ANY,
    NEVER,
    TORCH_RESOLUTION_NS,
    Bounds,
    Calibration,
    EventPairs,
)
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import latest_not_after, mask_of, sums_before
from tb_privateuse1.trace.model import MISSING, Ops
from tb_privateuse1.trace.table import I64, Bools

_REPAIRS = 6
"""Rounds in which contradicted assumptions are dropped."""

_ROUNDS = 3
"""Rounds in which a backlog that became certain tightens the other bounds."""

NOISE_NS = 300
"""Bounds that cross by less agree: so much do events scatter."""

_PACED_EXCESS_NS, _PACED_SCATTER_NS = 900, 1_000
"""Device time less host time of an operator that an idle device ran, and its scatter. The medians
of 41 simulated recordings are 0.9 to 1.8 µs, on a busy host 4.5 and 10. Half or twice of the first
moves activities in 13 or 17 of 50 recordings; half of the second in none."""

_LATE_END_NS = TORCH_RESOLUTION_NS
"""An end may lie behind the elapsed time by what torch cuts off."""

_PACED_NS, _PACED_RUN = 6_000, 5
"""The least host time of an operator that shows the pace, and how many in a row must."""


class Solution(Struct, frozen=True):
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

    @property
    def lost(self) -> int:
        """Return the number of claims and anchors that contradicted others."""
        return len(self.dropped) + int(self.refuted.sum())


def host_paced(events: EventPairs, ops: Ops, c: Calibration) -> Bools:
    """Return operators in runs that took the device as long as the host: it was likely idle.

    It is not certain: a host that waits for a full queue keeps the device's pace too.
    """
    host = ops.end_ns - ops.start_ns
    excess = ops.elapsed_ns + c.resolution_ns // 2 - host
    same = np.abs(excess - _PACED_EXCESS_NS) <= max(c.jitter_ns, _PACED_SCATTER_NS)
    same &= host >= _PACED_NS
    same &= ops.elapsed_ns != MISSING
    leaf = events.end - events.start == 1
    order = np.flatnonzero(leaf & (host >= _PACED_NS))
    order = order[np.argsort(events.end[order])]
    paced = same[order]
    run = np.cumsum(~paced)
    long = np.bincount(run[paced], minlength=len(order) + 1) >= _PACED_RUN
    return mask_of(order[paced & long[run]], len(ops))


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


class Attempts:
    """The earliest times by some late time stamps, which the solutions of a phase repeat.

    They are stored by what they differ in from the first ones.
    """

    def __init__(self) -> None:
        self._first: I64 | None = None
        self._others: dict[tuple[bytes, ...], tuple[I64, I64, I64]] = {}

    def solve(
        self, problem: Problem, key: tuple[bytes, ...], ready: I64, late: I64
    ) -> tuple[I64, I64]:
        """Return the earliest times, and the ends of operators whose late first event moves them.

        ``key`` names ``ready``. ``late``, per operator, is when an end is not due to its record.
        """
        if self._first is not None and key in self._others:
            at, value, ends = self._others[key]
            low = self._first.copy()
            low[at] = value
            return low, ends
        events, node = problem.events, problem.node
        low = constraints.earliest_times(problem.tree, problem.spans, ready)
        low = _apply_outside_tree(events, problem.in_tree, node, low)
        begun, due, done = low[events.start], ready[events.start], low[events.end]
        pushes = (problem.floor < due) & (begun <= due) & (done > late)
        pushes &= done <= begun + node[0] + _LATE_END_NS
        pushed = mask_of(events.end[pushes], len(events))
        ends = np.flatnonzero(pushed)
        self._first = low if self._first is None else self._first
        at = np.flatnonzero(low != self._first)
        self._others[key] = at, low[at], ends
        return low, ends


class Problem(Struct, frozen=True, dict=True):
    """The input of all passes: events and their tree, limits of elapsed times, constants.

    ``node`` are the least and largest times per operator. ``ready`` and ``prompt``, per event, are
    the earliest device time by its record, and the latest one if it executes at once. ``reach``
    exceeds any time between two events.
    """

    events: EventPairs
    tree: Tree
    in_tree: Bools
    node: tuple[I64, I64]
    ready: I64
    prompt: I64
    reach: int
    c: Calibration
    attempts: Attempts = field(default_factory=Attempts)

    @cached_property
    def floor(self) -> I64:
        """The earliest device time of each operator's first event if its time stamp is late."""
        return self.events.host_floor_ns[self.events.start] + self.c.latency_ns

    @cached_property
    def latest_record(self) -> I64:
        """When an idle device executes each event at the latest, if its thread was preempted.

        The thread's next time stamp comes behind it.
        """
        events, follower = self.events, self.events.next
        stamp = np.where(
            events.is_end[follower], events.host_low_ns[follower], events.host_high_ns[follower]
        )
        alone = follower == np.arange(len(events))
        latest: I64 = np.where(alone, np.int64(ANY), stamp + self.c.latency_ns + self.c.jitter_ns)
        return latest

    @cached_property
    def spans(self) -> Spans:
        """The spans if nothing is known of any segment."""
        return self.tighten(np.zeros(len(self.events), np.bool_))[0]

    def tighten(self, behind: Bools) -> tuple[Spans, Bools]:
        """Return spans if some segments cost no more than an event, and those that contradict."""
        least = np.full(len(self.events), self.c.event_low_ns)
        most = np.where(behind, self.c.event_high_ns, UNKNOWN)
        return constraints.tighten_spans(self.tree, *self.node, least, most, self.reach)


def state_problem(
    events: EventPairs,
    tree: Tree,
    in_tree: Bools,
    elapsed_ns: I64,
    c: Calibration,
    until: I64 | None = None,
) -> Problem:
    """Return the problem of a stream, without claims about what it did.

    ``in_tree`` is per operator. ``until``, per event, is when the work of other streams is done
    that the event's stream may have waited for.
    """
    node = elapsed_limits(elapsed_ns, c)
    ready = events.host_low_ns + c.latency_ns
    prompt = events.host_high_ns + c.latency_ns + c.jitter_ns
    if until is not None:
        prompt = np.maximum(prompt, until)
    extent = int(prompt.max() - ready.min()) if len(events) else 0
    reach = _reach(tree, in_tree, node[0], extent) if len(events) else 0
    return Problem(events, tree, in_tree, node, ready, prompt, reach, c)


def solve(problem: Problem, launch_free: Bools, points: SyncPoints) -> Solution:
    """Return the bounds of all events; their likely times are the earliest ones.

    ``launch_free`` is per segment.
    """
    if not len(problem.events):
        none, empty = np.zeros(0, np.bool_), np.zeros(0, np.int64)
        spans = Spans(empty, empty, 0, ())
        return Solution(Bounds(empty, empty, empty), spans, none, none, none, 0, empty)
    prompt, c = problem.prompt, problem.c
    anchored = launch_free & (problem.spans.segment_low > c.event_high_ns)
    limit = np.where(anchored, prompt, np.int64(ANY))
    promptness = _Promptness(problem, launch_free)
    promptness.limit_idle(limit)
    np.minimum.at(limit, points.event, points.latest)
    low, relaxed, late = _repair(problem, points, limit)
    if late.any():
        # Either stamp may be the wrong one, so that bounds reach both.
        latest = np.where(late, problem.latest_record, NEVER)
        problem = replace(problem, prompt=np.maximum(prompt, latest))
        limit = np.maximum(limit, latest)
        promptness = _Promptness(problem, launch_free)
    wrong = low > limit
    spans, low, high, anchored, unknown = _tighten_bounds(
        problem, promptness.without(wrong), low, limit, anchored, wrong
    )
    excess = low - high
    low, high = np.minimum(low, high), np.maximum(low, high)
    spans = replace(spans, paths=())
    return Solution(
        Bounds(low, high, low), spans, anchored & ~wrong, anchored & wrong, unknown, relaxed,
        excess, reach=problem.reach,
    )  # fmt: skip


def _tighten_bounds(
    problem: Problem, promptness: _Promptness, low: I64, limit: I64, anchored: Bools, wrong: Bools
) -> tuple[Spans, I64, I64, Bools, Bools]:
    """Return spans, bounds, anchors, and the events without a latest time.

    Each round finds segments with a certain backlog: they last no longer than an event costs, which
    tightens the bounds, which shows more of them. ``wrong`` are the limits that ``low`` exceeds.
    """
    tree, prompt, c = problem.tree, problem.prompt, problem.c
    spans = problem.spans
    limit = before_limit = np.where(wrong, np.int64(ANY), limit)
    far = int(low.max() - low.min()) + 10**9
    behind = np.zeros(len(low), np.bool_)
    for turn in range(_ROUNDS):
        before = np.concatenate((low[:1], low[:-1]))
        # A certain backlog: the event before is not done when this one is due.
        launch_free = promptness.launch_free
        certain = launch_free & ~anchored & (before + c.event_low_ns > prompt)
        if turn and (certain == behind).all():
            break
        behind, before_limit = certain, limit
        spans, doubted = problem.tighten(behind)
        promptness = promptness.without(doubted)
        launch_free = promptness.launch_free
        low = constraints.earliest_times(tree, spans, low)
        anchored = anchored | (
            launch_free & (spans.segment_low > c.event_high_ns) & (low <= prompt)
        )
        limit = np.where(anchored & ~wrong, np.minimum(limit, prompt), limit)
    high = np.minimum(int(low.max()) + 2 * far, before_limit)
    high = constraints.latest_times(tree, spans, high)
    for _ in range(2):
        high = constraints.latest_times(tree, spans, promptness.limit(high))
    return spans, low, high, anchored, high > int(low.max()) + far


def _reach(tree: Tree, in_tree: Bools, elapsed_low: I64, extent: int) -> int:
    """Return more than the time between any two bounds, however far the device is behind."""
    outer = ~in_tree
    row = tree.levels[0].step - 2 * len(in_tree)
    outer[row[(row >= 0) & (row < len(in_tree))]] = True
    return 4 * (extent + int(elapsed_low.sum(where=outer)) + 10**9)


def _repair(problem: Problem, points: SyncPoints, limit: I64) -> tuple[I64, int, Bools]:
    """Return the earliest solution, with room for late time stamps if it passes a limit.

    The count is that of the operators whose time stamps are late. Last are the second events that
    pass their limit without that, and may have been recorded late instead.
    """
    events, ready = problem.events, problem.ready.copy()
    np.maximum.at(ready, points.event, points.earliest)
    certain = points.earliest > NEVER
    key: tuple[bytes, ...] = points.event[certain].tobytes(), points.earliest[certain].tobytes()
    late = ready[events.end] + problem.c.jitter_ns
    relaxed, behind = 0, np.zeros(len(events), np.bool_)
    for turn in range(_REPAIRS):
        low, ends = problem.attempts.solve(problem, key, ready, late)
        passed = np.flatnonzero(low > limit)
        if not len(passed):
            break
        if not turn:
            due = events.host_high_ns + problem.c.latency_ns + problem.c.jitter_ns
            behind = events.is_end & (limit == due) & (low > limit) & (low <= problem.latest_record)
        # Its first event is as early as its time stamp allows, and its device time moves all
        # later events.
        at = groupby.distinct_values(latest_not_after(ends, passed))
        row = events.op[ends[at[at >= 0]]]
        if not len(row):
            break
        relaxed += len(row)
        ready[events.start[row]] = problem.floor[row]
        key = *key, row.tobytes()
    return low, relaxed, behind & (low <= limit)


class _Promptness:
    """When launch-free events execute at the latest: after their record or the event before.

    It is built once and asked for several times. The first event is not launch-free.
    """

    def __init__(self, problem: Problem, launch_free: Bools) -> None:
        self._problem = problem
        self.launch_free = launch_free
        # Each follows the ones of its run, which begins with an event that may be late.
        begins = np.flatnonzero(~launch_free)
        size = np.diff(begins, append=len(launch_free)) - 1
        cost = problem.c.event_high_ns
        self._event = np.flatnonzero(launch_free)
        self._begin = np.repeat(begins, size)
        self._cost = (self._event - self._begin) * cost
        prompt = problem.prompt[self._event] - self._event * cost
        self._reach = intervals.running_max(prompt, self._begin) + self._event * cost

    def without(self, wrong: Bools) -> _Promptness:
        """Return the same without some launch-free events."""
        if not (wrong & self.launch_free).any():
            return self
        return _Promptness(self._problem, self.launch_free & ~wrong)

    def limit(self, high: I64) -> I64:
        """Return the latest times ``high``, less what promptness excludes."""
        high = high.copy()
        reach = np.maximum(self._reach, high[self._begin] + self._cost)
        high[self._event] = np.minimum(high[self._event], reach)
        return high

    def limit_idle(self, limit: I64) -> None:
        """Limit the ends of launch-free operators that took longer than their events; in place."""
        events, node = self._problem.events, self._problem.node
        launching = sums_before(~self.launch_free)
        launch_free_ops = launching[events.end + 1] == launching[events.start + 1]
        marked = (events.end - events.start) * self._problem.c.event_high_ns
        end = events.end[launch_free_ops & (node[0] > marked)]
        reach = np.full(len(events), np.int64(ANY))
        reach[self._event] = np.maximum(self._reach, self._problem.prompt[self._begin] + self._cost)
        limit[end] = np.minimum(limit[end], reach[end])


def _apply_outside_tree(events: EventPairs, in_tree: Bools, node: tuple[I64, I64], low: I64) -> I64:
    """Apply the elapsed times of operators outside the tree once to the earliest times."""
    row = np.flatnonzero(~in_tree)
    if not len(row):
        return low
    start, end = events.start[row], events.end[row]
    low = low.copy()
    np.maximum.at(low, end, low[start] + node[0][row])
    np.maximum.at(low, start, low[end] - node[1][row])
    return low
