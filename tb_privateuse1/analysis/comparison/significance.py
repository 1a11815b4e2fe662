"""Test whether two samples of steps differ by more than the spread within them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace.columns import lookup, positions
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.statistics import ERROR_RATE, student_t
from tb_privateuse1.trace.table import F64, I64

Test = Literal["paired", "welch"]
"""Student's interval of the mean of differences; Welch's of the difference of two means."""
Verdict = Literal["longer", "shorter", "within_noise", "within_bound", "same", "unknown"]


LEAST_PAIRS = 5
"""Fewer steps are not paired. Pairs have half of Welch's degrees of freedom. From five on, the
narrower spread of the differences outweighs that where half of the steps' variance is common to
both: Student's quantile at 4 is 1.37 times that at 8, below sqrt(2); of four steps it is 1.57."""


class Cells(Struct, frozen=True):
    """The values of a sample that are not 0, by row and step."""

    row: I64
    step: I64
    value: I64


class Sample(Struct, frozen=True):
    """By row, the mean over the steps and the variance between steps."""

    mean: F64
    variance: F64
    steps: int
    cells: Cells | None = None
    """None where only the means are known: they cannot be paired."""

    def take(self, rows: I64) -> Sample:
        """Return these rows, each at most once; for ``NONE``, a row that is 0 in every step."""
        mean, variance = (lookup(one, rows, 0.0) for one in (self.mean, self.variance))
        return Sample(mean, variance, self.steps, self.cells and self._cells(self.cells, rows))

    def _cells(self, cells: Cells, rows: I64) -> Cells:
        taken = np.flatnonzero(rows >= 0)
        place = positions(rows[taken], len(self.mean))[cells.row]
        kept = place >= 0
        return Cells(taken[place[kept]], cells.step[kept], cells.value[kept])


def sample_row(row: I64, step: I64, values: I64, rows: int, steps: int) -> Sample:
    """Return the sample of values summed by row and step; 0 where there is no value.

    An entry whose ``row`` or ``step`` is ``NONE`` does not count. Memory grows with the entries
    only, not with rows times steps.
    """
    inside = (row >= 0) & (step >= 0)
    cells, of = np.unique(row[inside] * max(steps, 1) + step[inside], return_inverse=True)
    total = sums(of.astype(np.int64), values[inside], len(cells))
    place, count = cells // max(steps, 1), max(steps, 1)
    known = Cells(place, cells % max(steps, 1), total)
    mean = np.bincount(place, total, rows) / count
    there = np.bincount(place, (total - mean[place]) ** 2, rows)
    off = there + (count - np.bincount(place, minlength=rows)) * mean**2
    return Sample(mean, off / max(steps - 1, 1), steps, known)


def chosen_test(base: Sample, now: Sample, *, repeats: bool) -> Test | None:
    """Return by which test the noise is; None with fewer than two steps in either sample.

    ``repeats`` says that the n-th steps of both are of the same name. The choice looks at no value:
    the better one of two tests would err more often than either.
    """
    if min(base.steps, now.steps) < 2:
        return None
    known = base.cells is not None and now.cells is not None
    enough = base.steps == now.steps >= LEAST_PAIRS
    return "paired" if repeats and known and enough else "welch"


def noise(base: Sample, now: Sample, *, repeats: bool = False) -> F64 | None:
    """Return by row the uncertainty of the difference of the means: half its interval.

    It is that of ``chosen_test``.
    """
    test = chosen_test(base, now, repeats=repeats)
    if test is None:
        return None
    if test == "paired" and base.cells is not None and now.cells is not None:
        return _paired_noise(base.cells, now.cells, len(base.mean), base.steps)
    return _welch_noise(base, now)


def _paired_noise(base: Cells, now: Cells, rows: int, steps: int) -> F64:
    """Return half of Student's interval of the mean difference of the n-th steps.

    What both do in the same step, such as a batch of its own length, is no noise.
    """
    row, step = (np.concatenate(pair) for pair in ((now.row, base.row), (now.step, base.step)))
    difference = sample_row(row, step, np.concatenate((now.value, -base.value)), rows, steps)
    error: F64 = np.sqrt(difference.variance / steps)
    return error * student_t(ERROR_RATE, steps - 1)


def _welch_noise(base: Sample, now: Sample) -> F64:
    """Return half of Welch's interval (Biometrika 34, 1947), which assumes no equal spread."""
    n, m = base.steps, now.steps
    a, b = base.variance / n, now.variance / m
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1))
    error: F64 = np.sqrt(a + b)
    return np.where(error > 0, error * student_t(ERROR_RATE, np.nan_to_num(freedom, nan=1.0)), 0.0)


def verdict(change: float, noise: float | None, bound: float | None) -> Verdict:
    """Return the verdict on a change with this noise and this error bound; None is unknown.

    The bound limits a systematic error and the noise is random, so they add.
    """
    size = abs(change)
    if size == 0:
        return "same"
    if bound is None:
        return "unknown"
    if size <= bound:
        return "within_bound"
    if noise is None:
        return "unknown"
    if size <= bound + noise:
        return "within_noise"
    return "longer" if change > 0 else "shorter"


def sample_steps(values: I64) -> Sample:
    """Return the sample of a single row with a value per step."""
    steps = len(values)
    return sample_row(np.zeros(steps, np.int64), np.arange(steps), values, 1, steps)
