"""Interval arithmetic against the obvious way: a set of instants."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.trace import intervals

ranges = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=12)


def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.array([s for s, _ in pairs], np.int64)
    return starts, starts + np.array([d for _, d in pairs], np.int64)


def instants(starts: np.ndarray, ends: np.ndarray) -> set[int]:
    return {t for s, e in zip(starts.tolist(), ends.tolist(), strict=True) for t in range(s, e)}


def is_set(a: intervals.Set) -> bool:
    return bool((a[1] > a[0]).all() and (a[0][1:] > a[1][:-1]).all())


@given(ranges)
def test_union_is_the_set_of_all_instants(pairs: list[tuple[int, int]]) -> None:
    starts, ends = columns(pairs)
    union = intervals.union(starts, ends)
    assert is_set(union)
    assert instants(*union) == instants(starts, ends)
    assert intervals.length(union) == len(instants(starts, ends))


@given(st.lists(st.integers(-5, 40), max_size=20))
def test_union_of_points_is_the_union_of_their_nanoseconds(points: list[int]) -> None:
    column = np.array(points, np.int64)
    found = intervals.union_of_points(column)
    assert [c.tolist() for c in found] == [c.tolist() for c in intervals.union(column, column + 1)]


@given(ranges, ranges)
def test_overlaps_are_all_pairs_in_order_of_time(
    p: list[tuple[int, int]], q: list[tuple[int, int]]
) -> None:
    a, b = intervals.union(*columns(p)), intervals.union(*columns(q))
    pairs = list(zip(*(c.tolist() for c in intervals.overlaps(a, b)), strict=True))
    assert pairs == [
        (i, j)
        for i in range(len(a[0]))
        for j in range(len(b[0]))
        if a[0][i] < b[1][j] and b[0][j] < a[1][i]
    ]


@given(ranges, ranges)
def test_intersect_subtract_merge(p: list[tuple[int, int]], q: list[tuple[int, int]]) -> None:
    a, b = intervals.union(*columns(p)), intervals.union(*columns(q))
    assert instants(*intervals.intersect(a, b)) == instants(*a) & instants(*b)
    assert instants(*intervals.subtract(a, b)) == instants(*a) - instants(*b)
    assert instants(*intervals.merge(a, b)) == instants(*a) | instants(*b)
    assert instants(*intervals.complement(a, 5, 30)) == set(range(5, 30)) - instants(*a)


@given(ranges, ranges)
def test_intersect_is_the_same_either_way(
    p: list[tuple[int, int]], q: list[tuple[int, int]]
) -> None:
    a, b = intervals.union(*columns(p)), intervals.union(*columns(q))
    one, other = intervals.intersect(a, b), intervals.intersect(b, a)
    assert [c.tolist() for c in one] == [c.tolist() for c in other]
    assert (one[1] > one[0]).all()
    assert (one[0][1:] >= one[1][:-1]).all()


@given(ranges, st.integers(-5, 60), st.integers(0, 60))
def test_complement_of_any_window(p: list[tuple[int, int]], start: int, length: int) -> None:
    a = intervals.union(*columns(p))
    free = intervals.complement(a, start, start + length)
    assert instants(*free) == set(range(start, start + length)) - instants(*a)
    assert is_set(free)


@given(ranges, ranges)
def test_covered(p: list[tuple[int, int]], q: list[tuple[int, int]]) -> None:
    a = intervals.union(*columns(p))
    starts, ends = columns(q)
    covered = intervals.covered_length(a, starts, ends)
    for s, e, c in zip(starts.tolist(), ends.tolist(), covered.tolist(), strict=True):
        assert c == len(instants(*a) & set(range(s, e)))


def nest_by_stack(group: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> list[int]:
    """torch/autograd/profiler_util.py, EventList._populate_cpu_children."""
    parents = [-1] * len(starts)
    for g in set(group.tolist()):
        rows = [i for i in range(len(starts)) if group[i] == g]
        rows.sort(key=lambda i: (starts[i], -ends[i]))
        stack: list[int] = []
        for i in rows:
            while stack and (starts[i] >= ends[stack[-1]] or ends[i] > ends[stack[-1]]):
                stack.pop()
            parents[i] = stack[-1] if stack else -1
            stack.append(i)
    return parents


spans = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(1, 20)), max_size=25)


@given(spans)
def test_nest_is_torchs_nesting_even_where_ranges_cross(
    rows: list[tuple[int, int, int]],
) -> None:
    group = np.array([g for g, _, _ in rows], np.int32)
    starts, ends = columns([(s, d) for _, s, d in rows])
    parents = intervals.nest(group, starts, ends)
    assert parents.tolist() == nest_by_stack(group, starts, ends)


@pytest.mark.long
@pytest.mark.parametrize("rounds", [0, 1, 2000])
@pytest.mark.parametrize("far", [0, 1 << 61])
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 6))))
def test_nest_with_ranges_of_no_length_far_away_and_one_after_the_other(
    rounds: int, far: int, rows: list[tuple[int, int, int]]
) -> None:
    group = np.array([g for g, _, _ in rows], np.int32)
    starts, ends = columns([(s, d) for _, s, d in rows])
    # In halves a range of no length is open for an instant, inside what ends later.
    expected = nest_by_stack(group, starts * 2, ends * 2 + (ends == starts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "_MAX_ROUNDS", rounds)
        starts[::2] += far
        ends[::2] += far
        moved = nest_by_stack(group, starts * 2, ends * 2 + (ends == starts)) if far else expected
        assert intervals.nest(group, starts, ends).tolist() == moved


def test_many_ranges_that_close_many_others_are_quick() -> None:
    deep, n = np.arange(100_000), 100_000
    starts = np.concatenate((deep, 10**9 + deep, deep + 10**6))
    ends = np.concatenate((2 * 10**6 - deep, 10**9 + deep + 1, 10**8 + deep))
    began = time.process_time()
    parent = intervals.nest(np.zeros(3 * n, np.int32), starts, ends)
    assert time.process_time() - began < 5
    assert parent.tolist() == [-1, *range(n - 1), *[-1] * 2 * n]


def test_innermost_range_of_an_instant() -> None:
    group = np.array([0, 0, 1], np.int32)
    starts, ends = np.array([0, 10, 0]), np.array([100, 20, 5])
    at_group = np.array([0, 0, 0, 0, 1, 1, 2], np.int32)
    at = np.array([5, 10, 15, 20, 4, 5, 0])
    found = intervals.innermost(group, starts, ends, at_group, at)
    assert found.tolist() == [0, 1, 1, 0, 2, -1, -1]


def test_instants_at_the_same_time_do_not_hold_each_other() -> None:
    found = intervals.innermost(
        np.array([0], np.int32), np.array([0]), np.array([9]),
        np.array([0, 0, 0], np.int32), np.array([3, 3, 3]),
    )  # fmt: skip
    assert found.tolist() == [0, 0, 0]


def chain(parents: list[int]) -> np.ndarray:
    return np.array(parents, np.int32)


@given(st.lists(st.integers(-1, 30), max_size=31), st.data())
def test_nearest_wanted_ancestor_and_depth(raw: list[int], data: st.DataObject) -> None:
    parents = [p if p < i else -1 for i, p in enumerate(raw)]
    wanted = data.draw(st.lists(st.booleans(), min_size=len(raw), max_size=len(raw)))
    for i, found in enumerate(intervals.nearest(chain(parents), np.array(wanted, bool)).tolist()):
        at = parents[i]
        while at >= 0 and not wanted[at]:
            at = parents[at]
        assert found == at
    for i, depth in enumerate(intervals.depths(chain(parents)).tolist()):
        at, steps = parents[i], 0
        while at >= 0:
            at, steps = parents[at], steps + 1
        assert depth == steps


@pytest.mark.long
def test_a_chain_of_a_million_is_quick() -> None:
    n = 1_000_000
    parents = np.arange(-1, n - 1, dtype=np.int32)
    assert intervals.depths(parents)[-1] == n - 1
    wanted = np.zeros(n, np.bool_)
    wanted[0] = True
    assert (intervals.nearest(parents, wanted)[1:] == 0).all()


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)), max_size=25))
def test_what_overlaps_the_last_one_that_stays(ranges: list[tuple[int, int]]) -> None:
    ranges = sorted((start, start + length) for start, length in ranges)
    expected, end = [], -1
    for start, stop in ranges:
        expected.append(start < end)
        end = end if start < end else stop
    starts, ends = (np.array([r[k] for r in ranges], np.int64) for k in (0, 1))
    assert intervals.overlapping(starts, ends).tolist() == expected
