"""Group rows, sum over groups, and select the operators that tables count."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import containing, lookup, starts_run
from tb_privateuse1.trace.intervals import lanes
from tb_privateuse1.trace.model import NONE, OPERATOR, Ops, Trace
from tb_privateuse1.trace.table import HALF_INT64, I32, I64, Bools

T = TypeVar("T", bound=np.generic)

LAST = int(np.iinfo(np.int64).max)
"""The greatest number of an int64 column: no value is later."""

_SPARSE = 8
_FEW = 8
"""Values are looked up one by one where a column has this many times as many rows: there, a sort
of them takes longer."""
_MANY = 64
"""A column with this many rows for each string is not searched for the strings that it has."""


def sums(group: I32 | I64, values: I64, groups: int) -> I64:
    """Return the sum of values of each group, exact in int64; skips group ``NONE``."""
    total = np.zeros(groups, np.int64)
    np.add.at(total, *_grouped(group, values))
    return total


def maxima(group: I32 | I64, values: NDArray[T], groups: int, initial: float = 0) -> NDArray[T]:
    """Return the greatest value of each group; skips group ``NONE``.

    ``initial`` counts as a value of each group: an empty one has it.
    """
    greatest = np.full(groups, initial, values.dtype)
    np.maximum.at(greatest, *_grouped(group, values))
    return greatest


def minima(group: I32 | I64, values: NDArray[T], groups: int, initial: float = LAST) -> NDArray[T]:
    """Return the least value of each group, as ``maxima`` does the greatest.

    The default of ``initial`` is for int64 values.
    """
    least = np.full(groups, initial, values.dtype)
    np.minimum.at(least, *_grouped(group, values))
    return least


def _grouped(group: I32 | I64, values: NDArray[T]) -> tuple[I32 | I64, NDArray[T]]:
    """Return the rows that are in a group."""
    inside = group >= 0
    return (group, values) if inside.all() else (group[inside], values[inside])


def containing_by(group: I32 | I64, starts: I64, ends: I64, at_group: I32 | I64, at: I64) -> I64:
    """Return the range [start, end) of the same group that contains each instant, or ``NONE``.

    The edges are those of ``columns.containing``; the ranges may be in any order. Groups are small
    numbers, as those of threads are.
    """
    row = np.full(len(at), NONE, np.int64)
    if not len(group):
        return row
    for axis in lanes((group, starts), (group, ends), (at_group, at)):
        ranges = np.arange(len(group))[axis.has(group)]
        asked = np.arange(len(at))[axis.has(at_group)]
        first = axis.place(group[ranges], starts[ranges])
        order = np.argsort(first, kind="stable")
        last = axis.place(group[ranges], ends[ranges])[order]
        around = containing(first[order], last, axis.place(at_group[asked], at[asked]))
        row[asked] = lookup(ranges[order], around, NONE)
    return row


def group_rows(*columns: NDArray[Any]) -> tuple[I64, I64]:
    """Group rows with equal values in all columns: each group's first row, each row's group."""
    key, keys = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        code, values = _codes(column)
        if keys * (values + 1) >= HALF_INT64:
            key, keys = _codes(key)
        key, keys = key * values + code, keys * max(values, 1)
    group, groups = _codes(key)
    return minima(group, np.arange(len(key)), groups), group


def distinct_values(column: NDArray[Any]) -> I64:
    """Return the distinct values in order; small numbers (names, rows) need no sorting."""
    if not len(column):
        return np.empty(0, np.int64)
    low = int(column.min())
    span = int(column.max()) - low + 1
    if span > _SPARSE * len(column):
        # np.unique imports numpy.ma, which takes longer than the first page of a small trace.
        ordered = np.sort(column)
        values: I64 = ordered[starts_run(ordered)].astype(np.int64)
        return values
    present = np.zeros(span, np.bool_)
    present[column - np.int64(low)] = True
    return np.flatnonzero(present) + low


def named_rows(strings: Sequence[str], names: I32, chosen: Callable[[str], object]) -> Bools:
    """Return which rows of a column of names have a chosen string; ``NONE`` is none.

    Each distinct name is asked for once.
    """
    flags = np.zeros(len(strings) + 1, np.bool_)
    if len(names) > _MANY * len(strings):
        used = np.arange(len(strings))
    else:
        used = distinct_values(names)
        used = used[used >= 0]
    flags[used] = [bool(chosen(strings[name])) for name in used.tolist()]
    return rows_of(flags, names)


def rows_of(flags: Bools, names: I32) -> Bools:
    """Return by row the flag of its name; where no name has one, without looking at the rows."""
    rows: Bools = flags[names] if flags.any() else np.zeros(len(names), np.bool_)
    return rows


def split_by_value(column: NDArray[Any]) -> Iterator[tuple[int, I64]]:
    """Yield each value of a column, in order, with its rows; sorts only once."""
    order = np.argsort(column, kind="stable")
    cuts = [*np.flatnonzero(starts_run(column[order])).tolist(), len(order)]
    for first, end in itertools.pairwise(cuts):  # np.split takes ten times as long
        yield int(column[order[first]]), order[first:end]


def _codes(column: NDArray[Any]) -> tuple[I64, int]:
    """Return the index of each value among the distinct ones, and the number of these.

    Names and kinds are small numbers: a table of them is faster than sorting.
    """
    if not len(column):
        return np.empty(0, np.int64), 0
    low = int(column.min())
    span = int(column.max()) - low + 1
    if span > _SPARSE * len(column):
        values = distinct_values(column)
        if _FEW * len(values) > len(column):  # sorting is as fast as looking each one up
            values, code = np.unique(column, return_inverse=True)
            return code, len(values)
        return np.searchsorted(values, column), len(values)
    at = column - np.int64(low)
    present = np.zeros(span, np.bool_)
    present[at] = True
    place = np.cumsum(present) - 1
    return place[at], int(place[-1]) + 1


def counted_operators(trace: Trace) -> Bools:
    """Return a mask of the operators that tables count, as ``prof.key_averages()`` counts them.

    Annotations do not count. Nor does an operator that is alone inside one of its own name: torch
    counts the two as one call.
    """
    counted: Bools = (trace.ops.kind == OPERATOR) & ~trace.ops.single
    return counted


def outermost_operators(ops: Ops) -> Bools:
    """Return a mask of the operators whose parent, if any, is no operator."""
    is_operator = ops.kind == OPERATOR
    outermost: Bools = is_operator & ~lookup(is_operator, ops.parent, False)
    return outermost


def outermost_calls(ops: Ops) -> I32:
    """Return the row that counts for each operator: the outermost of a chain of lone calls."""
    outer = intervals.nearest(ops.parent, ~ops.single)
    return np.where(ops.single, outer, np.arange(len(ops))).astype(np.int32)


def with_descendants(parent: I32, values: I64) -> I64:
    """Return the sum of each row's value and the values of all rows below it."""
    total = values.copy()
    if not values.any():
        return total
    depth = intervals.depths(parent)
    deepest = int(depth.max(initial=0))
    # numpy sorts small integers in linear time.
    small = depth.astype(np.int16) if deepest < 1 << 15 else depth
    by_depth = np.argsort(small, kind="stable")
    edges = np.searchsorted(small[by_depth], np.arange(1, deepest + 2))
    for level in range(len(edges) - 1, 0, -1):
        rows = by_depth[edges[level - 1] : edges[level]]
        np.add.at(total, parent[rows], total[rows])
    return total


def without_children(parent: I32, values: I64) -> I64:
    """Return each row's value less the values of the rows directly below it."""
    own = values.copy()
    np.subtract.at(own, *_grouped(parent, values))
    return own
