"""Arithmetic of half-open intervals [start, end) in sorted int64 columns, exact to 1 ns.

A *set* below is a pair (starts, ends) of equally long arrays that is sorted, disjoint and
without empty intervals, as ``union`` returns it. ``Lanes`` put the instants of many threads on one
axis, so that one search serves all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace.columns import latest_not_after, range_rows, sums_before
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import HALF_INT64, I32, I64, Bools

Set = tuple[I64, I64]

EMPTY: Set = (np.empty(0, np.int64), np.empty(0, np.int64))

_MAX_ROUNDS = 2000
_MAX_LOOKS = 16
_SPARSE = 32
_FEW = 8
"""Parts in order that are computed one by one: of more, a call each takes longer."""


def union(starts: I64, ends: I64) -> Set:
    """Return the set that the intervals cover; they may overlap and be in any order."""
    keep = ends > starts
    if not keep.all():
        starts, ends = starts[keep], ends[keep]
    if not len(starts):
        return EMPTY
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    reach = np.maximum.accumulate(ends)
    first = np.concatenate(([True], starts[1:] > reach[:-1]))
    last = np.concatenate((first[1:], [True]))
    return starts[first], reach[last]


def union_of_points(points: I64) -> Set:
    """Return the set that 1 ns behind each point covers; they may be equal and in any order."""
    if not len(points):
        return EMPTY
    # Several times as fast as the order of intervals; a few columns in order are merged.
    at = np.sort(points, kind="stable")
    first = np.concatenate(([True], at[1:] - at[:-1] > 1))
    last = np.concatenate((first[1:], [True]))
    return at[first], at[last] + 1


def merge(a: Set, b: Set) -> Set:
    """Return the union of two sets."""
    return union(np.concatenate((a[0], b[0])), np.concatenate((a[1], b[1])))


def length(a: Set) -> int:
    """Return the total length of a set, in its unit."""
    return int((a[1] - a[0]).sum())


def intersect(a: Set, b: Set) -> Set:
    """Return the intersection of two sets."""
    left, right = overlaps(a, b)
    return np.maximum(a[0][left], b[0][right]), np.minimum(a[1][left], b[1][right])


def overlaps(a: Set, b: Set) -> tuple[I64, I64]:
    """Return the places in ``a`` and in ``b`` of all pairs that overlap, in order of time."""
    if len(a[0]) > len(b[0]):  # the searches take a logarithm of the longer one
        right, left = overlaps(b, a)
        return left, right
    i = np.searchsorted(b[1], a[0], side="right")
    j = np.searchsorted(b[0], a[1], side="left")
    counts = np.maximum(j - i, 0)
    return range_rows(i, counts)


def complement(a: Set, start: int, end: int) -> Set:
    """Return the part of [start, end) outside of a set."""
    first = int(np.searchsorted(a[1], start, side="right"))
    last = max(int(np.searchsorted(a[0], end, side="left")), first)
    starts = np.concatenate(([start], np.minimum(a[1][first:last], end)))
    ends = np.concatenate((np.maximum(a[0][first:last], start), [end]))
    keep = ends > starts
    return starts[keep], ends[keep]


def subtract(a: Set, b: Set) -> Set:
    """Return the part of ``a`` outside of ``b``."""
    if not len(a[0]):
        return EMPTY
    return intersect(a, complement(b, int(a[0][0]), int(a[1][-1])))


def covered_length(a: Set, starts: I64, ends: I64) -> I64:
    """Return the covered length of each interval [starts, ends); the intervals may overlap."""
    if not len(a[0]):
        return np.zeros(len(starts), np.int64)
    before = sums_before(a[1] - a[0])

    def below(points: I64) -> I64:
        i = latest_not_after(a[0], points)
        inside = np.minimum(points, a[1][np.maximum(i, 0)]) - a[0][np.maximum(i, 0)]
        return np.where(i >= 0, before[np.maximum(i, 0)] + inside, 0)

    return np.where(ends > starts, below(ends) - below(starts), 0)


def nesting_order(group: I32, starts: I64, ends: I64) -> I64:
    """Return the order by group, start and length, longer ones first; the sort is stable."""
    if not len(starts):
        return np.empty(0, np.int64)
    first = starts.min()
    span = int(starts.max()) - int(first) + 1
    if (int(group.max()) + 1) * span >= HALF_INT64 or int(group.min()) < 0:
        return np.lexsort((-ends, starts, group))
    # Files have events almost in order, which one stable sort uses. lexsort would need three.
    key = (starts - first) + group * np.int64(span)
    order = np.argsort(key, kind="stable")
    key = key[order]
    same = key[1:] == key[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if len(tied):
        rows = order[tied]
        order[tied] = rows[np.lexsort((-ends[rows], key[tied]))]
    return order


def nest(group: I32, starts: I64, ends: I64) -> I32:
    """Return the innermost enclosing range of each range in its group (a thread), or ``NONE``.

    Two ranges with the same start nest by length, longer outside; equal ones in the order given.
    Ranges that cross are not nested: as in torch's ``EventList``, a range that ends later than
    the innermost open one closes it.
    """
    order = nesting_order(group, starts, ends)
    parent = np.full(len(order), NONE, np.int32)
    up = nest_ordered(group[order], starts[order], ends[order])
    parent[order] = np.where(up >= 0, order[up], NONE)
    return parent


def nest_ordered(group: I32, starts: I64, ends: I64) -> I32:
    """Return ``nest`` of ranges that are in ``nesting_order``.

    A range's parent is the nearest range before it that ends no earlier. All rows advance in
    parallel (pointer jumping), so that a skipped candidate is never revisited.
    """
    n = len(ends)
    # The last instant in each: an empty range is open for an instant of its own.
    # One more row, the parent of ranges without one, ends after all.
    last = np.full(n + 1, np.iinfo(np.int64).max)
    np.subtract(ends, ends > starts, out=last[:n])
    up = np.arange(-1, n)
    follows = group[1:] == group[:-1]
    up[1:n][~follows] = n
    up[0] = up[n] = n
    rows = np.flatnonzero((last[:-2] < last[1:-1]) & follows) + 1
    rounds = looks = 0
    while len(rows) and rounds < _MAX_ROUNDS and looks < _MAX_LOOKS * n:
        further = up[up[rows]]
        up[rows] = further
        rows = rows[last[further] < last[rows]]
        rounds += 1
        looks += len(rows)
    if len(rows):
        _nest_in_turn(rows, up, last)
    return np.where(up[:n] == n, NONE, up[:n]).astype(np.int32)


def _nest_in_turn(rows: I64, up: I64, last: I64) -> None:
    """Finish row by row: linear even where many ranges each close many others."""
    up[rows] = rows - 1
    ups, ends = up.tolist(), last.tolist()
    for row in rows.tolist():
        while ends[ups[row]] < ends[row]:
            ups[row] = ups[ups[row]]
    up[:] = ups


def nearest(parent: I32, wanted: Bools) -> I32:
    """Return the nearest wanted ancestor of each row, or ``NONE``; O(n log depth)."""
    n = len(parent)
    if not wanted.any():
        return np.full(n, NONE, np.int32)
    # The last entry, which index ``NONE`` reads, stands for it: its own ancestor, and wanted.
    up, is_last = np.full(n + 1, NONE, np.int32), np.ones(n + 1, np.bool_)
    up[:n], is_last[:n] = parent, wanted
    rows = np.flatnonzero(~is_last[up])
    while len(rows):
        further = up[up[rows]]
        up[rows] = further
        rows = rows[~is_last[further]]
    return up[:n]


def enclosing(parent: I32, inner: Bools) -> Bools:
    """Return which rows have one of the inner rows below them."""
    outer = np.zeros(len(parent), np.bool_)
    up = parent[inner]
    while len(up := up[up >= 0]):
        if _SPARSE * len(up) > len(parent):  # without sorting
            new = np.zeros(len(parent), np.bool_)
            new[up] = True
            up = np.flatnonzero(new).astype(np.int32)
        else:
            up = np.unique(up)
        up = up[~outer[up]]
        outer[up] = True
        up = parent[up]
    return outer


def depths(parent: I32) -> I32:
    """Return the number of ancestors of each row; O(n log depth)."""
    n = len(parent)
    up = np.append(np.where(parent == NONE, n, parent), n).astype(np.int64)
    count = (up != n).astype(np.int32)
    while (up != n).any():
        count = count + count[up]
        up = up[up]
    ancestors: I32 = count[:n]
    return ancestors


def innermost(group: I32, starts: I64, ends: I64, at_group: I32, at: I64) -> I32:
    """Return the innermost range of the same group around each instant, or ``NONE``."""
    n = len(starts)
    both = nest(
        np.concatenate((group, at_group)),
        np.concatenate((starts, at)),
        np.concatenate((ends, at)),
    )
    # Instants at the same time nest in each other: only real ranges count.
    return nearest(both, np.arange(len(both)) < n)[n:]


def overlapping(start: I64, end: I64) -> Bools:
    """Return a mask of ranges to drop so that the rest, in order of start, do not overlap.

    A range is dropped if it starts before the end of the last range that stays.
    """
    n = len(start)
    if n < 2 or not (start[1:] < np.maximum.accumulate(end)[:-1]).any():
        return np.zeros(n, np.bool_)
    # After i, the first range that starts at i's end or later stays. Doubling the jumps
    # (1, 2, 4, …) reaches all ranges that stay from the first one.
    jump = np.maximum(np.searchsorted(start, end), np.arange(1, n + 1))
    jump = np.append(jump, n)
    stays = np.zeros(n + 1, np.bool_)
    stays[0] = True
    while not stays[n]:
        stays[jump[stays]] = True
        jump = jump[jump]
    dropped: Bools = ~stays[:n]
    return dropped


def running_max(values: I64, part: I64) -> I64:
    """Return the running maximum within each part; ``part`` never falls."""
    if not len(values):
        return values
    if part[-1] - part[0] < _FEW:
        cuts = np.searchsorted(part, np.arange(part[0], part[-1] + 2)).tolist()
        maxima = [np.maximum.accumulate(values[i:k]) for i, k in itertools.pairwise(cuts)]
        return np.concatenate(maxima)
    reach = int(values.max()) - int(values.min()) + 1
    part = part - part[0]
    # An offset separates the parts. int64 limits the number of parts at a time.
    most = max((1 << 61) // reach, 1)
    if part[-1] >= most:
        cut = int(np.searchsorted(part, part[len(part) // 2]))
        cut = cut or int(np.searchsorted(part, part[0], side="right"))
        if cut < len(part):
            both = running_max(values[:cut], part[:cut]), running_max(values[cut:], part[cut:])
            return np.concatenate(both)
    offset = part * reach
    result: I64 = np.maximum.accumulate(values + offset) - offset
    return result


class Lanes(Struct, frozen=True):
    """An axis with the threads ``first`` to ``end``, one behind the other."""

    first: int
    end: int
    low_ns: int
    """The first instant of any of them."""
    length_ns: int
    """From one thread's first instant to that of the next: no instants of two threads touch."""

    def place(self, thread: I32 | I64, at_ns: I64) -> I64:
        """Return the places of instants of its threads, in ns."""
        lane = thread.astype(np.int64) - self.first
        lane *= self.length_ns
        lane += at_ns
        lane -= self.low_ns
        return lane

    def instants(self, place: I64) -> tuple[I32, I64]:
        """Return the threads and times of places: the opposite of ``place``."""
        lane = place // self.length_ns  # by a number, which np.divmod divides one by one
        return (lane + self.first).astype(np.int32), place - lane * self.length_ns + self.low_ns

    def has(self, thread: I32 | I64) -> Bools | slice:
        """Return which rows are of its threads; a slice where all are."""
        rows: Bools = (thread >= self.first) & (thread < self.end)
        return slice(None) if rows.all() else rows


def lanes(*instants: tuple[I32 | I64, I64]) -> Iterator[Lanes]:
    """Yield axes that together have all instants, given as columns of thread and time.

    That is one, unless threads and times are too many for int64. Threads are small numbers.
    """
    used = [(thread, at_ns) for thread, at_ns in instants if len(thread)]
    if not used:
        return
    first = min(int(thread.min()) for thread, _ in used)
    end = max(int(thread.max()) for thread, _ in used) + 1
    low = min(int(at_ns.min()) for _, at_ns in used)
    length = max(int(at_ns.max()) for _, at_ns in used) - low + 2
    each = max(HALF_INT64 // length, 1)
    for at in range(first, end, each):
        yield Lanes(at, min(at + each, end), low, length)
