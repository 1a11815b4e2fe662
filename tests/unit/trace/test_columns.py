"""The verbs of columns against the slow way: one row after the other."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.trace import columns
from tb_privateuse1.trace.model import NONE

FEW = st.lists(st.integers(0, 6), max_size=8)
TIMES = FEW.map(sorted)
INSTANTS = st.lists(st.integers(-2, 9), max_size=8)


def column(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


@settings(max_examples=30)
@given(FEW, st.data())
def test_lookup_reads_missing_for_none_and_past_the_end(
    values: list[int], data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.integers(NONE, len(values)), max_size=8))
    read = columns.lookup(column(values).astype(np.int32), np.array(rows, np.int32), 9)
    assert read.tolist() == [values[row] if 0 <= row < len(values) else 9 for row in rows]
    assert read.dtype == np.int32
    few = columns.lookup(np.arange(99, dtype=np.int32), np.array(rows, np.int32), 9)
    assert few.tolist() == [row if row >= 0 else 9 for row in rows]
    assert columns.lookup(np.arange(99), np.array([99, 98]), 9).tolist() == [9, 98]


@settings(max_examples=30)
@given(st.integers(0, 7), st.data())
def test_positions_are_where_rows_are_listed(length: int, data: st.DataObject) -> None:
    rows = data.draw(st.permutations(range(length)))[: length // 2]
    index = columns.positions(column(rows), length)
    assert index.tolist() == [rows.index(r) if r in rows else NONE for r in range(length)]


@settings(max_examples=30)
@given(st.lists(st.integers(NONE, 5), max_size=8))
def test_a_mask_has_the_listed_rows(rows: list[int]) -> None:
    assert columns.mask_of(column(rows), 6).tolist() == [row in rows for row in range(6)]


@settings(max_examples=30)
@given(TIMES, INSTANTS)
def test_latest_times(times: list[int], at: list[int]) -> None:
    not_after = [max((r for r, t in enumerate(times) if t <= one), default=NONE) for one in at]
    before = [max((r for r, t in enumerate(times) if t < one), default=NONE) for one in at]
    assert columns.latest_not_after(column(times), column(at)).tolist() == not_after
    assert columns.latest_before(column(times), column(at)).tolist() == before


@settings(max_examples=30)
@given(st.sets(st.integers(0, 12)), INSTANTS)
def test_a_range_contains_its_start_and_not_its_end(edges: set[int], at: list[int]) -> None:
    ends = sorted(edges)[1::2]
    starts = sorted(edges)[::2][: len(ends)]
    ranges = list(zip(starts, ends, strict=True))
    row = columns.containing(column(starts), column(ends), column(at))
    expected = [[r for r, (start, end) in enumerate(ranges) if start <= t < end] for t in at]
    assert row.tolist() == [rows[0] if rows else NONE for rows in expected]


def test_ranges_that_touch_contain_their_edge_once() -> None:
    starts, ends = column([0, 5, 5, 9]), column([5, 5, 8, 12])
    at = column([-1, 0, 4, 5, 7, 8, 9, 11, 12])
    assert columns.containing(starts, ends, at).tolist() == [-1, 0, 0, 2, 2, -1, 3, 3, -1]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=6))
def test_range_rows_are_all_rows_of_each_range(ranges: list[tuple[int, int]]) -> None:
    first, count = column([f for f, _ in ranges]), column([c for _, c in ranges])
    of_range, row = columns.range_rows(first, count)
    expected = [(i, f + k) for i, (f, c) in enumerate(ranges) for k in range(c)]
    assert list(zip(of_range.tolist(), row.tolist(), strict=True)) == expected


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=5))
def test_rows_in_ranges(ranges: list[tuple[int, int]]) -> None:
    first = column([f for f, _ in ranges])
    end = first + column([c for _, c in ranges])
    expected = [any(f <= row < f + c for f, c in ranges) for row in range(9)]
    assert columns.in_ranges(first, end, 9).tolist() == expected


@settings(max_examples=30)
@given(FEW)
def test_sums_before_each_row(values: list[int]) -> None:
    expected = [sum(values[:n]) for n in range(len(values) + 1)]
    assert columns.sums_before(column(values)).tolist() == expected
    flags = column(values) > 3
    assert columns.sums_before(flags)[-1] == flags.sum()


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=8))
def test_runs_of_equal_values(pairs: list[tuple[int, int]]) -> None:
    both = column([a for a, _ in pairs]), column([b for _, b in pairs])
    rows = range(len(pairs))
    starts = [r == 0 or pairs[r] != pairs[r - 1] for r in rows]
    ends = [r == len(pairs) - 1 or pairs[r] != pairs[r + 1] for r in rows]
    assert columns.starts_run(*both).tolist() == starts
    assert columns.ends_run(*both).tolist() == ends


@settings(max_examples=30)
@given(FEW)
def test_neighbors(values: list[int]) -> None:
    assert columns.previous(column(values), 9).tolist() == [9, *values][: len(values)]
    assert columns.following(column(values), 9).tolist() == [*values[1:], 9][: len(values)]


@settings(max_examples=30)
@given(FEW)
def test_the_highest_come_first_and_equal_ones_in_order(values: list[int]) -> None:
    rows = sorted(range(len(values)), key=lambda row: -values[row])
    for most in (1, 3, 100):
        assert columns.highest(column(values), most).tolist() == rows[:most]


def test_a_flag_per_name_and_none() -> None:
    flags = columns.flag_names(("aten::mm", "", "aten::add"), lambda text: text.endswith("mm"))
    assert flags.tolist() == [True, False, False, False]
    assert not flags[NONE]
