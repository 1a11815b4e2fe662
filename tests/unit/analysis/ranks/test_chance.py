"""Bounds of probabilities, against exact ones and against simulated noise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tb_privateuse1.analysis.ranks import chance


def test_places_of_equal_units_favor_none() -> None:
    values = np.array([[3.0, 1.0], [5.0, 1.0], [4.0, 2.0]])
    assert chance.places(values).tolist() == [[3, 3], [1, 3], [2, 1]]


@pytest.mark.parametrize("units", [2, 3, 5])
def test_the_bound_of_places_holds_and_is_exact_for_the_slowest(units: int) -> None:
    steps = 4
    sums = [sum(one) for one in itertools.product(range(1, units + 1), repeat=steps)]
    for total in range(steps, units * steps + 1):
        exact = sum(one <= total for one in sums) / len(sums)
        place = np.full((1, steps), total / steps)
        bound = float(chance.p_of_places(np.repeat(place, units, axis=0))[0])
        assert exact <= bound * (1 + 1e-9)
        if total == steps:
            assert bound == pytest.approx(exact, rel=1e-3)


def test_the_bound_of_counts() -> None:
    """Four of five at 1/4: 5 * 0.25^4 * 0.75 + 0.25^5 is 0.0156."""
    bound = chance.p_of_count(np.array([0.0, 1.0, 4.0, 5.0]), 5, 0.25)
    assert bound[:2].tolist() == [1.0, 1.0]
    assert 0.0156 < bound[2] < 0.05
    assert bound[3] == pytest.approx(0.25**5)


def test_outliers_that_recur_on_the_same_units_are_not_by_chance() -> None:
    """Eight of 64 in three steps: they count as one of eight blocks, and seven have no outlier."""
    outlier = np.zeros((64, 3), np.bool_)
    outlier[40:48] = True
    found = chance.p_of_recurrence(outlier)
    assert found[40] * 64 == pytest.approx(8 * (0.5 / 21.5) ** 3)
    assert (np.delete(found, range(40, 48)) == 1).all()
    assert (
        chance.p_of_recurrence(np.roll(outlier, 3, axis=0)).tolist() == np.roll(found, 3).tolist()
    )


def test_outliers_that_fall_on_other_units_each_time_prove_nothing() -> None:
    outlier = np.zeros((64, 3), np.bool_)
    for step in range(3):
        outlier[8 * step : 8 * step + 8, step] = True
    assert (chance.p_of_recurrence(outlier) * 64 > 0.1).all()


def test_more_than_half_of_the_units_are_no_outliers() -> None:
    assert (
        chance.p_of_recurrence(np.arange(5)[:, None] + np.zeros((5, 4)) > 1).tolist() == [1.0] * 5
    )


@pytest.mark.long
@pytest.mark.parametrize("tail", [1.2, 2.0, 30.0])
def test_the_error_rate_holds_for_noise_with_long_tails(tail: float) -> None:
    """Pareto noise, down to one whose variance is infinite: at most 5 % below 0.05."""
    random = np.random.default_rng(7)
    below = 0
    for _ in range(300):
        values = random.pareto(tail, size=(6, 7))
        others = np.stack([np.median(np.delete(values, i, axis=0), axis=0) for i in range(6)])
        below += int((chance.p_values(values, values - others) * 6 < 0.05).any())
    assert below <= 0.05 * 300


def test_too_few_steps_or_units_prove_nothing() -> None:
    assert chance.p_values(np.ones((4, 2)), np.ones((4, 2))).tolist() == [1.0] * 4
    assert chance.p_values(np.ones((1, 9)), np.ones((1, 9))).tolist() == [1.0]
