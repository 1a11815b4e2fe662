"""Estimate how far the rounding of elapsed times moves inferred event times.

Certain bounds on a chain add the worst error of each span. Independent rounding errors of k spans
only add up to about the root of k. So each span gets the variance of a uniform distribution
between its limits, and each event the least sum of variances on a path to an event of known time.
Its likely time is that event's and the likely times along the same path. Paths run through the tree
of nodes, as a node's own elapsed time is more exact than the sum of its parts. What all spans of a
path have in common, such as the error of an event's cost, adds up.

Between two events of known time there are two such paths, one from either side. What they differ by
is shared along the way by the variances (a Brownian bridge, if all spans were alike).
"""

from __future__ import annotations

from typing import Self

import numpy as np
from msgspec import Struct

from tb_privateuse1.inference.device_timeline import constraints
from tb_privateuse1.inference.device_timeline.constraints import Spans, Tree, TreeLevel
from tb_privateuse1.inference.device_timeline.phase_results import StreamInput
from tb_privateuse1.inference.device_timeline.solver import Solution
from tb_privateuse1.inference.device_timeline.timeline_inputs import Bounds, Calibration
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import F64, I64, Bools

_UNIT_NS = 10
"""The unit of variances is the square of this, so that sums of millions stay exact integers."""

_FAR_NS = 200_000
"""A standard deviation of this or more counts as unknown."""

