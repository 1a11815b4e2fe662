"""Decide whether the durations of equal calls follow a recorded clock, and whether power limits it.

Work that the clock limits takes time in proportion to 1 / clock, so within calls of equal work
log(duration) falls with log(clock) by a slope of about 1; work that memory limits has a slope of 0.
Slow drifts of two series correlate by chance, their changes do not (Granger & Newbold, Spurious
regressions in econometrics, 1974): so each stretch of one clock is compared with its neighbors.
"""

from __future__ import annotations

import math
import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.counters import recorded
from tb_privateuse1.analysis.counters.recorded import Samples
from tb_privateuse1.trace.groupby import group_rows, split_by_value
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I64, Bools

_CLOCK = re.compile(r"(?<![a-z])[kmg]?hz(?![a-z])|clock|freq", re.IGNORECASE)
_POWER = re.compile(r"(?<![A-Za-z])[mk]?W(?![A-Za-z])|(?i:power|watt)")
"""Units and words of all vendors, in a counter's name or key. They only choose candidates."""

CHANCE = 0.01
"""The most recordings in which unrelated counters pass the test of chance: 1 in 100."""
LOW = 0.95
"""Below this share of the high clock a call is slow; within 5 % clocks vary without a reason."""
_HIGH_QUANTILE = 0.9
_CALLS, _EACH = 8, 3
_KERNELS = 2
SLOPE = (0.5, 1.25)
_EXPLAINED = 0.5
AT_TOP, SLOW_AT_TOP, _FAST_AT_TOP = 0.97, 0.8, 0.5
_BOUND = 3.18
"""Of the Gaussian tail, for sums of random signs."""
_LEVEL = 0.025
"""A clock that changes by less has not changed."""

Contrasts = tuple[F64, F64, F64]
"""Of stretches against their neighbors: a clock, what may follow it, and the weight."""


class ClockEffect(Struct, frozen=True):
    """Calls whose durations follow a clock; arrays have an entry per call, by start."""

    counter: int
    """The clock's row in ``trace.counter_series``."""
    high: float
    """The value that the clock has, or exceeds, in a tenth of the calls' time."""
    rows: I64
    """Rows of ``trace.kernels``."""
    value: F64
    """The clock's mean while the call runs."""
    usual_ns: I64
    """The median duration of the same calls at the high clock."""
    group: I64
    """Numbers equal work."""
    kernels: int
    """How many groups of equal work follow the clock."""
    slope: float
    """Of log(duration) with log(1 / clock), over all of these calls: about 1."""
    explained: float
    """The share of the variance of log(duration) within equal work that the clock explains."""

    @property
    def slow(self) -> Bools:
        """Return the calls below the high clock that take longer than at it."""
        return self.value < LOW * self.high

    @property
    def fast(self) -> Bools:
        """Return the calls at the high clock."""
        return ~self.slow


def candidates(trace: Trace, pattern: re.Pattern[str]) -> dict[int, Samples]:
    """Return the counters whose name or key matches and that have two values or more."""
    series = trace.counter_series
    return {
        row: form
        for row, form in recorded.recorded_samples(trace).items()
        if len(form.at_ns) > 1
        and any(pattern.search(trace.text(int(c[row]))) for c in (series.name, series.key))
    }


def clock_effects(trace: Trace, rows: I64) -> list[ClockEffect]:
    """Return the clock that each device's calls follow, if any; ``rows`` of measured kernels."""
    clocks = {
        row: form
        for row, form in candidates(trace, _CLOCK).items()
        if form.value.min() < LOW * form.value.max()
    }
    device = trace.lanes.device[trace.kernels.lane[rows]]
    devices = list(split_by_value(device)) if clocks else []
    found = []
    for _, own in devices:
        most = CHANCE / (len(clocks) * len(devices))
        effects = [
            effect
            for counter, form in clocks.items()
            if (effect := _effect(trace, rows[own], counter, form, most)) is not None
        ]
        found += sorted(effects, key=lambda effect: -effect.explained)[:1]
    return found


def power_limit(trace: Trace, effect: ClockEffect) -> int | None:
    """Return the power counter that is at its greatest while the clock is low, and only then."""
    powers = {row: f for row, f in candidates(trace, _POWER).items() if row != effect.counter}
    start, end = trace.kernels.start_ns[effect.rows], trace.kernels.end_ns[effect.rows]
    clock = _centered(np.log(effect.value), effect.group)
    best: tuple[float, int | None] = (0.0, None)
    for counter, form in powers.items():
        value = form.means(start, end)
        if np.isnan(value).any() or value.max() <= 0:
            continue
        top = value >= AT_TOP * value.max()
        entries = int((form.value >= AT_TOP * value.max()).sum())
        slow, fast = (
            float(np.average(top[own], weights=(end - start)[own]))
            for own in (effect.slow, effect.fast)
        )
        if entries < _EACH or slow < SLOW_AT_TOP or fast > _FAST_AT_TOP * slow:
            continue
        at_top = _centered(top.astype(np.float64), effect.group)
        length = (end - start).astype(np.float64)
        if chance(_contrasts(effect.value, clock, at_top, length)) > CHANCE / len(powers):
            continue
        best = max(best, (slow - fast, counter), key=lambda one: one[0])
    return best[1]


def chance(contrasts: Contrasts) -> float:
    """Return a bound of the chance that two unrelated series go against each other as much.

    Each contrast of an unrelated series has either sign equally often, so their sum is one of
    weighted random signs (Bentkus & Dzindzalieta, A tight Gaussian bound for weighted sums of
    Rademacher random variables, 2015). One great change alone is no evidence.
    """
    cause, effect, weight = contrasts
    products = -weight * cause * effect
    norm = math.sqrt(float((products**2).sum()))
    if norm == 0:
        return 1.0
    return min(1.0, _BOUND * math.erfc(float(products.sum()) / norm / math.sqrt(2)) / 2)


