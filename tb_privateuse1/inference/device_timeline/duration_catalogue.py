"""Durations of an operator's work from its instances that ran under a backlog.

Where the device was behind, the time between an operator's marks is that of its work. Instances
of the same operator, shapes and dtypes elsewhere, whose work hides behind host time, are taken to
last as long; failing that, those of the same operator alone. Several instances on the same shapes
also bound the others: by their extremes and as much again as these lie apart, shared among them.
All steps of a trace are one (docs/internals/inference.md, section 7); what other traces of the run
add is found in ``elsewhere``.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Self

import numpy as np

from tb_privateuse1.inference.device_timeline.base import TypicalDurations
from tb_privateuse1.trace.table import I64, Bools

_SPREAD = 0.5
"""Instances that differ by more than this share of their median (interquartile) tell nothing."""

LEAST = 3
"""Instances that bound the others."""

_MOST_KERNELS = 64
"""Own segments of an operator that are told apart, from its end."""


@dataclass(frozen=True)
class Instances:
    """Calls of operators: ``key`` groups the same ones on the same shapes, ``name`` the same ones.

    ``shaped``: whose shapes are known; ``low`` and ``high``: each one's own limits; ``seen``: those
    that ran under a backlog. Lengths in ns.
    """

    key: I64
    name: I64
    shaped: Bools
    length: I64
    low: I64
    high: I64
    seen: Bools

    def append(self, more: Self) -> Self:
        """These and then more of them."""
        names = [f.name for f in dataclasses.fields(self)]
        both = {n: np.concatenate((getattr(self, n), getattr(more, n))) for n in names}
        return dataclasses.replace(self, **both)


def segment_place(op: I64, last: I64) -> I64:
    """Which of its operator's segments each is, from the end; ``last`` is where it ends."""
    order = np.lexsort((-last, op))
    first = np.concatenate(([True], op[order][1:] != op[order][:-1]))[: len(op)]
    at = np.arange(len(op))
    found = np.empty(len(op), np.int64)
    found[order] = at - np.maximum.accumulate(np.where(first, at, 0))
    return np.minimum(found, _MOST_KERNELS - 1)


def segment_keys(group: I64, op: I64, last: I64, use: Bools) -> I64:
    """One number per group of operators and place of the kernel's segment in them.

    ``op`` and ``last`` are the operator and the end of each own segment, ``use`` those with a
    kernel; ``group`` has one entry per operator.
    """
    pair = group[op[use]] * _MOST_KERNELS + segment_place(op, last)[use]
    _, key = np.unique(pair, return_inverse=True)
    found: I64 = key.astype(np.int64)
    return found


def trusted_instances(key: I64, shaped: Bools, surely: Bools, likely: Bools) -> Bools:
    """Whose own length counts: those surely seen; others only where too few of their key are.

    Without shapes a key holds work of any size, and the own length is the better guess.
    """
    count = np.bincount(key[surely], minlength=int(key.max(initial=-1)) + 1)
    own: Bools = surely | (likely & ~((count >= LEAST)[key] & shaped))
    return own


def typical_durations(of: Instances) -> TypicalDurations:
    """The median of those seen, and limits from their extremes."""
    key, name = of.key, of.name
    narrow = _medians(key, of.length, of.seen)
    wide = _medians(name, of.length, of.seen)
    count = len(narrow)
    rows = np.flatnonzero(of.seen & of.shaped & (narrow[key] >= 0))
    size = np.bincount(key[rows], minlength=count)
    least = np.full(count, np.iinfo(np.int64).max)
    most, shortest, longest = np.full(count, -1), least.copy(), np.full(count, -1)
    np.minimum.at(least, key[rows], of.low[rows])
    np.maximum.at(most, key[rows], of.high[rows])
    np.minimum.at(shortest, key[rows], of.length[rows])
    np.maximum.at(longest, key[rows], of.length[rows])
    enough = size >= LEAST
    # The next one lies beyond n others in one of n + 1 cases on either side, by little as a rule.
    beyond = np.where(enough, 2 * (longest - shortest) // np.maximum(size - 1, 1), 0)
    bottom = np.where(enough, np.maximum(least - beyond, 0), -1)
    top = np.where(enough, most + beyond, -1)
    typical = np.where(narrow[key] >= 0, narrow[key], wide[name])
    return TypicalDurations(typical, bottom[key], top[key])


def _medians(group: I64, length: I64, seen: Bools) -> I64:
    """The median length of those seen of each group; -1 of none, and of those too far apart."""
    count = int(group.max(initial=-1)) + 1
    rows = np.flatnonzero(seen)
    order = rows[np.lexsort((length[rows], group[rows]))]
    size = np.bincount(group[rows], minlength=count)
    first = np.cumsum(size) - size
    if not len(order):
        return np.full(count, -1, np.int64)

    def quantile(q: float) -> I64:
        at = np.minimum(first + (size * q).astype(np.int64), len(order) - 1)
        result: I64 = length[order][at]
        return result

    middle = quantile(0.5)
    narrow = quantile(0.75) - quantile(0.25) <= np.maximum(_SPREAD * middle, 2_000)
    return np.where((size > 0) & narrow, middle, -1)