_FAR = (_FAR_NS // _UNIT_NS) ** 2

_HALVES = 2
"""A path reaches the middle of a node from either side, with half of its variance."""

_APART_NS = 3_000
"""How far an estimate leaves its path for the sake of its neighbors: these may be wrong."""

_ROUNDED, _DRIFT = 4, 1_000
"""How many resolutions roundings leave open at most, and clocks that drift one part in how many."""

_DEVIATIONS = 4
"""Standard deviations in a bound: the rest is less likely than an error of the model."""


def narrow_bounds(
    stream: StreamInput, solution: Solution, certain: Bounds, likely: I64, c: Calibration
) -> Bounds:
    """Return the certain bounds, less what independent roundings leave out, and the estimates.

    ``likely`` is each event's likely time where no path leads to it.
    """
    elapsed_ns = stream.ops.elapsed_ns
    width = np.maximum(likely - certain.low, certain.high - likely)
    elapsed = np.where(elapsed_ns == MISSING, 0, elapsed_ns + c.cut_ns)
    # Where the solution takes a segment for that of an event, its cost is the same everywhere.
    short = solution.spans.segment_high <= c.event_high_ns
    doubt = np.where(short, c.event_doubt_ns, 0)
    likely, near = follow_nearest(
        stream.tree, solution.spans, solution.mean, elapsed, likely, width, doubt,
        _repeats(stream, solution), c.resolution_ns,
    )  # fmt: skip
    # Neighbors on different paths may be too close or too far apart: the nearest times that fit.
    later = constraints.earliest_times(stream.tree, solution.spans, likely)
    fitting = (later + constraints.latest_times(stream.tree, solution.spans, likely)) // 2
    moved = np.clip(fitting - likely, -_APART_NS, _APART_NS)
    likely = np.clip(likely + moved, certain.low, certain.high)
    near = near + np.abs(moved) + c.jitter_ns // 2
    return Bounds(
        np.maximum(certain.low, likely - near), np.minimum(certain.high, likely + near), likely
    )


def _repeats(stream: StreamInput, solution: Solution) -> I64:
    """Return how often each operator comes with the same elapsed time from anchor to anchor.

    Equal work that takes equally long loses the same fraction to rounding each time. Work that
    scatters does not: then it is 1.
    """
    elapsed = stream.ops.elapsed_ns
    section = np.cumsum(solution.anchors)[stream.events.start]
    pair = stream.keys * (int(section.max(initial=0)) + 1) + section
    _, group, count = np.unique(pair, return_inverse=True, return_counts=True)
    least, most = np.full(len(count), MISSING), np.full(len(count), MISSING)
    order = np.argsort(group, kind="stable")
    first = np.cumsum(count) - count
    if len(order):
        least = np.minimum.reduceat(elapsed[order], first)
        most = np.maximum.reduceat(elapsed[order], first)
    result: I64 = np.where(least == most, count, 1)[group]
    return result


def follow_nearest(
    tree: Tree,
    spans: Spans,
    mean: I64,
    elapsed: I64,
    likely: I64,
    width: I64,
    doubt: I64,
    repeats: I64,
    resolution_ns: int,
) -> tuple[I64, I64]:
    """Return each event's likely time by its best path, and a bound on its error, in ns.

    ``mean`` is the likely time of each row of ``spans``, ``elapsed`` that of each node by itself.
    ``likely`` and ``width`` are the middle of each event's certain bounds and their reach from it.
    ``doubt`` is the error of each segment's likely time that all have in common, ``repeats`` the
    number of nodes with the same rounding. An event far from all well-known ones keeps its bounds.
    The bound holds with high probability.
    """
    mean = np.clip(mean, spans.low, spans.high)
    at = np.arange(len(likely))
    own = _variance(2 * width)
    start = _State(own.copy(), likely.copy(), np.zeros(len(likely), np.int64), at.copy())
    steps = _steps(tree, spans, mean, *_step_errors(tree, spans, elapsed, doubt, repeats))
    nearest = start.follow(steps)
    # The middle of a span with unknown idle time or work is a guess: no mean of two paths has it.
    tight = spans.high - spans.low <= _ROUNDED * resolution_ns + mean // _DRIFT
    steps = _steps(tree, spans, mean, *_step_errors(tree, spans, elapsed, doubt, repeats, tight))
    before = nearest.only(nearest.source <= at).follow(steps, backwards=False)
    after = nearest.only(nearest.source >= at).follow(steps, forwards=False)
    time, error = _combine(nearest, before, after, own, _shares(steps, before, after))
    near = (nearest.variance < _FAR) & (error < width)
    return np.where(near, time, likely), np.where(near, error, width)


def _steps(tree: Tree, spans: Spans, mean: I64, cost: I64, common: I64) -> list[_Steps]:
    """Return the steps of each level."""
    tables = cost, mean, common
    return [
        _Steps(
            level,
            *(np.cumsum(table[level.step]) for table in tables),
            *(table[level.node + spans.segments] for table in tables),
        )
        for level in tree.levels
    ]


def _shares(steps: list[_Steps], before: _State, after: _State) -> F64:
    """Return how far each event follows the path from a later event: 0 not at all, 1 alone.

    By the variances of both paths; but between the two events of a node that holds no start of
    either, from the share of the one to that of the other: the likely times of the node's parts fit
    its own, so that they only move with its events.
    """
    early, late = before.variance.astype(np.float64), after.variance.astype(np.float64)
    share = early / np.maximum(early + late, 1.0)
    for one in steps:
        level, cost = one.level, one.cost.astype(np.float64)
        if level.is_root:
            continue
        first, last = level.point[level.first], level.point[level.last]
        begin, end = np.repeat(first, level.size), np.repeat(last, level.size)
        through = before.source[begin] == before.source[level.point]
        through &= after.source[end] == after.source[level.point]
        through &= (before.source[end] == before.source[begin]) & (begin != level.point)
        through &= (after.source[end] == after.source[begin]) & (end != level.point)
        done = cost - np.repeat(cost[level.first], level.size)
        done /= np.repeat(np.maximum(cost[level.last] - cost[level.first], 1.0), level.size)
        inside = share[begin] + done * (share[end] - share[begin])
        share[level.point] = np.where(through, inside, share[level.point])
    return share


def _combine(
    nearest: _State, before: _State, after: _State, own: I64, share: F64
) -> tuple[I64, I64]:
    """Return times and errors by the paths from both sides, where these begin at two events.

    ``share`` is that of the later one. The errors of the paths' spans are independent; those
    of the two events (``own``) may be one. What all spans have in common has opposite signs on the
    two and cancels. If the paths differ by more than both may be off, their spans hold something
    else: the error grows by the same amount.
    """
    early, late = before.error(), after.error()
    apart = after.time - before.time
    time = before.time + np.rint(share * apart).astype(np.int64)
    first, last = own[before.source], own[after.source]
    variance = (1 - share) ** 2 * (before.variance - first) + share**2 * (after.variance - last)
    variance += ((1 - share) * np.sqrt(first) + share * np.sqrt(last)) ** 2
    error = np.sqrt(variance) * (_UNIT_NS * _DEVIATIONS)
    error += np.abs((1 - share) * before.common + share * after.common)
    error = np.minimum(error, nearest.error() + np.abs(time - nearest.time))
    error += np.maximum(np.abs(apart) - early - late, 0)
    two = (before.source != after.source) & (before.variance < _FAR) & (after.variance < _FAR)
    return (
        np.where(two, time, nearest.time),
        np.where(two, error.astype(np.int64), nearest.error()),
    )


def _step_errors(
    tree: Tree,
    spans: Spans,
    elapsed: I64,
    doubt: I64,
    repeats: I64,
    usable: Bools | None = None,
) -> tuple[I64, I64]:
    """Return the variance of each row of ``spans``, in units, and the common error, in ns.

    Rows that are not ``usable`` count as unknown (default: all are).
    """
    cost = _variance(spans.high - spans.low)
    cost = cost if usable is None else np.where(usable, cost, _FAR)
    common = np.zeros(len(cost), np.int64)
    common[: spans.segments] = doubt
    cost[spans.segments : -1] = np.minimum(cost[spans.segments : -1] * repeats, _FAR)
    likely = (spans.low + spans.high) // 2
    segments = spans.segments
    likely[segments:-1] = elapsed
    cost[-1] = likely[-1] = 0
    for level in reversed(tree.levels):
        if level.is_root:
            continue
        node = level.node + segments
        parts = np.add.reduceat(cost[level.step], level.first)
        by_parts = parts < cost[node]
        cost[node] = np.minimum(cost[node], parts)
        common[node] = np.where(by_parts, np.add.reduceat(common[level.step], level.first), 0)
        # If parts miss their whole by more than rounding, hidden time is anywhere among them.
        short = np.minimum(
            np.abs(likely[node] - np.add.reduceat(likely[level.step], level.first)), _FAR_NS
        )
        hidden = (short // _UNIT_NS) ** 2 * _HALVES // _DEVIATIONS**2
        more = np.maximum(hidden - parts, 0) // level.size
        cost[level.step] += np.repeat(more, level.size)
        cost[-1] = 0
    cost[-1] = _FAR  # between nodes, only the order is known
    return cost, common


class _Steps(Struct, frozen=True):
    """The steps of a level: sums of variance, mean and common error along it, and of its nodes."""

    level: TreeLevel
    cost: I64
    mean: I64
    common: I64
    node_cost: I64
    node_mean: I64
    node_common: I64


class _State(Struct, frozen=True):
    """The variance of each event's time, in units, that time, and its error that is common to all.

    All are by the best path so far. The common error has a sign: it is of the time from the start
    of the path, the event ``source``.
    """

    variance: I64
    time: I64
    common: I64
    source: I64

    def error(self) -> I64:
        """Return a bound on the error of each time, in ns; it holds with high probability."""
        error = (np.sqrt(self.variance) * (_UNIT_NS * _DEVIATIONS)).astype(np.int64)
        return error + np.abs(self.common)

    def only(self, known: Bools) -> Self:
        """Return a copy that knows the times of some events only."""
        columns = self.time.copy(), self.common.copy(), self.source.copy()
        return type(self)(np.where(known, self.variance, _FAR), *columns)

    def follow(self, steps: list[_Steps], *, forwards: bool = True, backwards: bool = True) -> Self:
        """Lead the paths through the tree in some directions, up and down; in place."""
        for one in steps[:0:-1]:
            self._spread(one, forwards, backwards)
            self._shortcut(one, forwards, backwards)
        for one in steps:
            if not one.level.is_root:
                self._shortcut(one, forwards, backwards)
            self._spread(one, forwards, backwards)
        return self

    def _shortcut(self, steps: _Steps, forwards: bool, backwards: bool) -> None:
        """Lead the paths through the nodes of a level, from one of its events to the other."""
        level = steps.level
        first, last = level.point[level.first], level.point[level.last]
        ways = ((last, first, 1),) * forwards + ((first, last, -1),) * backwards
        for here, there, sign in ways:
            by = self.variance[there] + steps.node_cost
            better = by < self.variance[here]
            self.variance[here] = np.where(better, by, self.variance[here])
            self.source[here] = np.where(better, self.source[there], self.source[here])
            for value, way in ((self.time, steps.node_mean), (self.common, steps.node_common)):
                value[here] = np.where(better, value[there] + sign * way, value[here])

    def _spread(self, steps: _Steps, forwards: bool, backwards: bool) -> None:
        """Lead the paths along a level; all but the variances are sums along it."""
        level, path = steps.level, steps.cost
        at = self.variance[level.point]
        if forwards:
            origin = _least(at - path)
            best = path + (at - path)[origin]
        if backwards:
            behind = len(at) - 1 - _least((at + path)[::-1])[::-1]
            back = (at + path)[behind] - path
            if forwards:
                origin = np.where(best <= back, origin, behind)
                best = np.minimum(best, back)
            else:
                origin, best = behind, back
        self.variance[level.point] = np.minimum(best, _FAR)
        self.source[level.point] = self.source[level.point[origin]]
        for value, way in ((self.time, steps.mean), (self.common, steps.common)):
            value[level.point] = value[level.point[origin]] + way - way[origin]


def _least(value: I64) -> I64:
    """Return per position that of the least value up to there, the first one of equal ones."""
    least = np.minimum.accumulate(value)
    new = np.concatenate(([True], least[1:] < least[:-1]))
    return np.maximum.accumulate(np.where(new, np.arange(len(value)), 0))


def _variance(span: I64) -> I64:
    """Return the variance of a uniform distribution over a span in ns, in units."""
    near = np.minimum(span, 4 * _FAR_NS) // _UNIT_NS
    result: I64 = np.minimum(near * near // 12, _FAR)
    return result
