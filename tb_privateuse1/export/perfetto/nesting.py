"""Ranges of a thread in stacks: within one, no range crosses another.

A viewer closes ranges in the opposite order of their opening; where two cross, that would close
the wrong one. Almost always there is one stack.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I32, I64, Bools

MOST = 16
"""Stacks of a thread; ranges that would need more are left out."""


def stacks(start_ns: I64, end_ns: I64) -> Iterator[I64]:
    """The rows of each stack, in order of start, outer ranges first."""
    rows = intervals.nesting_order(np.zeros(len(start_ns), np.int32), start_ns, end_ns)
    for _ in range(MOST):
        if not len(rows):
            return
        crossing = _crossing(start_ns[rows], end_ns[rows])
        yield rows[~crossing]
        rows = rows[crossing]


def _crossing(start_ns: I64, end_ns: I64) -> Bools:
    """Which ranges, in nesting order, cross one that stays, or lie in one that does."""
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
    this, following = order[:-1], order[1:]
    together = parent[this] == parent[following]
    return bool((together & (start_ns[following] < end_ns[this])).any())
