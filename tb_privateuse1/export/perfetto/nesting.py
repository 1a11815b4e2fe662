"""Split of a thread's ranges into stacks without crossing ranges.

A viewer closes ranges in the reverse order of their opening. If two ranges cross, it closes the
wrong one. Almost every thread needs one stack only.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I32, I64, Bools

MOST = 16
"""The most stacks of a thread; ranges that need more are left out."""


def stacks(start_ns: I64, end_ns: I64) -> Iterator[I64]:
    """Yield the rows of each stack, in order of start, outer ranges first."""
    rows = intervals.nesting_order(np.zeros(len(start_ns), np.int32), start_ns, end_ns)
    for _ in range(MOST):
        if not len(rows):
            return
        crossing = _crossing(start_ns[rows], end_ns[rows])
        yield rows[~crossing]
        rows = rows[crossing]


def _crossing(start_ns: I64, end_ns: I64) -> Bools:
    """Return the ranges to move on: they cross a staying range, or lie inside a moved one.

    Ranges are in nesting order.
    """
    n = len(start_ns)
    parent = intervals.nest_ordered(np.zeros(n, np.int32), start_ns, end_ns)
    crossing = np.zeros(n, np.bool_)
    if not _any_cross(parent, start_ns, end_ns):
        return crossing
    depth = intervals.depths(parent)
    order = np.argsort(depth, kind="stable")
    edges = np.searchsorted(depth[order], np.arange(int(depth.max()) + 2))
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        level = order[first:last]
        if first:
            crossing[level] = crossing[parent[level]]
        level = level[~crossing[level]]
        crossing[level] = intervals.overlapping(start_ns[level], end_ns[level])
    return crossing


def _any_cross(parent: I32, start_ns: I64, end_ns: I64) -> bool:
    order = np.argsort(parent, kind="stable")
    current, following = order[:-1], order[1:]
    are_siblings = parent[current] == parent[following]
    return bool((are_siblings & (start_ns[following] < end_ns[current])).any())
