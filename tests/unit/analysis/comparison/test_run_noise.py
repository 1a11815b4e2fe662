"""The change between runs of two programs, and its noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tb_privateuse1.analysis.comparison.run_noise import change_of_runs
from tb_privateuse1.analysis.comparison.step_figures import StepFigure, step_figure
from tb_privateuse1.trace.statistics import ERROR_RATE, student_t


def flat(value: int) -> StepFigure:
    return step_figure(np.full(16, value))


def test_the_noise_is_that_between_runs() -> None:
    base = [flat(100), flat(102), flat(104)]
    found = change_of_runs(base, [flat(110), flat(112)], "median")
    assert (found.base, found.now, found.change) == (102, 111, 9)
    error = math.sqrt((4 + 0 + 4 + 1 + 1) / 3 * (1 / 3 + 1 / 2))
    assert found.noise == pytest.approx(student_t(ERROR_RATE, 3) * error)
    assert found.between_runs


def test_steps_limit_the_noise_of_runs_that_agree_by_chance() -> None:
    steps = step_figure(np.arange(100, 117))
    found = change_of_runs([steps, steps], [steps, steps], "median")
    one = 0.929 * 8 / math.sqrt(17) / math.sqrt(2)
    assert found.noise == pytest.approx(student_t(ERROR_RATE, 32) * one * math.sqrt(2), rel=1e-3)
    assert not change_of_runs([steps], [steps], "median").between_runs


def test_the_quickest_step_is_known_better_than_the_median() -> None:
    delays = step_figure(1000 + np.array([0, 1, 2, 3, 5, 8, 400, 500, 600, 700, 800, 900]))
    least, median = (
        change_of_runs([delays], [delays], which).noise for which in ("least", "median")
    )
    assert least < median / 20


def test_more_comparisons_need_more() -> None:
    runs = [flat(100), flat(101), flat(103)]
    one, many = (change_of_runs(runs, runs, "least", count).noise for count in (1, 20))
    assert many > 2 * one
