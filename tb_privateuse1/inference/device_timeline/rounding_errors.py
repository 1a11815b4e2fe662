"""Estimate the error of likely event times from independent rounding errors.

Certain bounds on a chain add the worst error of each span. Independent rounding errors of k spans
only add up to about the root of k. So each span gets the variance of a uniform distribution
between its limits, and each event the least sum of variances on a path to an event of known time.
Paths run through the tree of nodes, as a node's own elapsed time is more exact than the sum of its
parts.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.inference.device_timeline.constraints import Level, Spans, Tree
from tb_privateuse1.trace.table import I64

_UNIT_NS = 10
"""The unit of variances is the square of this, so that sums of millions stay exact integers."""

_FAR_NS = 200_000
"""A standard deviation of this or more counts as unknown."""

_FAR = (_FAR_NS // _UNIT_NS) ** 2

_HALVES = 2
"""A path reaches the middle of a node from either side, with half of its variance."""

_DEVIATIONS = 4
"""Standard deviations in a bound: the rest is less likely than an error of the model."""


def rounding_deviation(tree: Tree, spans: Spans, elapsed: I64, width: I64) -> I64:
    """Return a bound in ns on the error of each event's likely time, with high probability.

    ``elapsed`` is the likely time of each node by itself, ``width`` the certain bound of each
    event. An event far from all well-known ones keeps ``width``.
    """
    cost = _variance(spans.high - spans.low)
    likely = (spans.low + spans.high) // 2
    segments = spans.segments
    likely[segments:-1] = elapsed
    cost[-1] = likely[-1] = 0
    for level in reversed(tree.levels):
        if level.is_root:
            continue
        node = level.node + segments
        parts = np.add.reduceat(cost[level.step], level.first)
        cost[node] = np.minimum(cost[node], parts)
        # If parts miss their whole by more than rounding, hidden time is anywhere among them.
        short = np.minimum(
            np.abs(likely[node] - np.add.reduceat(likely[level.step], level.first)), _FAR_NS
        )
        hidden = (short // _UNIT_NS) ** 2 * _HALVES // _DEVIATIONS**2
        more = np.maximum(hidden - parts, 0) // level.size
        cost[level.step] += np.repeat(more, level.size)
        cost[-1] = 0
    cost[-1] = _FAR  # between nodes, only the order is known
    at = _variance(2 * width)
    both = [(level, np.cumsum(cost[level.step])) for level in tree.levels]
    for level, path in both[:0:-1]:
        at[level.point] = _spread(at[level.point], path)
        _shortcut(at, level, cost[level.node + segments])
    for level, path in both:
        if not level.is_root:
            _shortcut(at, level, cost[level.node + segments])
        at[level.point] = _spread(at[level.point], path)
    likely = (np.sqrt(at) * (_UNIT_NS * _DEVIATIONS)).astype(np.int64)
    result: I64 = np.where(at < _FAR, np.minimum(likely, width), width)
    return result


def _variance(span: I64) -> I64:
    """Return the variance of a uniform distribution over a span in ns, in units."""
    near = np.minimum(span, 4 * _FAR_NS) // _UNIT_NS
    result: I64 = np.minimum(near * near // 12, _FAR)
    return result


def _shortcut(at: I64, level: Level, cost: I64) -> None:
    """Lower the variance of a node's events by the path between them; changes ``at``."""
    first, last = level.point[level.first], level.point[level.last]
    at[last] = np.minimum(at[last], at[first] + cost)
    at[first] = np.minimum(at[first], at[last] + cost)


def _spread(at: I64, path: I64) -> I64:
    """Return the least of each point's variance and any other's plus the path between them."""
    ahead = path + np.minimum.accumulate(at - path)
    behind = np.minimum.accumulate((at + path)[::-1])[::-1] - path
    result: I64 = np.minimum(np.minimum(ahead, behind), _FAR)
    return result
