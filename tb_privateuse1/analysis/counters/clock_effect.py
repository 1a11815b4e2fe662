"""Decide whether the durations of equal calls follow a recorded clock, and whether power limits it.

Work that the clock limits takes time in proportion to 1 / clock, so within calls of equal work
log(duration) falls with log(clock) by a slope of about 1; work that memory limits has a slope of 0.
Chance is judged by circular shifts of the clock along the calls, which leave the slow changes
within both series as they are (Theiler et al., Testing for nonlinearity in time series, 1992).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.counters import recorded
from tb_privateuse1.analysis.counters.recorded import Samples
from tb_privateuse1.trace.groupby import group_rows, split_by_value
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I64, Bools

_CLOCK = re.compile(r"(?<![a-z])[kmg]?hz(?![a-z])|clock|freq", re.IGNORECASE)
_POWER = re.compile(r"(?<![A-Za-z])[mk]?W(?![A-Za-z])|(?i:power|watt)")
"""Units and words of all vendors, in a counter's name or key. They only choose candidates."""

CHANCE = 0.001
"""The most recordings in which unrelated counters pass the test of chance: 1 in 1000."""
LOW = 0.95
"""Below this share of the high clock a call is slow; within 5 % clocks vary without a reason."""
_HIGH_QUANTILE = 0.9
_CALLS, _EACH = 8, 3
_KERNELS, _CHANGES = 2, 3
"""What falls once has a companion by chance: the clock falls or rises three times."""
_SLOPE = (0.5, 1.25)
_EXPLAINED = 0.5
_AT_TOP, _SLOW_AT_TOP, _FAST_AT_TOP = 0.97, 0.8, 0.5
_MOST = 1 << 18
"""More calls are averaged in runs: the test needs no more shifts."""


@dataclass(frozen=True)
class ClockEffect:
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
        top = value >= _AT_TOP * value.max()
        entries = int((form.value >= _AT_TOP * value.max()).sum())
        slow, fast = (
            float(np.average(top[own], weights=(end - start)[own]))
            for own in (effect.slow, effect.fast)
        )
        if entries < _EACH or slow < _SLOW_AT_TOP or fast > _FAST_AT_TOP * slow:
            continue
        if chance(_centered(top.astype(np.float64), effect.group), clock) > CHANCE / len(powers):
            continue
        best = max(best, (slow - fast, counter), key=lambda one: one[0])
    return best[1]


def chance(effect: F64, cause: F64) -> float:
    """Return the share of circular shifts of ``cause`` with a sum of products as low as its own.

    Both have mean 0 and are by time. Runs of calls are averaged if there are many.
    """
    if len(effect) > _MOST:
        cuts = np.arange(_MOST) * len(effect) // _MOST
        size = np.diff(cuts, append=len(effect))
        effect, cause = np.add.reduceat(effect, cuts), np.add.reduceat(cause, cuts) / size
    products = np.conj(np.fft.rfft(effect)) * np.fft.rfft(cause)
    sums = np.fft.irfft(products, len(effect))
    rounding = 1e-9 * float(np.abs(sums).max(initial=0.0))
    return float((sums <= sums[0] + rounding).mean())


def _effect(
    trace: Trace, rows: I64, counter: int, form: Samples, most: float
) -> ClockEffect | None:
    """Return the calls that follow one clock; None unless chance is at most ``most``."""
    kernels = trace.kernels
    length = kernels.end_ns[rows] - kernels.start_ns[rows]
    value = form.means(kernels.start_ns[rows], kernels.end_ns[rows])
    usable = (length > 0) & (value > 0)  # not before the first value, which is NaN
    rows, length, value = rows[usable], length[usable], value[usable]
    if len(rows) * most < 1:  # too few shifts to tell
        return None
    high = _quantile(value, length)
    group = _equal_work(trace, rows)
    x, y = (_centered(np.log(one), group) for one in (value, length.astype(np.float64)))
    weight = (np.bincount(group, length) / np.bincount(group))[group]
    if chance(weight * y, x) > most:
        return None
    usual, follows = _following(group, x, y, length, value < LOW * high)
    own = follows[group]
    if int(follows.sum()) < _KERNELS:
        return None
    fit = _fit(x[own], y[own], weight[own])
    changes = _changes(value[own], high, x[own], y[own], weight[own])
    if len(changes[0]) < _CHANGES or not _is_inverse(_fit(*changes)):
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
    follows &= (slope >= _SLOPE[0]) & (slope <= _SLOPE[1]) & (explained >= _EXPLAINED)
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
    return _SLOPE[0] <= slope <= _SLOPE[1] and explained >= _EXPLAINED


def _centered(values: F64, group: I64) -> F64:
    mean = np.bincount(group, values) / np.maximum(np.bincount(group), 1)
    centered: F64 = values - mean[group]
    return centered


def _quantile(value: F64, length: I64) -> float:
    """Return the value that a tenth of the time reaches or exceeds."""
    order = np.argsort(value, kind="stable")
    until = np.cumsum(length[order])
    return float(value[order][np.searchsorted(until, _HIGH_QUANTILE * until[-1])])


def _changes(value: F64, high: float, x: F64, y: F64, weight: F64) -> tuple[F64, F64, F64]:
    """Return the changes of x and y at each fall and rise of the clock, and their weights.

    Slow drifts of both series correlate by chance, their changes do not (Granger & Newbold,
    Spurious regressions in econometrics, 1974). What is near the border changes nothing.
    """
    decided = np.flatnonzero((value < LOW * high) | (value >= (1 + LOW) / 2 * high))
    low = value[decided] < LOW * high
    episode = np.cumsum(np.diff(low, prepend=low[:1]).astype(np.int64))
    total = np.bincount(episode, weight[decided])
    mean_x, mean_y = (np.bincount(episode, (weight * one)[decided]) / total for one in (x, y))
    return np.diff(mean_x), np.diff(mean_y), np.minimum(total[1:], total[:-1])
