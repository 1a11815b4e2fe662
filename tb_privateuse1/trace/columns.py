"""Join columns: look up rows, find instants in ranges, number runs, and flag names.

Joins by group are in ``groupby``, sets of intervals in ``intervals``. A row without a match is
``NONE``. Instants and times are int64 ns; any other ordered integers are joined the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import I32, I64, Bools

T = TypeVar("T", bound=np.generic)
Integers = NDArray[np.integer[Any]]
Scalar = float | np.integer[Any]

_FEW = 8
"""Rows are looked up one by one if a column has this many times as many: a copy takes longer."""


def lookup(column: NDArray[T], rows: Integers, missing: Scalar) -> NDArray[T]:
    """Return the column's value at each row; ``missing`` for ``NONE`` and for one past the end."""
    if _FEW * len(rows) > len(column):
        return np.append(column, np.asarray(missing, column.dtype))[rows]
    known = (rows >= 0) & (rows < len(column))
    values = np.full(len(rows), missing, column.dtype)
    values[known] = column[rows[known]]
    return values


def positions(rows: Integers, length: int) -> I32:
    """Return the index of each of ``length`` rows in ``rows``, or ``NONE``.

    Of a row that is there several times the last index counts.
    """
    index = np.full(length, NONE, np.int32)
    index[rows] = np.arange(len(rows))
    return index


def mask_of(rows: Integers, length: int) -> Bools:
    """Return a mask of ``length`` rows that has the listed ones; ``NONE`` is none."""
    mask = np.zeros(length + 1, np.bool_)
    mask[rows] = True  # ``NONE`` sets the last entry, which is cut off
    return mask[:-1]


def latest_not_after(times: I64, at: I64) -> I64:
    """Return the last row of the ascending times at or before each instant, or ``NONE``."""
    return np.searchsorted(times, at, side="right") - 1


def latest_before(times: I64, at: I64) -> I64:
    """Return the last row of the ascending times before each instant, or ``NONE``.

    A time equal to the instant does not count.
    """
    return np.searchsorted(times, at, side="left") - 1


def containing(starts: I64, ends: I64, at: I64) -> I64:
    """Return the range [start, end) that contains each instant, or ``NONE``.

    The ranges are disjoint and ascend: a range contains its start, but not its end. Of ranges
    that overlap only the last one that has started counts.
    """
    row = latest_not_after(starts, at)
    return np.where(at < lookup(ends, row, np.iinfo(np.int64).min), row, NONE)


def range_rows(first: I64, count: I64) -> tuple[I64, I64]:
    """Return all rows [first, first + count) of each range: the range of each row, and the row."""
    of_range = np.repeat(np.arange(len(count)), count)
    return of_range, np.arange(len(of_range)) + np.repeat(first - (np.cumsum(count) - count), count)


def in_ranges(first: I64, end: I64, length: int) -> Bools:
    """Return which of ``length`` rows are in a range [first, end); the ranges may overlap."""
    change = np.zeros(length + 1, np.int64)
    np.add.at(change, first, 1)
    np.subtract.at(change, end, 1)
    inside: Bools = np.cumsum(change[:-1]) > 0
    return inside


def sums_before(values: Integers | Bools) -> I64:
    """Return the sum of the values before each row, and of all values: one more than the values.

    The sum of rows [first, last) is then ``sums[last] - sums[first]``.
    """
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    return sums


def starts_run(*columns: NDArray[Any]) -> Bools:
    """Return a mask of the rows that differ from the row before in a column; the first one does."""
    starts = np.ones(len(columns[0]), np.bool_)
    if len(starts):
        starts[1:] = columns[0][1:] != columns[0][:-1]
        for column in columns[1:]:
            starts[1:] |= column[1:] != column[:-1]
    return starts


def ends_run(*columns: NDArray[Any]) -> Bools:
    """Return a mask of the rows that differ from the row behind in a column; the last one does."""
    return following(starts_run(*columns), True)


def previous(column: NDArray[T], first: Scalar) -> NDArray[T]:
    """Return the value of the row before each row; ``first`` for the first row."""
    shifted = np.empty_like(column)
    shifted[1:], shifted[:1] = column[:-1], first
    return shifted


def following(column: NDArray[T], last: Scalar) -> NDArray[T]:
    """Return the value of the row behind each row; ``last`` for the last row."""
    shifted = np.empty_like(column)
    shifted[:-1], shifted[-1:] = column[1:], last
    return shifted


def highest(values: Integers, most: int) -> I64:
    """Return the rows of the highest values, the highest first, at most ``most`` of them.

    Equal values are in order. Only these few are sorted.
    """
    rows = np.arange(len(values))
    if most < len(values):
        rows = np.flatnonzero(values >= np.partition(values, -most)[-most])
    return rows[np.argsort(-values[rows], kind="stable")][:most]


def flag_names(strings: Iterable[str], chosen: Callable[[str], object]) -> Bools:
    """Return which strings are chosen, and one more False: ``flags[name]`` of ``NONE`` is False."""
    return np.array([*map(bool, map(chosen, strings)), False], np.bool_)


def zero_if_missing(column: I64) -> I64:
    """Return the column with 0 in place of ``MISSING``, for sums."""
    return np.where(column == MISSING, 0, column)
