"""Test whether two samples of steps differ by more than the spread within them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.statistics import ERROR_RATE, student_t
from tb_privateuse1.trace.table import F64, I64

Verdict = Literal["longer", "shorter", "within_noise", "within_bound", "same", "unknown"]


class Sample(Struct, frozen=True):
    """By row, the mean over the steps and the variance between steps."""

    mean: F64
    variance: F64
    steps: int

    def take(self, rows: I64) -> Sample:
        """Return these rows; for ``NONE``, a row that is 0 in every step."""
        return Sample(lookup(self.mean, rows, 0), lookup(self.variance, rows, 0), self.steps)


def sample_row(row: I64, step: I64, values: I64, rows: int, steps: int) -> Sample:
    """Return the sample of values summed by row and step; 0 where there is no value.

    An entry whose ``row`` or ``step`` is ``NONE`` does not count. Memory grows with the entries
    only, not with rows times steps.
    """
    inside = (row >= 0) & (step >= 0)
    cells, of = np.unique(row[inside] * max(steps, 1) + step[inside], return_inverse=True)
    total = sums(of.astype(np.int64), values[inside], len(cells)).astype(np.float64)
    place, count = cells // max(steps, 1), max(steps, 1)
    mean = np.bincount(place, total, rows) / count
    there = np.bincount(place, (total - mean[place]) ** 2, rows)
    off = there + (count - np.bincount(place, minlength=rows)) * mean**2
    return Sample(mean, off / max(steps - 1, 1), steps)


def noise(base: Sample, now: Sample) -> F64 | None:
    """Return by row the uncertainty of the difference of the means: half its interval.

    Welch's interval (B. L. Welch, Biometrika 34, 1947) does not assume equal spread. None with
    fewer than two steps in either sample.
    """
    n, m = base.steps, now.steps
    if min(n, m) < 2:
        return None
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
