"""Estimate durations of hidden kernels from visible kernels of the same operator.

If the device was behind, the time between an operator's events is the duration of its work. Hidden
instances of the same operator, shapes and dtypes are taken to last as long; failing that, those of
the same operator alone. Several instances on the same shapes also bound the others: by their
extremes, plus their range shared among them. All steps of a trace count together; where the speed
of the device changes (``device_speed``), lengths are compared at one speed.
``other_recordings`` adds other traces of the run. docs/internals/inference.md, section 7.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.inference.device_timeline.device_speed import relative_slowness
from tb_privateuse1.inference.device_timeline.timeline_inputs import TypicalDurations
from tb_privateuse1.trace.columns import starts_run
from tb_privateuse1.trace.groupby import maxima, minima
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.statistics import sort_groups
from tb_privateuse1.trace.table import F64, I64, Bools

_SPREAD, _SPREAD_NS = 0.5, 2_000
"""Instances with an interquartile range above this share of their median are not used, unless it is
as short as the rounding of two times. Half or twice of that moves nothing in 50 recordings."""

LEAST = 3
"""The least number of instances that bound the others."""

_POOLED, _OUTLIERS = 4, 0.05
"""The least number of hidden calls that bound each other, and the share of extremes left out."""

ALIKE, _ALIKE_NS = 0.15, 1_000
"""How far the same work on the same shapes differs from call to call."""

_MOST_KERNELS = 64
"""The number of an operator's own segments that get their own keys, from its end."""


class Instances(Struct, frozen=True):
    """Kernels as instances: ``key`` groups the same operator and shapes, ``name`` the operator.

    ``shaped``: the shapes are known. ``low`` and ``high``: each one's own limits. ``seen``:
    visible, that is under a backlog. ``at``: when it ran, ``MISSING`` if elsewhere. Times in ns.
    """

    key: I64
    name: I64
    shaped: Bools
    length: I64
    low: I64
    high: I64
    seen: Bools
    at: I64

    def append(self, more: Self) -> Self:
        """Return these instances followed by more."""
        names = self.__struct_fields__
        both = {n: np.concatenate((getattr(self, n), getattr(more, n))) for n in names}
        return replace(self, **both)


def segment_place(op: I64, last: I64) -> I64:
    """Return the place of each segment in its operator, from the end; ``last`` is where it ends."""
    order = np.lexsort((-last, op))
    first = starts_run(op[order])
    at = np.arange(len(op))
    place = np.empty(len(op), np.int64)
    place[order] = at - np.maximum.accumulate(np.where(first, at, 0))
    return np.minimum(place, _MOST_KERNELS - 1)


def segment_keys(group: I64, op: I64, last: I64, use: Bools) -> I64:
    """Return one number per group of operators and place of the kernel's segment in them.

    ``op`` and ``last`` are the operator and the end of each own segment, ``use`` those with a
    kernel; ``group`` has one entry per operator.
    """
    pair = group[op[use]] * _MOST_KERNELS + segment_place(op, last)[use]
    _, key = np.unique(pair, return_inverse=True)
    keys: I64 = key.astype(np.int64)
    return keys


def trusted_instances(key: I64, shaped: Bools, surely: Bools, likely: Bools) -> Bools:
    """Return whose own length counts: those surely visible, and likely ones of rare keys.

    Without shapes a key holds work of any size, and the own length is the better guess.
    """
    count = np.bincount(key[surely], minlength=int(key.max(initial=-1)) + 1)
    own: Bools = surely | (likely & ~((count >= LEAST)[key] & shaped))
    return own