def _effect(
    trace: Trace, rows: I64, counter: int, form: Samples, most: float
) -> ClockEffect | None:
    """Return the calls that follow one clock; None unless chance is at most ``most``."""
    kernels = trace.kernels
    length = kernels.end_ns[rows] - kernels.start_ns[rows]
    value = form.means(kernels.start_ns[rows], kernels.end_ns[rows])
    usable = (length > 0) & (value > 0)  # not before the first value, which is NaN
    rows, length, value = rows[usable], length[usable], value[usable]
    if not len(rows):
        return None
    high = _quantile(value, length)
    group = _equal_work(trace, rows)
    x, y = (_centered(np.log(one), group) for one in (value, length.astype(np.float64)))
    weight = (np.bincount(group, length) / np.bincount(group))[group]
    if chance(_contrasts(value, x, y, weight)) > most:
        return None
    usual, follows = _following(group, x, y, length, value < LOW * high)
    own = follows[group]
    if int(follows.sum()) < _KERNELS:
        return None
    fit = _fit(x[own], y[own], weight[own])
    if not _is_inverse(_fit(*_contrasts(value[own], x[own], y[own], weight[own]))):
        return None
    return ClockEffect(
        counter=counter,
        high=high,
        rows=rows[own],
        value=value[own],
        usual_ns=usual[group[own]],
        group=group[own],
        kernels=int(follows.sum()),
        slope=fit[0],
        explained=fit[1],
    )


def _equal_work(trace: Trace, rows: I64) -> I64:
    """Return numbers of calls of one kernel with the same shapes, launch and bytes."""
    kernels = trace.kernels
    op = kernels.op[rows]
    shapes = np.append(trace.ops.shapes, -1)[op]
    return group_rows(kernels.name[rows], shapes, kernels.config[rows], kernels.bytes[rows])[1]


def _following(group: I64, x: F64, y: F64, length: I64, slow: Bools) -> tuple[I64, Bools]:
    """Return of each group the median at the high clock, and whether it follows the clock."""
    groups = int(group.max()) + 1
    xx, xy, yy = (np.bincount(group, one, groups) for one in (x * x, x * y, y * y))
    slope = -xy / np.where(xx > 0, xx, 1)
    explained = xy * xy / np.where(xx * yy > 0, xx * yy, 1)
    calls, low = np.bincount(group, minlength=groups), np.bincount(group, slow, groups)
    follows = (calls >= _CALLS) & (low >= _EACH) & (calls - low >= _EACH)
    follows &= (slope >= SLOPE[0]) & (slope <= SLOPE[1]) & (explained >= _EXPLAINED)
    order = np.lexsort((length, group, slow))[: int((~slow).sum())]
    edges = np.searchsorted(group[order], np.arange(groups + 1))
    middle = np.minimum((edges[:-1] + edges[1:]) // 2, len(order) - 1)
    return length[order][middle] if len(order) else np.zeros(groups, np.int64), follows


def _fit(x: F64, y: F64, weight: F64) -> tuple[float, float]:
    """Return slope and explained share of the variance of a line through weighted points and 0."""
    xx, xy, yy = (float((weight * one).sum()) for one in (x * x, x * y, y * y))
    return (-xy / xx, xy * xy / (xx * yy)) if xx * yy > 0 else (0.0, 0.0)


def _is_inverse(fit: tuple[float, float]) -> bool:
    slope, explained = fit
    return SLOPE[0] <= slope <= SLOPE[1] and explained >= _EXPLAINED


def _centered(values: F64, group: I64) -> F64:
    mean = np.bincount(group, values) / np.maximum(np.bincount(group), 1)
    centered: F64 = values - mean[group]
    return centered


def _quantile(value: F64, length: I64) -> float:
    """Return the value that a tenth of the time reaches or exceeds."""
    order = np.argsort(value, kind="stable")
    until = np.cumsum(length[order])
    return float(value[order][np.searchsorted(until, _HIGH_QUANTILE * until[-1])])


def _contrasts(value: F64, x: F64, y: F64, weight: F64) -> Contrasts:
    """Return x and y of every third stretch of one clock, less the mean of the stretches beside it.

    No stretch counts twice, so contrasts of noise are independent; drifts cancel out.
    """
    level = np.rint(np.log(value) / _LEVEL).astype(np.int64)
    # A call with a change inside is a stretch of its own, and of neither clock.
    long = np.flatnonzero(np.bincount(own := _stretches(level))[own] >= _EACH)
    stretch = _stretches(level[long])
    # numpy counts integers where there is no stretch, in spite of the weights.
    total = np.bincount(stretch, weight[long]).astype(np.float64)
    count = len(total) // 3 * 3
    mean_x, mean_y = (
        (np.bincount(stretch, (weight * one)[long]) / total)[:count].reshape(-1, 3)
        for one in (x, y)
    )
    least = total[:count].reshape(-1, 3).min(axis=1, initial=np.inf)
    return _contrast(mean_x), _contrast(mean_y), least


def _stretches(level: I64) -> I64:
    """Return numbers of runs of equal levels."""
    return np.cumsum(np.diff(level, prepend=level[:1]) != 0)


def _contrast(triples: F64) -> F64:
    middle: F64 = triples[:, 1] - (triples[:, 0] + triples[:, 2]) / 2
    return middle
