"""Measure how the speed of a device changes during a recording.

A device that throttles takes longer for the same work, whatever the operator. So the lengths of
visible kernels, each as a share of its key's median, tell the speed at their time, and neighbors in
time tell more of a hidden kernel than the whole recording (docs/internals/inference.md, section 7).
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.statistics import medians
from tb_privateuse1.trace.table import F64, I64, Bools

_BLOCK = 7
"""The number of consecutive visible kernels whose median is the slowness at their time."""

_FEWEST = 4
"""The least number of such medians that show a change."""

_ROUNDS = 2
"""How often the medians of keys and of blocks are calculated in turns."""

_GAIN = 0.2
"""By how much less neighbors must be off than medians of keys, as a share of the latter's error."""

_SIGMAS = 3
"""The standard deviations by which keys that neighbors predict better outnumber the others."""


def relative_slowness(key: I64, length_ns: I64, seen: Bools, at_ns: I64) -> F64 | None:
    """Return how many times as long as usual each kernel takes; None if the speed is steady.

    All arrays have a row per kernel: ``key`` groups the same work, ``at_ns`` is the kernel's time,
    and ``length_ns`` counts where ``seen``. Between blocks of neighbors the result is interpolated.
    A key may be visible at slow times only, so the medians of keys and of blocks take turns
    (median polish: Tukey, Exploratory Data Analysis, 1977).
    """
    rows = np.flatnonzero(seen & (length_ns > 0))
    rows = rows[np.argsort(at_ns[rows], kind="stable")]
    blocks = len(rows) // _BLOCK
    if blocks < _FEWEST:
        return None
    keys, group = np.unique(key[rows], return_inverse=True)
    length, at = length_ns[rows].astype(np.float64), at_ns[rows].astype(np.float64)
    block = np.minimum(np.arange(len(rows)) // _BLOCK, blocks - 1)
    middle = medians(block, at, blocks)
    usual = medians(group, length, len(keys))
    slowness = medians(block, length / usual[group], blocks)
    error = np.abs(np.log(length / usual[group]))
    if _gain(length / usual[group], block, slowness, error).sum() <= 0:
        return None
    for _ in range(_ROUNDS):
        usual = medians(group, length / np.interp(at, middle, slowness), len(keys))
        slowness = medians(block, length / usual[group], blocks)
    gain = _gain(length / usual[group], block, slowness, error)
    by_key = np.bincount(group, gain).astype(np.float64)
    if gain.sum() < _GAIN * error.sum() or not _mostly_positive(by_key):
        return None
    return np.interp(at_ns, middle, slowness)


def _gain(ratio: F64, block: I64, slowness: F64, error: F64) -> F64:
    """Return by how much less than ``error`` is that of the blocks before and after each kernel's.

    They must predict kernels that they do not contain. ``ratio``: each length by its key's median.
    """
    around = (np.append(slowness[1], slowness[:-1]) + np.append(slowness[1:], slowness[-2])) / 2
    gain: F64 = error - np.abs(np.log(ratio / around[block]))
    return gain


def _mostly_positive(gain: F64) -> bool:
    """Return whether more gains are positive than by chance (sign test).

    Kernels of one key depend on each other, so there is one gain per key.
    """
    more, fewer = int((gain > 0).sum()), int((gain < 0).sum())
    return more > fewer and (more - fewer) ** 2 >= _SIGMAS**2 * (more + fewer)
