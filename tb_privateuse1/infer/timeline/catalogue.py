"""Durations of an operator's work from its instances that ran under a backlog.

Where the device was behind, the time between an operator's marks is that of its work. Instances
of the same operator, shapes and dtypes elsewhere, whose work hides behind host time, are taken to
last as long; failing that, those of the same operator alone.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace import I64, Bools

_SPREAD = 0.5
"""Instances that differ by more than this share of their median (interquartile) tell nothing."""


def typical(key: I64, name: I64, length: I64, seen: Bools) -> I64:
    """The length to expect of each kernel: the median of those seen; -1 where there are none.

    ``key`` groups the same operators on the same shapes, ``name`` the same operators.
    """
    narrow = _medians(key, length, seen, _SPREAD)
    wide = _medians(name, length, seen, _SPREAD)
    return np.where(narrow[key] >= 0, narrow[key], wide[name])


def _medians(group: I64, length: I64, seen: Bools, spread: float) -> I64:
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
    narrow = quantile(0.75) - quantile(0.25) <= np.maximum(spread * middle, 2_000)
    return np.where((size > 0) & narrow, middle, -1)
