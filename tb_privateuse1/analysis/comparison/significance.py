"""Test whether two samples of steps differ by more than the spread within them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.table import I64

Floats = NDArray[np.float64]
Verdict = Literal["longer", "shorter", "within_noise", "within_bound", "same", "unknown"]

_QUANTILES = (
    63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169,
    3.106, 3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845,
    2.831, 2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756, 2.750,
)  # fmt: skip
"""Student's t, two-sided 99 %, by degrees of freedom from 1."""


def student_t_quantile(freedom: Floats) -> Floats:
    """Return Student's t for 99 %, to 0.3 %; fractional degrees of freedom are rounded down."""
    whole = np.clip(np.floor(freedom), 1, None)
    few = np.array(_QUANTILES)[np.minimum(whole, len(_QUANTILES)).astype(np.int64) - 1]
    return np.where(whole <= len(_QUANTILES), few, 2.576 + 5.2 / whole)


class Sample(Struct, frozen=True):
    """By row, the mean over the steps and the variance between steps."""

    mean: Floats
    variance: Floats
    steps: int

    def take(self, rows: I64) -> Sample:
        """Return these rows; for ``NONE``, a row that is 0 in every step."""
        mean, variance = np.append(self.mean, 0.0), np.append(self.variance, 0.0)
        return Sample(mean[rows], variance[rows], self.steps)


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


def noise(base: Sample, now: Sample) -> Floats | None:
    """Return by row the uncertainty of the difference of the means: half its 99 % interval.

    Welch's interval (B. L. Welch, Biometrika 34, 1947) does not assume equal spread. None with
    fewer than two steps in either sample.
    """
    n, m = base.steps, now.steps
    if min(n, m) < 2:
        return None
    a, b = base.variance / n, now.variance / m
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (m - 1))
    error: Floats = np.sqrt(a + b)
    return np.where(error > 0, error * student_t_quantile(np.nan_to_num(freedom, nan=1.0)), 0.0)


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
