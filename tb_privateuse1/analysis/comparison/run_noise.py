"""Compare a figure of several runs with that of several others, beyond the noise between runs.

Steps within a run agree better than runs do: memory layout, clocks and other programs differ from
run to run. So the noise is that between runs, at least what the steps within them leave uncertain.
Other programs only ever add time, so a slower program shows in its quickest steps as well (J. Chen
and J. Revels, Robust benchmarking in noisy environments, 2016).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from tb_privateuse1.analysis.comparison.step_figures import StepFigure
from tb_privateuse1.trace.statistics import ERROR_RATE, student_t

Statistic = Literal["median", "least"]


class Change(Struct, frozen=True):
    """The change of a statistic of the runs, on average; the noise is half the interval."""

    base: float
    now: float
    noise: float
    between_runs: bool
    """Whether the noise between runs is known: there are three runs or more in all."""

    @property
    def change(self) -> float:
        """Return by how much it is more now."""
        return self.now - self.base


def change_of_runs(
    base: Sequence[StepFigure],
    now: Sequence[StepFigure],
    statistic: Statistic,
    comparisons: int = 1,
) -> Change:
    """Return the change and its noise, by Student's t for two samples of runs.

    The level is divided by the number of comparisons (Bonferroni). Neither side may be empty.
    """
    sides = [[getattr(run, statistic) for run in side] for side in (base, now)]
    means = [sum(side) / len(side) for side in sides]
    level = ERROR_RATE / comparisons
    within = _within(base, statistic, level) ** 2 + _within(now, statistic, level) ** 2
    freedom = sum(len(side) - 1 for side in sides)
    between = 0.0
    if freedom:
        squares = sum(
            (x - mean) ** 2 for side, mean in zip(sides, means, strict=True) for x in side
        )
        error = math.sqrt(squares / freedom * sum(1 / len(side) for side in sides))
        between = float(student_t(level, freedom)) * error
    return Change(means[0], means[1], max(between, math.sqrt(within)), freedom > 0)


def _within(runs: Sequence[StepFigure], statistic: Statistic, level: float) -> float:
    """Return how uncertain the mean of the runs' statistics is by the spread of their steps."""
    squares = sum(_standard_error(run, statistic) ** 2 for run in runs)
    freedom = sum(run.steps - 1 for run in runs)
    return float(student_t(level, freedom)) * math.sqrt(squares) / len(runs)


def _standard_error(run: StepFigure, statistic: Statistic) -> float:
    """Return the standard error of a statistic of a run's steps.

    Of the median, by the quartiles of a normal distribution: 1.2533 / 1.349 IQR / sqrt(n). Of the
    least, by exponential delays: their scale is (quartile - least) / 0.2877, and the error 1 / n of
    it.
    """
    if run.steps < 1:
        return 0.0
    if statistic == "median":
        return 0.929 * (run.high - run.low) / math.sqrt(run.steps)
    return (run.low - run.least) / 0.2877 / run.steps
