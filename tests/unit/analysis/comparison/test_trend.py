"""Levels and outliers of a figure over many recordings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.analysis.comparison.trend import Trend, find_trend


def trend(*values: float, error: float = 0.0) -> Trend:
    return find_trend(np.array(values, np.float64), np.full(len(values), error))


def levels(found: Trend) -> list[tuple[int, int]]:
    return [(level.first, level.last) for level in found.levels]


def test_without_values_there_is_no_level() -> None:
    assert trend() == Trend(None, (), ())


def test_two_values_have_no_noise() -> None:
    found = trend(10.0, 20.0)
    assert found.noise is None
    assert levels(found) == [(0, 1)]
    assert found.levels[0].median == pytest.approx(math.sqrt(200))
    assert found.outside == ()


def test_equal_values_are_one_level() -> None:
    found = trend(*[0.1] * 9)
    assert found.noise == 0
    assert levels(found) == [(0, 8)]
    assert found.outside == ()


def test_a_lasting_change_begins_a_level() -> None:
    found = trend(100, 101, 99, 100, 130, 131, 129, 130)
    assert levels(found) == [(0, 3), (4, 7)]
    assert found.levels[1].median / found.levels[0].median == pytest.approx(1.3, rel=0.01)
    assert found.outside == ()


def test_a_single_outlier_is_no_level() -> None:
    found = trend(100, 101, 99, 100, 150, 100, 101, 99)
    assert levels(found) == [(0, 7)]
    assert found.outside == (4,)


def test_a_slow_last_recording_is_outside() -> None:
    assert trend(100, 101, 99, 100, 101, 99, 130).outside == (6,)


def test_noise_within_recordings_hides_small_changes() -> None:
    values = 100, 100, 100, 100, 104, 104, 104, 104
    assert len(trend(*values).levels) == 2
    assert len(trend(*values, error=5.0).levels) == 1


@given(st.integers(0, 99), st.integers(4, 30), st.integers(4, 30), st.floats(1.2, 4))
def test_a_change_ten_times_the_noise_is_located(
    seed: int, before: int, after: int, ratio: float
) -> None:
    random = np.random.default_rng(seed)
    noise = np.exp(random.uniform(-0.015, 0.015, before + after))
    values = np.where(np.arange(before + after) < before, 1.0, ratio) * noise
    found = find_trend(values, np.zeros(len(values)))
    assert before in [level.first for level in found.levels]


@given(st.lists(st.floats(1e-3, 1e9), max_size=40))
def test_levels_tile_the_values(values: list[float]) -> None:
    found = trend(*values)
    covered = [at for level in found.levels for at in range(level.first, level.last + 1)]
    assert covered == list(range(len(values)))
    for level in found.levels:
        assert level.low <= level.median <= level.high


@given(st.lists(st.floats(1.0, 2.0), min_size=3, max_size=30), st.floats(0.01, 1e6))
def test_the_unit_does_not_matter(values: list[float], unit: float) -> None:
    one, other = trend(*values), trend(*(value * unit for value in values))
    assert one.noise == pytest.approx(other.noise, abs=1e-9)