def typical_durations(instances: Instances) -> TypicalDurations:
    """Return the median length of visible instances, and limits from their extremes.

    If the device's speed changes, the median is that at one speed, times the slowness at each time.
    """
    key, name = instances.key, instances.name
    slowness, length = _slowness(instances), instances.length
    if slowness is not None:
        length = (length / slowness).astype(np.int64)
    narrow, wide = (seen_medians(group, length, instances.seen) for group in (key, name))
    count = len(narrow)
    rows = np.flatnonzero(instances.seen & instances.shaped & (narrow[key] >= 0))
    size = np.bincount(key[rows], minlength=count)
    least = minima(key[rows], instances.low[rows], count)
    most = maxima(key[rows], instances.high[rows], count, -1)
    shortest = minima(key[rows], instances.length[rows], count)
    longest = maxima(key[rows], instances.length[rows], count, -1)
    enough = size >= LEAST
    # Another instance exceeds n others in 1 of n + 1 cases on either side, usually by little.
    beyond = np.where(enough, 2 * (longest - shortest) // np.maximum(size - 1, 1), 0)
    bottom = np.where(enough, np.maximum(least - beyond, 0), -1)
    top = np.where(enough, most + beyond, -1)
    # Work on other shapes that is longer than fits is other work; so is shorter than is sure here.
    likely = np.maximum(wide[name], _least_length(instances, count)[key])
    fitting = np.where((wide[name] >= 0) & (likely <= instances.high), likely, -1)
    typical = np.where(narrow[key] >= 0, narrow[key], fitting)
    if slowness is not None:
        typical = np.where(typical >= 0, (typical * slowness).astype(np.int64), -1)
    pooled_low, pooled_high = _pooled_limits(instances, count)
    free = ~enough & (pooled_high >= 0)
    bottom, top = np.where(free, pooled_low, bottom), np.where(free, pooled_high, top)
    return TypicalDurations(typical, bottom[key], top[key], narrow[key] >= 0)


def _slowness(instances: Instances) -> F64 | None:
    """Return how many times as long as usual each instance takes; None if the speed is steady.

    Other recordings tell nothing of the speed here: theirs counts as the usual one.
    """
    here = instances.at != MISSING
    seen = instances.seen & instances.shaped & here
    slowness = relative_slowness(instances.key, instances.length, seen, instances.at)
    return None if slowness is None else np.where(here, slowness, 1.0)


def _least_length(instances: Instances, count: int) -> I64:
    """Return per key how long its work surely takes: no call of it may contradict that."""
    key = instances.key
    least = maxima(key, instances.low, count)
    most = minima(key, instances.high, count)
    less = np.maximum(least - (least * ALIKE).astype(np.int64) - _ALIKE_NS, 0)
    return np.where(less <= most, less, 0)


def _pooled_limits(instances: Instances, count: int) -> tuple[I64, I64]:
    """Return limits per key that the limits of all its calls have in common; -1 if there are none.

    A call that hides in a long range of host time may be bounded in a shorter one: the same work
    on the same shapes takes about as long.
    """
    rows = np.flatnonzero(instances.shaped)
    none = np.full(count, -1, np.int64)
    if not len(rows):
        return none, none
    key = instances.key[rows]
    size = np.bincount(key, minlength=count)
    at = np.minimum(np.cumsum(size) - size + (size * _OUTLIERS).astype(np.int64), len(rows) - 1)
    high = instances.high[rows][np.lexsort((instances.high[rows], key))][at]
    low = instances.low[rows][np.lexsort((-instances.low[rows], key))][at]
    fits = (size >= _POOLED) & (low <= high)
    wide = high + (high * ALIKE).astype(np.int64) + _ALIKE_NS
    narrow = np.maximum(low - (low * ALIKE).astype(np.int64) - _ALIKE_NS, 0)
    return np.where(fits, narrow, -1), np.where(fits, wide, -1)


def seen_medians(group: I64, length: I64, seen: Bools) -> I64:
    """Return the median length of each group's visible instances; -1 if none or too far apart."""
    count = int(group.max(initial=-1)) + 1
    ordered = sort_groups(group[seen], length[seen], count)
    size = ordered.count
    middle = ordered.at(size // 2, -1)
    # Of four, one may be a stalled thread's.
    upper = ordered.at(np.where(size >= _POOLED, size - 1, size) * 3 // 4, -1)
    narrow = upper - ordered.at(size // 4, -1) <= np.maximum(_SPREAD * middle, _SPREAD_NS)
    return np.where(narrow, middle, -1).astype(np.int64)
