"""Compare units (ranks, hosts or process groups) that do the same work, step by step."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.ranks.chance import (
    LEAST_STEPS,
    SPREADS,
    p_values,
)
from tb_privateuse1.trace.statistics import ERROR_RATE, robust_deviation, student_t
from tb_privateuse1.trace.table import F64, Bools

_FEW = 16
"""Up to this many units, each is compared with the others alone; the median of more is robust."""
_HICCUPS = 0.1
"""The share of steps with the greatest excess that does not count: one hiccup shows nothing."""


class Comparison(Struct, frozen=True):
    """Results by unit."""

    excess_ns: F64
    """Units by steps: time beyond the median of the other units."""
    p_value: F64
    """Not corrected for the number of units."""
    stands_out: Bools
    """Whether the excess is beyond the lasting spread of the other units."""


def compare_units(values: F64, excess: F64 | None = None) -> Comparison | None:
    """Compare units (rows) over steps (columns); None with too few of either.

    ``excess`` over the others is given if it is not that over the median of all of them.
    """
    if len(values) < 2 or values.shape[1] < LEAST_STEPS:
        return None
    if excess is None:
        excess = values - median_of_others(values)
    typical = without_hiccups(excess)
    stands_out = typical > SPREADS * _spread(typical)  # devices of one type differ for good
    return Comparison(excess, p_values(values, excess), stands_out)


def without_hiccups(excess: F64) -> F64:
    """Return the mean over the last axis without its greatest tenth, at least one value."""
    steps = excess.shape[-1]
    kept = max(steps - max(round(steps * _HICCUPS), 1), 1)
    smallest: F64 = np.sort(excess, axis=-1)[..., :kept]
    mean: F64 = smallest.mean(axis=-1)
    return mean


def mean_with_bound(excess: F64) -> tuple[float, float]:
    """Return the mean over the steps, and half of its interval (``ERROR_RATE``)."""
    steps = len(excess)
    error = float(excess.std(ddof=1)) / math.sqrt(steps)
    return float(excess.mean()), error * float(student_t(ERROR_RATE, steps - 1))


def median_of_others(values: F64) -> F64:
    """Return by unit and step the median of the other units."""
    if len(values) > _FEW:
        return np.broadcast_to(np.median(values, axis=0), values.shape)
    return np.stack([np.median(np.delete(values, i, axis=0), axis=0) for i in range(len(values))])


def _spread(typical: F64) -> F64:
    """Return by unit the robust deviation of the other units' typical excess."""
    if len(typical) > _FEW:
        return np.full(len(typical), robust_deviation(typical))
    return np.array([robust_deviation(np.delete(typical, i)) for i in range(len(typical))])
