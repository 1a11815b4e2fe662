"""How far the likely time of a mark may be off, if roundings are independent of each other.

The bounds on a chain of spans add up what each span may be off at worst, and so does no sum of
roundings: those of k spans add up to about the root of k. Here each span has a variance, that of
a uniform distribution between its limits, and each mark the least sum of variances on the way to
a mark whose time is known. The way runs through the tree of nodes, as a node's own elapsed time
is known better than the sum of its parts.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.inference.device_timeline.constraints import Level, Spans, Tree
from tb_privateuse1.trace.table import I64

_UNIT_NS = 10
"""Variances are counted in squares of this, so that sums of millions stay exact integers."""

_FAR_NS = 200_000
"""A standard deviation that is as good as not knowing."""

_FAR = (_FAR_NS // _UNIT_NS) ** 2

_HALVES = 2
"""The middle of a node is reached from either side: half of its variance is on each."""

_DEVIATIONS = 4
"""So many standard deviations are stated: what is left out is less than the model's own error."""


def rounding_deviation(tree: Tree, known: Spans, elapsed: I64, width: I64) -> I64:
    """A largest distance in ns of each mark from its likely time, in all likelihood.

    ``elapsed`` is the likely time of each node by itself, ``width`` the distance that certainly
    holds of each mark. Nothing is gained for a mark that is far from all that are known well.
    """
    cost = _variance(known.high - known.low)
    likely = (known.low + known.high) // 2
    segments = known.segments
    likely[segments:-1] = elapsed
    cost[-1] = likely[-1] = 0
    for level in reversed(tree.levels):
        if level.is_root:
            continue
        node = level.node + segments
        parts = np.add.reduceat(cost[level.step], level.first)
        cost[node] = np.minimum(cost[node], parts)
        # Parts that miss their whole by more than roundings do hide something, anywhere in it.
        short = np.minimum(
            np.abs(likely[node] - np.add.reduceat(likely[level.step], level.first)), _FAR_NS
        )
        hidden = (short // _UNIT_NS) ** 2 * _HALVES // _DEVIATIONS**2
        more = np.maximum(hidden - parts, 0) // level.size
        cost[level.step] += np.repeat(more, level.size)
        cost[-1] = 0
    cost[-1] = _FAR  # from one node to the next nothing is known but the order
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
    """Of what lies anywhere in a span of ns, in units."""
    near = np.minimum(span, 4 * _FAR_NS) // _UNIT_NS
    result: I64 = np.minimum(near * near // 12, _FAR)
    return result


def _shortcut(at: I64, level: Level, cost: I64) -> None:
    """From a node's one mark to its other. Changes ``at``."""
    first, last = level.point[level.first], level.point[level.last]
    at[last] = np.minimum(at[last], at[first] + cost)
    at[first] = np.minimum(at[first], at[last] + cost)


def _spread(at: I64, path: I64) -> I64:
    """The least of each point's own and any other's with the way between them."""
    ahead = path + np.minimum.accumulate(at - path)
    behind = np.minimum.accumulate((at + path)[::-1])[::-1] - path
    result: I64 = np.minimum(np.minimum(ahead, behind), _FAR)
    return result
