"""A step is slow if the spread of the last steps does not explain it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tb_privateuse1.capture.demand.watches import SlowSteps

MS = 1_000_000
Draw = Callable[[np.random.Generator, int], np.ndarray]


def alarms(durations_ms: np.ndarray) -> list[int]:
    """Return the numbers of the steps that are slow."""
    slow = SlowSteps()
    return [i for i, ms in enumerate(durations_ms) if slow.is_slow(round(ms * MS))]


def normal(random: np.random.Generator, count: int) -> np.ndarray:
    return random.normal(120, 3, count)


DISTRIBUTIONS: dict[str, Draw] = {
    "normal, 2.5 %": normal,
    "normal, 15 %": lambda r, n: r.normal(120, 18, n),
    "lognormal, 30 %": lambda r, n: 120 * r.lognormal(0, 0.3, n),
    "exponential above 100": lambda r, n: 100 + r.exponential(20, n),
    "two modes": lambda r, n: r.normal(np.where(r.random(n) < 0.1, 200, 120), 5),
    "logging each 10th": lambda r, n: r.normal(np.where(np.arange(n) % 10, 120, 180), 5),
}
"""Durations of steps of programs in which nothing happens."""


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_false_alarms_are_rare(name: str) -> None:
    random = np.random.default_rng(7)
    found = sum(len(alarms(DISTRIBUTIONS[name](random, 5000))) for _ in range(4))
    assert found <= 2


def test_a_slow_step_is_found() -> None:
    durations = normal(np.random.default_rng(0), 500)
    durations[412] = 340
    assert alarms(durations) == [412]


def test_before_there_is_a_history_nothing_is_slow() -> None:
    durations = normal(np.random.default_rng(0), 300)
    durations[:3] = 60_000  # compilation
    durations[40] = 340
    assert alarms(durations) == []


def test_a_little_slower_is_not_slow_however_steady_the_steps() -> None:
    durations = np.full(300, 120.0)
    durations[200], durations[250] = 143, 145
    assert alarms(durations) == [250]


def test_one_of_each_kind_is_enough() -> None:
    durations = normal(np.random.default_rng(0), 5000)
    durations[999::1000] = [2000, 2100, 1900, 2050, 1950]  # checkpoints
    durations[2500] = 600
    assert alarms(durations) == [999, 2500]


def test_steps_that_stay_slower_are_slow_once() -> None:
    durations = normal(np.random.default_rng(0), 2000)
    durations[1000:] *= 2
    assert alarms(durations) == [1000]


def test_the_usual_step() -> None:
    slow = SlowSteps()
    for ms in normal(np.random.default_rng(0), 200):
        slow.is_slow(round(ms * MS))
    assert slow.usual_ns == pytest.approx(120 * MS, rel=0.01)
