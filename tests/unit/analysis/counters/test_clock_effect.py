"""The test of chance, and what a clock explains of equal calls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_privateuse1.analysis.counters import clock_effect
from tb_privateuse1.trace.model import Trace
from tests.support.throttling import HIGH_MHZ, Device, counter, falls, run

SIGNS = st.lists(st.sampled_from((-1.0, 1.0)), min_size=1, max_size=60)


def program() -> Trace:
    clock = falls()
    return run(Device(clock), *counter(clock, 130_000))


TRACE = program()
ROWS = np.arange(len(TRACE.kernels))


def same_sized(signs: list[float]) -> float:
    ones = np.ones(len(signs))
    return clock_effect.chance((ones, np.array(signs), ones))


@given(SIGNS)
def test_chance_is_a_bound_of_random_signs(signs: list[float]) -> None:
    against, number = signs.count(-1.0), len(signs)
    draws = np.random.default_rng(number).binomial(number, 0.5, 4_000)
    as_many = float((draws >= against).mean())
    assert 0 <= same_sized(signs) <= 1
    assert as_many <= same_sized(signs) + 0.02


def test_seven_of_seven_may_be_chance_and_eight_of_eight_are_none() -> None:
    assert same_sized([-1.0] * 7) > clock_effect.CHANCE > same_sized([-1.0] * 8)


def test_one_great_change_alone_is_no_evidence() -> None:
    ones = np.ones(100)
    effect = np.append(-1_000.0, np.zeros(99))
    assert clock_effect.chance((ones, effect, ones)) > 0.1


def test_nothing_that_changes_is_no_evidence() -> None:
    none = np.empty(0)
    assert clock_effect.chance((none, none, none)) == 1.0


def test_the_effect_has_the_calls_that_follow() -> None:
    (effect,) = clock_effect.clock_effects(TRACE, ROWS)
    assert (effect.high, effect.kernels, len(effect.rows)) == (HIGH_MHZ, 3, len(ROWS))
    assert effect.slope == pytest.approx(1, abs=0.02)
    assert effect.explained > 0.95
    assert not (effect.slow & effect.fast).any()


@pytest.mark.parametrize("unit", [1e-3, 1e6])
def test_the_unit_does_not_matter(unit: float) -> None:
    samples = TRACE.counter_samples
    scaled = replace(samples, value=samples.value * unit)
    (effect,) = clock_effect.clock_effects(TRACE, ROWS)
    (other,) = clock_effect.clock_effects(replace(TRACE, counter_samples=scaled), ROWS)
    assert other.high == pytest.approx(effect.high * unit)
    assert other.slope == pytest.approx(effect.slope, abs=0.01)
    assert other.usual_ns.tolist() == effect.usual_ns.tolist()


@pytest.mark.parametrize("value", [0.0, -1.0, 1_500.0])
def test_a_clock_that_does_not_vary_or_stands_has_no_effect(value: float) -> None:
    samples = TRACE.counter_samples
    flat = replace(samples, value=np.full(len(samples), value))
    assert clock_effect.clock_effects(replace(TRACE, counter_samples=flat), ROWS) == []


def test_no_calls_and_no_counters_have_none() -> None:
    assert clock_effect.clock_effects(TRACE, ROWS[:0]) == []
    assert clock_effect.clock_effects(Trace(), ROWS[:0]) == []
