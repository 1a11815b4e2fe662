"""The share of the steps' windows in which the device was busy."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.steps import bounds, breakdown
from tb_privateuse1.trace import device_times, intervals, uncertainty
from tb_privateuse1.trace.model import Trace


class Utilization(Struct, frozen=True):
    """The busy share, and the least and the greatest that may be; null if not known."""

    share: float | None
    low: float | None
    high: float | None


def utilization(trace: Trace, row: int | None = None) -> Utilization:
    """Return the utilization of one row of ``trace.steps``, or of all."""
    kernels, steps = trace.kernels, trace.steps
    rows = slice(None) if row is None else slice(row, row + 1)
    start, end = steps.start_ns[rows], steps.end_ns[rows]
    window = int((end - start).sum())
    if not len(kernels) or not window:
        return Utilization(None, None, None)
    busy = int(intervals.covered_length(breakdown.busy(kernels), start, end).sum())
    inside = (kernels.end_ns > start[0]) & (kernels.start_ns < end[-1])
    error = uncertainty.union_bound(kernels.take(inside))
    limits = bounds.step_windows(trace)
    if error is None or not limits.known or device_times.may_lack_work(trace):
        return Utilization(busy / window, None, None)
    if row is None:  # a later end of one step is a later start of the next
        least = int(np.maximum(limits.end_low - limits.start_low, 0).sum())
        most = int(np.maximum(limits.end_high - limits.start_high, 0).sum())
    else:
        least, most = int(limits.least[row]), int(limits.most[row])
    low = max(busy - error, 0) / most
    return Utilization(busy / window, low, min((busy + error) / max(least, 1), 1.0))
