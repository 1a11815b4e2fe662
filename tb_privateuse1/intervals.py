"""Arithmetic of half-open intervals [start, end) in sorted int64 columns, exact to 1 ns.

A *set* below is a pair (starts, ends) of equally long arrays that is sorted, disjoint and
without empty intervals, as ``union`` returns it.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace import I32, I64, NONE, Bools

Set = tuple[I64, I64]

EMPTY: Set = (np.empty(0, np.int64), np.empty(0, np.int64))


def union(starts: I64, ends: I64) -> Set:
    """The set covered by any of the intervals, which may overlap and be in any order."""
    keep = ends > starts
    order = np.argsort(starts[keep], kind="stable")
    starts, ends = starts[keep][order], ends[keep][order]
    if not len(starts):
        return EMPTY
    reach = np.maximum.accumulate(ends)
    first = np.concatenate(([True], starts[1:] > reach[:-1]))
    last = np.concatenate((first[1:], [True]))
    return starts[first], reach[last]


def merge(a: Set, b: Set) -> Set:
    """What lies in either set."""
    return union(np.concatenate((a[0], b[0])), np.concatenate((a[1], b[1])))


def length(a: Set) -> int:
    """The total length of a set, in its unit."""
    return int((a[1] - a[0]).sum())


def intersect(a: Set, b: Set) -> Set:
    """What lies in both sets."""
    # Each pair that overlaps is found from the interval that starts later.
    i = np.searchsorted(b[1], a[0], side="right")
    j = np.searchsorted(b[0], a[1], side="left")
    counts = np.maximum(j - i, 0)
    left = np.repeat(np.arange(len(a[0])), counts)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    right = np.repeat(i, counts) + offsets
    starts = np.maximum(a[0][left], b[0][right])
    ends = np.minimum(a[1][left], b[1][right])
    return starts, ends


def complement(a: Set, start: int, end: int) -> Set:
    """What of [start, end) the set leaves free."""
    inside = intersect(a, (np.array([start]), np.array([end])))
    starts = np.concatenate(([start], inside[1]))
    ends = np.concatenate((inside[0], [end]))
    keep = ends > starts
    return starts[keep], ends[keep]


def subtract(a: Set, b: Set) -> Set:
    """What of ``a`` is not in ``b``."""
    if not len(a[0]):
        return EMPTY
    return intersect(a, complement(b, int(a[0][0]), int(a[1][-1])))


def covered(a: Set, starts: I64, ends: I64) -> I64:
    """How much of each interval [starts, ends) the set covers; the intervals may overlap."""
    if not len(a[0]):
        return np.zeros(len(starts), np.int64)
    before = np.concatenate(([0], np.cumsum(a[1] - a[0])))

    def below(points: I64) -> I64:
        i = np.searchsorted(a[0], points, side="right") - 1
        inside = np.minimum(points, a[1][np.maximum(i, 0)]) - a[0][np.maximum(i, 0)]
        return np.where(i >= 0, before[np.maximum(i, 0)] + inside, 0)

    return np.where(ends > starts, below(ends) - below(starts), 0)


def nest(group: I32, starts: I64, ends: I64) -> I32:
    """The innermost enclosing range of each range within its group (a thread), or ``NONE``.

    Two ranges that start together nest by length, longer outside; equal ones in the order given.
    Ranges that cross are no parent and child: as in torch's ``EventList``, a range that ends
    later than the innermost open one closes that one. Near-linear; only groups that hold a
    crossing take the slower way of an explicit stack.
    """
    n = len(starts)
    parent = np.full(n, NONE, np.int32)
    if not n:
        return parent
    # Doubled, so that a range of no length can be open for an instant of its own.
    s, e = starts * 2, ends * 2 + (ends <= starts)
    order = np.lexsort((-e, s, group))
    g, s, e = group[order], s[order], e[order]
    depth = _depth(g, s, e)
    # The parent is the last range before that is one level higher: sort by level, look back.
    by_depth = np.lexsort((np.arange(n), depth))
    key = depth[by_depth].astype(np.int64) * n + by_depth
    wanted = (depth.astype(np.int64) - 1) * n + np.arange(n)
    at = np.searchsorted(key, wanted) - 1
    found = np.where(depth > 0, by_depth[np.maximum(at, 0)], NONE)
    inner = found >= 0
    up = np.maximum(found, 0)
    wrong = inner & ((g[up] != g) | (e > e[up]) | (depth[up] != depth - 1))
    for crossed in np.unique(g[wrong]):
        rows = np.flatnonzero(g == crossed)
        found[rows] = _nest_by_stack(rows, s, e)
    parent[order] = np.where(found >= 0, order[np.maximum(found, 0)], NONE)
    return parent


def _depth(group: I32, starts: I64, ends: I64) -> I32:
    """How many earlier ranges of the group are still open at each start; sorted input."""
    n = len(starts)
    # Ends up to a start have closed: count them within the group by one merged sort.
    closing = np.lexsort((ends, group))
    points = np.lexsort(
        (
            np.concatenate((np.zeros(n, np.int8), np.ones(n, np.int8))),
            np.concatenate((ends[closing], starts)),
            np.concatenate((group[closing], group)),
        )
    )
    is_start = points >= n
    closed_before = np.cumsum(~is_start)[is_start]
    row = points[is_start] - n
    closed = np.empty(n, np.int64)
    closed[row] = closed_before
    # Both counts run over all groups before: those cancel, as all that opened there has closed.
    return (np.arange(n) - closed).astype(np.int32)


def _nest_by_stack(rows: I64, starts: I64, ends: I64) -> I64:
    parents = np.full(len(rows), NONE, np.int64)
    stack: list[int] = []
    for k, row in enumerate(rows.tolist()):
        while stack and (starts[row] >= ends[stack[-1]] or ends[row] > ends[stack[-1]]):
            stack.pop()
        if stack:
            parents[k] = stack[-1]
        stack.append(row)
    return parents


def nearest(parent: I32, wanted: Bools) -> I32:
    """The nearest ancestor of each row that is wanted, or ``NONE``; O(n log depth)."""
    n = len(parent)
    # One more row, its own target, stands for ``NONE``: index -1 reads it.
    jump = np.append(np.where(wanted, np.arange(n), parent), NONE).astype(np.int64)
    jump[-1] = n
    jump[jump == NONE] = n
    while not np.array_equal(further := jump[jump], jump):
        jump = further
    found = jump[parent]
    return np.where(found == n, NONE, found).astype(np.int32)


def depths(parent: I32) -> I32:
    """How many ancestors each row has; O(n log depth)."""
    n = len(parent)
    up = np.append(np.where(parent == NONE, n, parent), n).astype(np.int64)
    count = (up != n).astype(np.int32)
    while (up != n).any():
        count = count + count[up]
        up = up[up]
    ancestors: I32 = count[:n]
    return ancestors


def innermost(group: I32, starts: I64, ends: I64, at_group: I32, at: I64) -> I32:
    """The innermost range of the same group that holds each instant, or ``NONE``."""
    n = len(starts)
    both = nest(
        np.concatenate((group, at_group)),
        np.concatenate((starts, at)),
        np.concatenate((ends, at)),
    )
    # Instants at the same time nest in each other: only real ranges count.
    return nearest(both, np.arange(len(both)) < n)[n:]
