"""Order statistics of groups, robust deviations, and Student's t with its error rates."""

from __future__ import annotations

import functools
import math
from typing import Generic, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.trace.columns import Scalar, lookup
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import F64, HALF_INT64, I32, I64

T = TypeVar("T", bound=np.generic)

ERROR_RATE = 0.01
"""How often chance alone is called a difference, over all comparisons of a kind: 1 in 100, as a
report shows some hundred figures. An interval of a mean has 99 % confidence accordingly."""

COVERED = 0.95
"""The share of values that lie within a bound of single values, such as clock offsets."""

_NORMAL_MAD = 1.4826
"""The standard deviation of a normal distribution by its median absolute deviation."""
_EXACT_FREEDOM = 200
"""Beyond, the tail of Student's t is close to that of the normal distribution."""
_SUMMED_FREEDOM = 30
"""Beyond, the expansion of the quantile is exact to 1e-3, down to a level of 1e-6."""


class SortedGroups(Struct, Generic[T], frozen=True):
    """The values of each group in order: ``count`` values from ``first`` on."""

    values: NDArray[T]
    first: I64
    count: I64

    def at(self, place: I64, empty: Scalar) -> NDArray[T]:
        """Return the value at a place of each group, 0 for the least; ``empty`` without values.

        Places beyond the group's values are its last.
        """
        row = self.first + np.clip(place, 0, np.maximum(self.count - 1, 0))
        return lookup(self.values, np.where(self.count > 0, row, NONE), empty)

    def quantile(self, share: float, empty: Scalar) -> NDArray[T]:
        """Return the value nearest to a share (0 to 1) of each group's values."""
        return self.at(np.rint(share * (self.count - 1)).astype(np.int64), empty)


def sort_groups(group: I32 | I64, values: NDArray[T], groups: int) -> SortedGroups[T]:
    """Sort the values of each group; no row's group is ``NONE``."""
    count = np.bincount(group, minlength=groups)
    first = np.cumsum(count) - count
    if values.dtype == np.int64 and len(values):
        low = int(values.min())
        span = int(values.max()) - low + 1
        if groups * span < HALF_INT64:  # numpy sorts whole numbers many times as fast as places
            key = np.sort(group * np.int64(span) + (values.astype(np.int64, copy=False) - low))
            key -= np.repeat(np.arange(groups) * span - low, count)
            return SortedGroups(key.astype(values.dtype), first, count)
    order = np.argsort(values)
    # numpy sorts small integers in linear time.
    small = group[order].astype(np.int16) if groups < 1 << 15 else group[order]
    order = order[np.argsort(small, kind="stable")]
    return SortedGroups(values[order], first, count)


def lower_medians(group: I32 | I64, values: I64, groups: int) -> I64:
    """Return the lower median of each group's values; ``MISSING`` for an empty group."""
    ordered = sort_groups(group, values, groups)
    return ordered.at((ordered.count - 1) // 2, MISSING)


def medians(group: I32 | I64, values: F64, groups: int) -> F64:
    """Return the median of each group's values; 0 for an empty group."""
    ordered = sort_groups(group, values, groups)
    middle: F64 = ordered.at((ordered.count - 1) // 2, 0.0) + ordered.at(ordered.count // 2, 0.0)
    return middle / 2


def robust_deviation(values: F64, center: F64 | float | None = None) -> F64:
    """Return the standard deviation by the median distance from the median, along the first axis.

    It is that of a normal distribution; single values hardly change it. ``center`` replaces the
    median of the values.
    """
    middle = np.median(values, axis=0) if center is None else center
    deviation: F64 = _NORMAL_MAD * np.median(np.abs(values - middle), axis=0)
    return deviation


def student_t_tail(t: F64, freedom: int) -> F64:
    """Return P(T >= t) for whole degrees of freedom, by the finite sums of Abramowitz 26.7.3-4."""
    if freedom > _EXACT_FREEDOM:
        return np.array([math.erfc(one / math.sqrt(2)) / 2 for one in t.tolist()])
    angle = np.arctan(np.abs(t) / math.sqrt(freedom))
    cosine, sine = np.cos(angle), np.sin(angle)
    odd = freedom % 2
    term = cosine.copy() if odd else np.ones_like(t)
    total = np.zeros_like(t)
    for i in range(freedom // 2):
        total += term
        term = term * cosine**2 * ((2 * i + 1 + odd) / (2 * i + 2 + odd))
    inside = (angle + sine * total) * 2 / math.pi if odd else sine * total
    tail = np.maximum((1 - inside) / 2, 1e-16)  # the sums are exact to about this
    return np.where(t >= 0, tail, 1 - tail)


def student_t(level: float, freedom: float | F64) -> F64:
    """Return Student's t that is exceeded, in either direction, with the probability ``level``.

    Fractional degrees of freedom are rounded down, those below 1 up.
    """
    whole = np.maximum(np.floor(np.asarray(freedom, np.float64)), 1)
    few = np.minimum(whole, _SUMMED_FREEDOM).astype(np.int64)
    summed = np.zeros(_SUMMED_FREEDOM + 1)
    for degrees in np.flatnonzero(np.bincount(few.ravel())).tolist():
        summed[degrees] = _quantile(level, degrees)
    # Abramowitz and Stegun 26.7.5, from the quantile of the normal distribution.
    z = _quantile(level, _EXACT_FREEDOM + 1)
    expanded = (
        z
        + (z**3 + z) / (4 * whole)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * whole**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * whole**3)
    )
    return np.where(whole <= _SUMMED_FREEDOM, summed[few], expanded)


@functools.lru_cache(maxsize=1024)
def _quantile(level: float, freedom: int) -> float:
    """Return the t with P(|T| >= t) = ``level``, of whole degrees of freedom."""
    low, high = 0.0, math.pi / 2
    for _ in range(8):  # to 2 ** -48 of the angle
        angle = np.linspace(low, high, 66)[1:-1]
        inside = int((2 * student_t_tail(np.tan(angle), freedom) > level).sum())
        step = (high - low) / 65
        low, high = low + inside * step, low + (inside + 1) * step
    return math.tan(high)
