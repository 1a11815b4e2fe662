"""Groups of equal rows, against numpy's own way to find them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.trace.groupby import (
    containing_by,
    distinct_values,
    group_rows,
    maxima,
    minima,
    named_rows,
    outermost_operators,
    split_by_value,
    sums,
    with_descendants,
    without_children,
)
from tb_privateuse1.trace.model import NONE
from tests.support import make

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


@settings(max_examples=30)
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


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), unique=True, max_size=6),
    st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 12)), max_size=8),
)
def test_the_range_of_the_same_group_contains_an_instant(
    ranges: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    """Ranges of two nanoseconds, three apart, in any order."""
    group, starts = np.array([g for g, _ in ranges]), np.array([3 * k for _, k in ranges], np.int64)
    at_group, at = np.array([g for g, _ in asked]), np.array([t for _, t in asked], np.int64)
    expected = [
        next((i for i, (g, k) in enumerate(ranges) if g == own and 3 * k <= t < 3 * k + 2), NONE)
        for own, t in asked
    ]
    assert containing_by(group, starts, starts + 2, at_group, at).tolist() == expected


def test_each_name_is_asked_for_once() -> None:
    asked: list[str] = []

    def chosen(name: str) -> bool:
        asked.append(name)
        return name.startswith("b")

    names = np.array([1, 0, NONE, 1], np.int32)
    rows = named_rows(("a", "b", "unused"), names, chosen)
    assert (rows.tolist(), asked) == ([True, False, False, True], ["a", "b"])


def test_what_is_directly_below_a_row_is_not_its_own() -> None:
    parent = np.array([NONE, 0, 1, 0], np.int32)
    own = without_children(parent, np.array([10, 6, 4, 1], np.int64))
    assert own.tolist() == [3, 2, 4, 1]


def test_outermost_operators_have_no_operator_as_parent() -> None:
    trace = make.trace(
        make.annotation("range", 0, 90),
        make.op("outer", 10, 80),
        make.op("inner", 20, 30),
        make.op("alone", 95, 99),
    )
    outer = outermost_operators(trace.ops)
    names = [trace.text(name) for name in trace.ops.name[outer]]
    assert sorted(names) == ["alone", "outer"]
