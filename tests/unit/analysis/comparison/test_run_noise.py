"""The change between runs of two programs, and its noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tb_privateuse1.analysis.comparison.run_noise import (
    LEVEL,
    change_of_runs,
    student_t,
    tail_probability,
)
from tb_privateuse1.analysis.comparison.significance import student_t_quantile
from tb_privateuse1.analysis.comparison.step_figures import StepFigure, step_figure


def flat(value: int) -> StepFigure:
    return step_figure(np.full(16, value))


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 12, 30])
def test_student_t_agrees_with_the_table(freedom: int) -> None:
    (expected,) = student_t_quantile(np.array([float(freedom)]))
    assert student_t(LEVEL, freedom) == pytest.approx(expected, rel=3e-4)


def test_many_degrees_of_freedom_are_the_normal_distribution() -> None:
    assert tail_probability(1.959964, 10_000) == pytest.approx(0.05, abs=1e-6)
    assert student_t(LEVEL, 200) == pytest.approx(student_t(LEVEL, 201), rel=0.01)


def test_the_noise_is_that_between_runs() -> None:
    base = [flat(100), flat(102), flat(104)]
    found = change_of_runs(base, [flat(110), flat(112)], "median")
    assert (found.base, found.now, found.change) == (102, 111, 9)
    error = math.sqrt((4 + 0 + 4 + 1 + 1) / 3 * (1 / 3 + 1 / 2))
    assert found.noise == pytest.approx(student_t(LEVEL, 3) * error)
    assert found.between_runs


def test_steps_limit_the_noise_of_runs_that_agree_by_chance() -> None:
    steps = step_figure(np.arange(100, 117))
    found = change_of_runs([steps, steps], [steps, steps], "median")
    one = 0.929 * 8 / math.sqrt(17) / math.sqrt(2)
    assert found.noise == pytest.approx(student_t(LEVEL, 32) * one * math.sqrt(2), rel=1e-3)
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
