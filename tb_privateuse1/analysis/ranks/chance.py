"""Test whether units (ranks, hosts, groups) with the same work differ by more than by chance.

Under the hypothesis of chance, the units of one step are exchangeable and steps are independent.
The probabilities by position and by count are upper bounds, so that their error rate holds for any
noise:

- by position: in each step the place of a unit among n is uniform on 1 to n. The sum of the places
  over the steps has a Chernoff bound.
- by count: how often a unit is the slowest is binomial. Chernoff again.
- by recurrence: outliers of a step fall on any unit. How often they fall on the same one, or the
  same ones, is binomial with the rate at which the others are outliers.
- by size: a t-test of the trimmed mean of the excess over the steps, for few units. Noise with
  long tails to the right, as that of computers, makes it conservative.
"""

from __future__ import annotations

import math

import numpy as np

from tb_privateuse1.trace.statistics import robust_deviation, student_t_tail
from tb_privateuse1.trace.table import F64, Bools

TESTS = 4
"""The number of tests of each unit; the smallest p-value counts this many times."""
LEAST_STEPS = 3
"""Fewer steps cannot tell a lasting difference from chance."""
_TILTS = np.geomspace(1e-4, 50.0, 160)
"""A Chernoff bound holds for any tilt; the best of these is at most some per cent off."""
_TRIM = 0.2
"""The share of the steps at each end. A fifth is the usual trimmed mean (Wilcox, Introduction to
Robust Estimation): it bears a fifth of outliers, and loses little where there are none. With a
tenth, one of 60 simulated jobs accuses an innocent rank; with two fifths none differs."""
SPREADS = 4.0
"""An outlier is this many robust standard deviations beyond the others."""
_PRIOR = 0.5
"""Outliers that the others have besides those seen, as in Jeffreys' estimate of a rate."""


def places(values: F64) -> F64:
    """Return the place of each unit (row) in each step (column), 1 for the greatest.

    Equal units all have the last of their places, which favors none.
    """
    ordered = np.sort(values, axis=0)
    found = np.empty_like(values)
    for step in range(values.shape[1]):
        below = np.searchsorted(ordered[:, step], values[:, step], side="left")
        found[:, step] = len(values) - below
    return found


def p_of_places(place: F64) -> F64:
    """Return by unit the probability of a sum of places as small as its own."""
    units, steps = place.shape
    tilt = _TILTS / units
    # The sum over k = 1 … n of exp(-tilt k), divided by n, as a logarithm.
    mean = -tilt + np.log(-np.expm1(-tilt * units)) - np.log(-np.expm1(-tilt)) - math.log(units)
    tilt_all, mean_all = np.append(tilt, 50.0), np.append(mean, -50.0 - math.log(units))
    log_p = np.min(place.sum(axis=1)[:, None] * tilt_all + steps * mean_all, axis=1)
    found: F64 = np.exp(np.minimum(log_p, 0.0))
    return found


def p_of_count(count: F64, steps: int, chance: float) -> F64:
    """Return the probability of at least ``count`` of ``steps`` events of this chance each."""
    share = count / steps
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = np.where(share > 0, share * np.log(share / chance), 0.0)
        miss = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - chance)), 0.0)
    return np.where(share > chance, np.exp(-steps * (hit + miss)), 1.0)


def outliers(excess: F64) -> Bools:
    """Return by unit and step whether it is beyond the spread of all units in this step."""
    found: Bools = excess > SPREADS * robust_deviation(excess)
    return found


def p_of_recurrence(outlier: Bools) -> F64:
    """Return by unit the probability of being an outlier so often, by the rate of the others.

    The others are the units that are outliers less often. Units that are so together, such as those
    of a node, share their noise: they count as one, and the others in blocks of as many.
    """
    units, steps = outlier.shape
    count = outlier.sum(axis=1)
    found = np.ones(units)
    for least in np.unique(count[count > 0]).tolist():
        together = count >= least
        size = int(together.sum())
        if 2 * size > units:
            continue
        seen = count[~together].sum() / size + _PRIOR
        rate = seen / ((units - size) * steps / size + _PRIOR)
        found[count == least] = p_of_count(np.array([float(least)]), steps, rate)[0] / size
    return found


def p_of_mean(excess: F64) -> F64:
    """Return by unit the one-sided probability of its mean over the steps.

    By Yuen's test of the trimmed mean (Biometrika 61, 1974) with Student's t: a fifth of the steps
    at each end has only the weight of the next ones, so that single hiccups hide nothing.
    """
    steps = excess.shape[1]
    cut = int(steps * _TRIM)
    ordered = np.sort(excess, axis=1)
    mean = ordered[:, cut : steps - cut].mean(axis=1)
    winsorized = np.clip(ordered, ordered[:, [cut]], ordered[:, [steps - 1 - cut]])
    error = winsorized.std(axis=1, ddof=1) / ((1 - 2 * cut / steps) * math.sqrt(steps))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, mean / error, np.where(mean > 0, np.inf, 0.0))
    return student_t_tail(t, steps - 2 * cut - 1)


def p_values(values: F64, excess: F64) -> F64:
    """Return by unit the p-value of being slower than the others in lasting fashion.

    ``values`` and ``excess`` over the others have a row per unit and a column per step. It is
    corrected for the number of tests of a unit, not for that of the units.
    """
    units, steps = values.shape
    if units < 2 or steps < LEAST_STEPS:
        return np.ones(units)
    place = places(values)
    slowest = (place == 1).sum(axis=1).astype(np.float64)
    each = (
        p_of_places(place),
        p_of_count(slowest, steps, 1 / units),
        p_of_recurrence(outliers(excess)),
        p_of_mean(excess),
    )
    found: F64 = np.minimum(TESTS * np.min(each, axis=0), 1.0)
    return found
