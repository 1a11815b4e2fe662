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
    assert found.gain == pytest.approx(0.1)
    # Welch: sqrt(2 * (200 / 3) / 4) = 5.77, with 6 degrees of freedom 3.707 times that at 1 %.
    assert found.noise == pytest.approx(0.0214, abs=1e-4)


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


def test_an_estimate_without_an_interval_has_no_place() -> None:
    measured = TrialFigure(100.0, 90.0, 0.1, 0.01, "faster")
    assert trials.estimate(0.12, None, None, measured).position is None
