"""Bounds of sums: exact in their limits, equal on all ways to them, and true of random errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.trace import sum_bounds
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import I64

BOUNDS = st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 4)), min_size=1, max_size=30)


def bound(bounds: I64, group: I64) -> int:
    """The bound that is shown."""
    found = sum_bounds.sum_bound(bounds, group)
    assert found is not None
    return found.bound_ns


def columns(rows: list[tuple[int, int]]) -> tuple[I64, I64]:
    """The bounds and the error groups."""
    both = np.array(rows, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def test_a_sum_of_one_has_its_own_bound() -> None:
    assert bound(np.array([7_000]), np.array([3])) == 7_000
    assert bound(np.array([0, 0]), np.array([NONE, NONE])) == 0


def test_what_is_measured_adds_nothing() -> None:
    assert bound(np.array([0, 9_000, 0]), np.array([NONE, 1, NONE])) == 9_000


def test_equal_work_is_as_wrong_as_one_call_and_different_work_is_less() -> None:
    bounds = np.full(100, 10_000)
    alike = sum_bounds.sum_bound(bounds, np.zeros(100, np.int64))
    apart = sum_bounds.sum_bound(bounds, np.arange(100))
    assert alike is not None
    assert apart is not None
    assert alike.worst_ns == apart.worst_ns == 1_000_000
    assert apart.statistical_ns < alike.statistical_ns < alike.worst_ns
    # What all durations share does not cancel out, however many they are.
    assert apart.statistical_ns > 100 * sum_bounds.COMMON_NS


def test_a_guess_may_be_as_wrong_as_its_bound_says() -> None:
    """Where nothing of equal work shows the duration, all calls err alike, and by all of it."""
    bounds = np.append(np.full(3, 851_000), np.full(300, 5_000))
    shown, guessed = (
        sum_bounds.sum_bound(bounds, np.append(np.full(3, own), np.arange(1, 301)))
        for own in (0, sum_bounds.GUESSED)
    )
    assert shown is not None
    assert guessed is not None
    assert guessed.worst_ns == shown.worst_ns
    assert shown.statistical_ns < 3 * 851_000 < guessed.statistical_ns < guessed.worst_ns


def test_the_worst_case_counts_where_it_is_smaller() -> None:
    found = sum_bounds.sum_bound(np.full(3, 1_000), np.arange(3))
    assert found is not None
    assert found.bound_ns == found.worst_ns == 3_000


def test_an_unknown_bound_makes_the_sum_unknown() -> None:
    bounds, group = np.array([5, int(MISSING), 6]), np.array([0, 1, 2])
    assert sum_bounds.sum_bound(bounds, group) is None
    found = sum_bounds.sum_bounds(np.array([0, 1, 2]), bounds, group, 4)
    assert found.tolist() == [5, MISSING, 6, 0]
    tree = sum_bounds.tree_bounds(
        np.array([NONE, 0, 0], np.int32), np.array([2, 1, 2]), bounds, group
    )
    assert tree.tolist() == [MISSING, MISSING, 11]


@given(BOUNDS, st.integers(0, 30))
def test_a_part_is_never_less_known_than_the_whole(rows: list[tuple[int, int]], some: int) -> None:
    bounds, group = columns(rows)
    assert bound(bounds[:some], group[:some]) <= bound(bounds, group) <= bounds.sum()
    assert bound(bounds, group) >= bounds.max()


@given(BOUNDS, st.lists(st.integers(-1, 3), min_size=30, max_size=30))
def test_groups_and_trees_have_the_bounds_of_their_sums(
    rows: list[tuple[int, int]], places: list[int]
) -> None:
    bounds, group = columns(rows)
    place = np.array(places[: len(rows)])
    found = sum_bounds.sum_bounds(place, bounds, group, 4)
    assert found.tolist() == [bound(bounds[place == i], group[place == i]) for i in range(4)]
    parent = np.array([NONE, 0, 1, 0], np.int32)
    below = [[0, 1, 2, 3], [1, 2], [2], [3]]
    inside = [np.isin(place, nodes) for nodes in below]
    tree = sum_bounds.tree_bounds(parent, place, bounds, group)
    assert tree.tolist() == [bound(bounds[one], group[one]) for one in inside]


def _inside(shared: float, alike: float, single: float, seeds: int = 400) -> float:
    """The share of sums inside their bounds.

    The errors are shares of the bounds: standard deviations of one that all durations share, one
    of each kind of work, and one of each call.
    """
    held = 0
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        kinds = int(random.integers(2, 60))
        group = random.integers(0, kinds, int(random.integers(50, 2_000)))
        bounds = random.lognormal(9, 1, kinds).astype(np.int64)[group]
        error = random.normal(0, shared) + random.normal(0, alike, kinds)[group]
        error = np.clip(error + random.normal(0, single, len(group)), -1, 1)
        held += abs(float((error * bounds).sum())) <= bound(bounds, group)
    return held / seeds


@pytest.mark.parametrize(
    ("shared", "alike", "single"), [(0, 0.25, 0), (0.1, 0.22, 0.1), (0, 0, 0.5), (0.1, 0, 0)]
)
def test_errors_as_they_were_measured_are_inside(
    shared: float, alike: float, single: float
) -> None:
    assert _inside(shared, alike, single) >= 0.95


def test_errors_that_all_work_shares_refute_it() -> None:
    """Were the errors of different work one, the statistical bound would be too small."""
    assert _inside(0.5, 0, 0) < 0.9
