"""A figure of many recordings in order of time: its levels, its noise, and what lies outside.

Levels come from binary segmentation for changes of the mean (A. J. Scott and M. Knott, Biometrics
30, 1974): the split with the greatest gain is taken while the gain exceeds a penalty of the kind of
Schwarz's criterion (Y.-C. Yao, Statistics & Probability Letters 6, 1988). Running medians of three
(J. W. Tukey, Exploratory Data Analysis, 1977) take single outliers away before; they keep levels.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace.statistics import robust_deviation
from tb_privateuse1.trace.table import F64

_LEAST_RECORDINGS = 3
"""Fewer have no noise that could be measured."""
_LEAST_LEVEL = 2
"""A single value is no level of its own: it may be an outlier."""
_PENALTY = 3.0
"""Variances of the noise per unit of log(n): one for the level, two for where it begins."""
_ROUNDING = 1e-6
"""Of logarithms: equal values differ by the rounding of their sums."""
_BAND = 2.0
"""Standard deviations: about 95 % of values without a change."""


class TrendLevel(Struct, frozen=True):
    """Values in a row that agree within their noise."""

    first: int
    last: int
    """Positions in the values, both included."""
    median: float
    low: float
    """The noise band around the median: about 95 % of values without a change are inside."""
    high: float


class Trend(Struct, frozen=True):
    """The levels of a figure; without noise, which needs three values, there is one level."""

    noise: float | None
    """The standard deviation from one recording to the next as a share of the value, without the
    changes of level."""
    levels: tuple[TrendLevel, ...]
    outside: tuple[int, ...]
    """Positions of single values outside of the band of their level."""


def find_trend(values: F64, errors: F64) -> Trend:
    """Return the trend of values above 0 in order of time.

    ``errors`` are the standard errors within each recording, 0 where they are not known. The noise
    is never less than their root mean square: two recordings can agree by chance. Noise and changes
    are shares of the values, so levels are found in logarithms.
    """
    n = len(values)
    if n == 0:
        return Trend(None, (), ())
    logs = np.log(values)
    noise = _noise(logs, errors / values)
    starts = [0, *_changes(_smooth(logs), noise), n] if noise is not None else [0, n]
    levels = tuple(
        _level(logs, first, behind - 1, noise) for first, behind in itertools.pairwise(starts)
    )
    outside = [
        at
        for level in levels
        for at in range(level.first, level.last + 1)
        if noise is not None and abs(logs[at] - math.log(level.median)) > _BAND * noise + _ROUNDING
    ]
    return Trend(noise, levels, tuple(outside))


def _noise(logs: F64, errors: F64) -> float | None:
    if len(logs) < _LEAST_RECORDINGS:
        return None
    # A change of level is in one difference only, which the median ignores.
    between = float(robust_deviation(np.diff(logs), center=0.0)) / math.sqrt(2)
    within = math.sqrt(float(np.mean(errors**2)))
    return max(between, within)


def _smooth(logs: F64) -> F64:
    """Return running medians of three; at both ends the median is that of the last three."""
    middle = np.median(np.lib.stride_tricks.sliding_window_view(logs, 3), axis=1)
    return np.concatenate((middle[:1], middle, middle[-1:]))


def _changes(logs: F64, noise: float) -> list[int]:
    """Return where a new level begins, in order."""
    penalty = max(_PENALTY * math.log(len(logs)) * noise**2, _ROUNDING**2)
    sums = np.concatenate(([0.0], np.cumsum(logs - logs.mean())))
    found, todo = [], [(0, len(logs))]
    while todo:
        first, behind = todo.pop()
        at, gain = _best_split(sums, first, behind)
        if gain > penalty:
            found.append(at)
            todo += [(first, at), (at, behind)]
    return sorted(found)


def _best_split(sums: F64, first: int, behind: int) -> tuple[int, float]:
    """Return the split of [first, behind) with the greatest gain in squared distance."""
    at = np.arange(first + _LEAST_LEVEL, behind - _LEAST_LEVEL + 1)
    if not len(at):
        return first, 0.0
    left, right = at - first, behind - at
    apart = (sums[at] - sums[first]) / left - (sums[behind] - sums[at]) / right
    gain = apart**2 * left * right / (behind - first)
    best = int(np.argmax(gain))
    return int(at[best]), float(gain[best])


def _level(logs: F64, first: int, last: int, noise: float | None) -> TrendLevel:
    median = float(np.median(logs[first : last + 1]))
    band = 0.0 if noise is None else _BAND * noise
    return TrendLevel(
        first, last, math.exp(median), math.exp(median - band), math.exp(median + band)
    )
