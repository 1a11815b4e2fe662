"""Order statistics of groups and Student's t, against the slow way and against tables."""

from __future__ import annotations

import statistics as standard

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.statistics import (
    ERROR_RATE,
    lower_medians,
    medians,
    robust_deviation,
    sort_groups,
    student_t,
    student_t_tail,
)

TABLE = {1: 63.657, 2: 9.925, 3: 5.841, 7: 3.499, 12: 3.055, 30: 2.750, 31: 2.744, 60: 2.660}
"""Student's t, two-sided 99 %, by degrees of freedom: any table has it."""


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-(1 << 40), 1 << 40)), max_size=15))
def test_medians_of_groups(rows: list[tuple[int, int]]) -> None:
    group = np.array([number for number, _ in rows], np.int64)
    values = np.array([value for _, value in rows], np.int64)
    lower, middle = lower_medians(group, values, 6), medians(group, values.astype(np.float64), 6)
    for number in range(6):
        mine = sorted(value for other, value in rows if other == number)
        assert lower[number] == (standard.median_low(mine) if mine else MISSING)
        assert middle[number] == (standard.median(mine) if mine else 0)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=12), st.data())
def test_places_of_groups_are_those_of_sorted_members(
    pairs: list[tuple[int, int]], data: st.DataObject
) -> None:
    group, values = np.array([g for g, _ in pairs], np.int64), np.array([v for _, v in pairs])
    place = data.draw(st.integers(0, 5))
    ordered = sort_groups(group, values.astype(np.int64), 4)
    members = [sorted(v for g, v in pairs if g == number) for number in range(4)]
    expected = [of[min(place, len(of) - 1)] if of else -7 for of in members]
    assert ordered.at(np.full(4, place), -7).tolist() == expected
    nearest = [of[round(0.25 * (len(of) - 1))] if of else -7 for of in members]
    assert ordered.quantile(0.25, -7).tolist() == nearest


def test_the_robust_deviation_is_that_of_a_normal_distribution() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, (4001, 2))
    assert robust_deviation(values) == pytest.approx([2.0, 2.0], rel=0.05)
    assert robust_deviation(np.array([1.0, -3.0, 5.0]), center=0.0) == pytest.approx(3 * 1.4826)


def test_student_t_of_millions_of_degrees_is_the_normal_quantile() -> None:
    assert student_t(ERROR_RATE, 1_999_998) == pytest.approx(student_t(ERROR_RATE, 1e12), rel=1e-5)


@pytest.mark.parametrize(("freedom", "expected"), TABLE.items())
def test_student_t_agrees_with_tables(freedom: int, expected: float) -> None:
    assert student_t(ERROR_RATE, freedom) == pytest.approx(expected, abs=6e-4)
    assert 2 * student_t_tail(student_t(1e-6, freedom)[None], freedom) == pytest.approx(
        1e-6, rel=1e-2
    )


def test_fractional_degrees_of_freedom_are_rounded_down() -> None:
    freedom = np.array([0.5, 1.9, 30.9, 1e9])
    assert student_t(ERROR_RATE, freedom) == pytest.approx([63.657, 63.657, 2.750, 2.576], rel=3e-4)


@pytest.mark.parametrize(
    ("t", "freedom", "tail"),
    [(3.078, 1, 0.1), (2.920, 2, 0.05), (3.747, 4, 0.01), (2.764, 10, 0.01), (2.601, 150, 0.0051)],
)
def test_tails_of_students_t(t: float, freedom: int, tail: float) -> None:
    """By the tables of Abramowitz and Stegun."""
    found = student_t_tail(np.array([t, -t]), freedom)
    assert found.tolist() == pytest.approx([tail, 1 - tail], rel=0.02)
