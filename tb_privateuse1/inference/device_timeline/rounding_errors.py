"""Estimate the error of likely event times from independent rounding errors.

Certain bounds on a chain add the worst error of each span. Independent rounding errors of k spans
only add up to about the root of k. So each span gets the variance of a uniform distribution
between its limits, and each event the least sum of variances on a path to an event of known time.
Its likely time is that event's and the likely times along the same path. Paths run through the tree
of nodes, as a node's own elapsed time is more exact than the sum of its parts. What all spans of a
path have in common, such as the error of an event's cost, adds up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_privateuse1.inference.device_timeline import constraints
from tb_privateuse1.inference.device_timeline.base import Bounds, Calibration
from tb_privateuse1.inference.device_timeline.constraints import Level, Spans, Tree
from tb_privateuse1.inference.device_timeline.phase_results import StreamInput
from tb_privateuse1.inference.device_timeline.solver import Solution
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import I64

_UNIT_NS = 10
"""The unit of variances is the square of this, so that sums of millions stay exact integers."""

_FAR_NS = 200_000
"""A standard deviation of this or more counts as unknown."""

_FAR = (_FAR_NS // _UNIT_NS) ** 2

_HALVES = 2
"""A path reaches the middle of a node from either side, with half of its variance."""

_APART_NS = 3_000
"""How far an estimate leaves its path for the sake of its neighbors: these may be wrong."""

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
        _repeats(stream, solution),
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
    stretch = np.cumsum(solution.anchors)[stream.events.start]
    pair = stream.keys * (int(stretch.max(initial=0)) + 1) + stretch
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
) -> tuple[I64, I64]:
    """Return each event's likely time by its best path, and a bound on its error, in ns.

    ``mean`` is the likely time of each row of ``spans``, ``elapsed`` that of each node by itself.
    ``likely`` and ``width`` are the middle of each event's certain bounds and their reach from it.
    ``doubt`` is the error of each segment's likely time that all have in common, ``repeats`` the
    number of nodes with the same rounding. An event far from all well-known ones keeps its bounds.
    The bound holds with high probability.
    """
    cost, common = _step_errors(tree, spans, elapsed, doubt, repeats)
    mean = np.clip(mean, spans.low, spans.high)
    state = _State(_variance(2 * width), likely.copy(), np.zeros(len(likely), np.int64))
    tables = cost, mean, common
    both = [(level, [np.cumsum(table[level.step]) for table in tables]) for level in tree.levels]
    for level, sums in both[:0:-1]:
        state.spread(level, *sums)
        state.shortcut(level, *(table[level.node + spans.segments] for table in tables))
    for level, sums in both:
        if not level.is_root:
            state.shortcut(level, *(table[level.node + spans.segments] for table in tables))
        state.spread(level, *sums)
    error = (np.sqrt(state.variance) * (_UNIT_NS * _DEVIATIONS)).astype(np.int64)
    error += np.abs(state.common)
    near = (state.variance < _FAR) & (error < width)
    return np.where(near, state.time, likely), np.where(near, error, width)


def _step_errors(
    tree: Tree, spans: Spans, elapsed: I64, doubt: I64, repeats: I64
) -> tuple[I64, I64]:
    """Return the variance of each row of ``spans``, in units, and the common error, in ns."""
    cost = _variance(spans.high - spans.low)
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


@dataclass(frozen=True)
class _State:
    """The variance of each event's time, in units, that time, and its error that is common to all.

    All are by the best path so far. The common error has a sign: it is of the time from the start
    of the path.
    """

    variance: I64
    time: I64
    common: I64

    def shortcut(self, level: Level, cost: I64, mean: I64, common: I64) -> None:
        """Lead the paths through the nodes of a level, from one of its events to the other."""
        first, last = level.point[level.first], level.point[level.last]
        for here, there, sign in ((last, first, 1), (first, last, -1)):
            by = self.variance[there] + cost
            better = by < self.variance[here]
            self.variance[here] = np.where(better, by, self.variance[here])
            for value, way in ((self.time, mean), (self.common, common)):
                value[here] = np.where(better, value[there] + sign * way, value[here])

    def spread(self, level: Level, path: I64, mean: I64, common: I64) -> None:
        """Lead the paths along a level, forwards and backwards; all are sums along it."""
        at = self.variance[level.point]
        ahead = _least(at - path)
        behind = len(at) - 1 - _least((at + path)[::-1])[::-1]
        forwards = path + (at - path)[ahead]
        backwards = (at + path)[behind] - path
        source = np.where(forwards <= backwards, ahead, behind)
        self.variance[level.point] = np.minimum(np.minimum(forwards, backwards), _FAR)
        for value, way in ((self.time, mean), (self.common, common)):
            value[level.point] = value[level.point[source]] + way - way[source]


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
