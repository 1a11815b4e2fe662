"""Groups of equal rows, against numpy's own way to find them."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.trace.groupby import (
    distinct_values,
    group_rows,
    lower_medians,
    maxima,
    medians,
    minima,
    split_by_value,
    sums,
    with_descendants,
)
from tb_privateuse1.trace.model import MISSING, NONE

VALUES = st.integers(-2, 5) | st.integers(-(1 << 62), 1 << 62)


@given(st.integers(0, 30), st.data())
def test_rows_with_equal_values_are_one_group(n: int, data: st.DataObject) -> None:
    some = st.lists(VALUES, min_size=n, max_size=n) | st.lists(
        st.integers(0, 3), min_size=n, max_size=n
    )
    columns = [np.array(c, np.int64) for c in data.draw(st.lists(some, min_size=1, max_size=3))]
    first, group = group_rows(*columns)
    rows = np.stack(columns, axis=1)
    _, expected_first, expected = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    assert first.tolist() == expected_first.tolist()
    assert group.tolist() == expected.ravel().tolist()


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.int32])
def test_columns_of_any_kind(kind: Any) -> None:
    first, group = group_rows(np.array([1, 0, 1, 1, 0]).astype(kind), np.array([2, 2, 2, 3, 2]))
    assert (first.tolist(), group.tolist()) == ([1, 0, 3], [1, 0, 1, 2, 0])


def test_no_rows() -> None:
    first, group = group_rows(np.empty(0, np.int32), np.empty(0, np.int64))
    assert (len(first), len(group)) == (0, 0)


@given(st.lists(VALUES))
def test_different_values_in_order(values: list[int]) -> None:
    column = np.array(values, np.int64)
    assert distinct_values(column).tolist() == np.unique(column).tolist()


def test_different_values_of_small_numbers_of_any_kind() -> None:
    column = np.array([7, -1, 7, 3], np.int32)
    assert distinct_values(column).tolist() == [-1, 3, 7]
    assert distinct_values(column).dtype == np.int64


@given(st.lists(VALUES | st.integers(0, 3)))
def test_each_value_comes_with_its_rows(values: list[int]) -> None:
    column = np.array(values, np.int64)
    found = {value: rows.tolist() for value, rows in split_by_value(column)}
    assert list(found) == sorted(set(values))
    assert found == {v: [i for i, one in enumerate(values) if one == v] for v in found}


@given(st.lists(st.integers(-5, 5), max_size=30), st.data())
def test_a_row_has_the_sum_of_all_rows_below_it(values: list[int], data: st.DataObject) -> None:
    parent = [data.draw(st.integers(-1, i - 1)) for i in range(len(values))]
    expected = list(values)
    for row in reversed(range(len(values))):  # a parent comes before its children
        if parent[row] >= 0:
            expected[parent[row]] += expected[row]
    found = with_descendants(np.array(parent, np.int32), np.array(values, np.int64))
    assert found.tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-(1 << 40), 1 << 40)), max_size=40))
def test_medians_of_groups(rows: list[tuple[int, int]]) -> None:
    group = np.array([number for number, _ in rows], np.int64)
    values = np.array([value for _, value in rows], np.int64)
    lower, middle = lower_medians(group, values, 6), medians(group, values.astype(np.float64), 6)
    for number in range(6):
        mine = sorted(value for other, value in rows if other == number)
        assert lower[number] == (statistics.median_low(mine) if mine else MISSING)
        assert middle[number] == (statistics.median(mine) if mine else 0)


@given(st.lists(st.tuples(st.integers(NONE, 3), st.integers(-9, 9)), max_size=8))
def test_figures_of_groups_skip_rows_of_none(pairs: list[tuple[int, int]]) -> None:
    group, values = np.array([g for g, _ in pairs], np.int32), np.array([v for _, v in pairs])
    members = [[v for g, v in pairs if g == number] for number in range(4)]
    assert sums(group, values, 4).tolist() == [sum(of_group) for of_group in members]
    assert maxima(group, values, 4).tolist() == [max([0, *of_group]) for of_group in members]
    assert minima(group, values, 4, 5).tolist() == [min([5, *of_group]) for of_group in members]


def test_figures_of_groups_have_the_type_of_the_values() -> None:
    group, values = np.array([0, 0]), np.array([3, 4])
    assert minima(group, values, 2).tolist() == [3, np.iinfo(np.int64).max]
    assert maxima(group, values / 2, 2, -np.inf).tolist() == [2.0, -np.inf]
