"""Find device activities that ran alone: only these show what the device can do."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.columns import following, previous
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools

_TOLERANCE = 0.05
"""Kernels of one stream may overlap at their ends: up to this share of the shorter one is none."""


@memoize
def undisturbed(trace: Trace) -> Bools:
    """Return which activities ran while no other one of their device ran."""
    kernels = trace.kernels
    alone = np.ones(len(kernels), np.bool_)
    device = trace.lanes.device[kernels.lane]
    for one in np.unique(device).tolist():
        rows = np.flatnonzero(device == one)
        alone[rows] = _alone(kernels.start_ns[rows], kernels.end_ns[rows])
    return alone


def _alone(start_ns: I64, end_ns: I64) -> Bools:
    """Return which intervals, by start, no other one overlaps by more than the tolerance."""
    if len(start_ns) < 2:
        return np.ones(len(start_ns), np.bool_)
    allowed = ((end_ns - start_ns) * _TOLERANCE).astype(np.int64)
    reach = np.maximum.accumulate(end_ns)
    before = previous(reach, np.iinfo(np.int64).min // 2) > start_ns + allowed
    behind = following(start_ns, np.iinfo(np.int64).max) < end_ns - allowed
    alone: Bools = ~(before | behind)
    return alone
