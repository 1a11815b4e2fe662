"""Trials: gain, noise and verdict of two arms, their results, and the place of the estimate."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.comparison import trials
from tb_privateuse1.analysis.comparison.trials import TrialFigure
from tb_privateuse1.trace.statistics import ERROR_RATE
from tests.support.repeats import repeats


def runs(*means: int) -> list[list[int]]:
    """Return runs of three steps each, with these means."""
    return [[mean - 10, mean, mean + 10] for mean in means]


def test_a_gain_beyond_the_noise() -> None:
    found = trials.figure(runs(1000, 1010, 990, 1000), runs(890, 900, 910, 900))
    assert found.verdict == "faster"
    assert found.gain == pytest.approx(0.1, abs=1e-4)
    # The logarithms of the four ratios have a deviation of 0.0149. Half of that, with 3 degrees of
    # freedom 5.841 times at 1 %, is 0.0436, or 4.46 % of the 0.9 that are left.
    assert found.noise == pytest.approx(0.0401, abs=1e-4)


def test_a_machine_that_becomes_slow_slows_down_both_sides() -> None:
    """Only the ratio of neighbors is the remedy's."""
    slow = (1, 1, 3, 3, 2, 2)
    base, now = ([[each * 1_000_000 * factor] * 3 for factor in slow] for each in (10, 9))
    now[0] = [9_010_000] * 3
    found = trials.figure(base, now)
    assert (found.verdict, found.gain) == ("faster", pytest.approx(0.1, abs=1e-3))


@pytest.mark.parametrize("slope", [0.0, 0.05])
def test_equal_programs_on_a_machine_with_a_load_that_comes_and_goes(slope: float) -> None:
    rng = np.random.default_rng(2)
    times, wrong = repeats(400), 0
    turn = np.array([0, 1, 1, 0] * 3, np.bool_)
    for _ in range(times):
        walk = np.cumsum(rng.normal(slope, 0.2, len(turn)))  # in turn, of all runs of a trial
        run_ns = (1e6 * np.exp(walk + rng.normal(0, 0.05, len(turn)))).astype(int)
        base, now = ([[one] * 3 for one in run_ns[turn == side].tolist()] for side in (False, True))
        wrong += trials.figure(base, now).verdict != "within_noise"
    assert wrong <= ERROR_RATE * times + 3 * np.sqrt(ERROR_RATE * times)


def test_the_quickest_steps_show_a_gain_that_others_hide() -> None:
    """Other programs add time to half of the steps, in one arm more than in the other."""
    base = [[1000, 1003, 1001, 5000 + run, 9000] for run in range(4)]
    now = [[900, 902, 903, 9000, 20000 + run] for run in range(4)]
    assert trials.figure(base, now).verdict == "slower"
    found = trials.figure(base, now, "least")
    assert found.verdict == "faster"
    assert found.gain == pytest.approx(0.1)


def test_a_cost_beyond_the_noise() -> None:
    found = trials.figure(runs(900, 901), runs(1000, 1001))
    assert (found.verdict, found.gain < 0) == ("slower", True)


def test_a_gain_within_the_noise_is_none() -> None:
    found = trials.figure(runs(1000, 1200, 900, 1000), runs(980, 1100, 900, 1000))
    assert found.verdict == "within_noise"


def test_runs_that_are_alike_to_the_ns_are_no_gain() -> None:
    assert trials.figure(runs(1000, 1000), runs(1000, 1000)).verdict == "within_noise"


def test_one_run_of_an_arm_is_refused() -> None:
    with pytest.raises(ValueError, match="two runs"):
        trials.figure(runs(1000), runs(900))


def test_equal_programs_are_called_different_one_time_in_a_hundred() -> None:
    rng = np.random.default_rng(1)
    times = repeats(400)
    wrong = 0
    for _ in range(times):
        base, now = (rng.normal(1e6, 2e4, (4, 5)).astype(int).tolist() for _ in range(2))
        wrong += trials.figure(base, now).verdict != "within_noise"
    assert wrong <= ERROR_RATE * times + 3 * np.sqrt(ERROR_RATE * times)


def test_equal_losses() -> None:
    found = trials.results([[1.0, 0.5]] * 2, [[1.0001, 0.5]] * 2, "losses", 1e-3)
    assert (found.verdict, found.of) == ("equal", "losses")
    assert found.difference == pytest.approx(1e-4 / 0.75, rel=1e-3)


def test_losses_that_differ() -> None:
    assert trials.results([[1.0]] * 2, [[1.1]] * 2, "losses", 1e-3).verdict == "differs"


def test_a_loss_that_is_no_number_differs() -> None:
    found = trials.results([[1.0]] * 2, [[float("nan")]] * 2, "losses", 1e-3)
    assert (found.verdict, found.difference) == ("differs", 1.0)


def test_a_program_that_does_not_repeat_cannot_be_judged() -> None:
    found = trials.results([[1.0], [1.2]], [[1.1], [1.2]], "losses", 1e-3)
    assert found.verdict == "not_repeated"


@pytest.mark.parametrize("now", [[None, None], [[1.0, 2.0], [1.0, 2.0]]])
def test_results_that_cannot_be_compared_are_unknown(now: list[list[float] | None]) -> None:
    assert trials.results([[1.0], [1.0]], now, "outputs", 1e-3).verdict == "unknown"


@pytest.mark.parametrize(
    ("gain", "position"),
    [(0.10, "inside"), (0.075, "inside_by_noise"), (0.05, "below"), (0.2, "above")],
)
def test_the_place_of_the_gain(gain: float, position: str) -> None:
    measured = TrialFigure(100.0, 100 * (1 - gain), gain, 0.01, "faster")
    assert trials.estimate(0.12, 0.08, 0.15, measured).position == position


@pytest.mark.parametrize(("gain", "noise"), [(0.1, 0.11), (-0.2, 0.3), (0.5, 0.6)])
def test_noise_that_allows_no_gain_as_well(gain: float, noise: float) -> None:
    measured = TrialFigure(100.0, 100 * (1 - gain), gain, noise, "within_noise")
    assert trials.estimate(0.12, 0.08, 0.15, measured).position == "unclear"


def test_an_estimate_without_an_interval_has_no_place() -> None:
    measured = TrialFigure(100.0, 90.0, 0.1, 0.01, "faster")
    assert trials.estimate(0.12, None, None, measured).position is None
