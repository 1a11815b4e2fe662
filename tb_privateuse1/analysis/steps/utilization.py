"""The share of a window in which the device was busy."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.steps import bounds, breakdown
from tb_privateuse1.trace import intervals, uncertainty
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64


class Utilization(Struct, frozen=True):
    """The busy share with its lower and upper bound; null if unknown."""

    share: float | None
    low: float | None
    high: float | None


def utilization(trace: Trace, steps: I64, time: intervals.Set) -> Utilization:
    """Return the utilization of rows of ``trace.steps``; ``time`` is the part of them to count."""
    kernels, window = trace.kernels, intervals.length(time)
    if not len(kernels) or not window:
        return Utilization(None, None, None)
    start, end = time
    busy = int(intervals.covered_length(breakdown.busy(kernels), start, end).sum())
    inside = (kernels.end_ns > start[0]) & (kernels.start_ns < end[-1])
    error = uncertainty.union_bound(kernels.take(inside))
    limits = bounds.step_windows(trace)
    if error is None or not limits.known[steps].all():
        return Utilization(busy / window, None, None)
    if len(steps) > 1:  # a later end of one step is a later start of the next
        least = int(np.maximum(limits.end_low - limits.start_low, 0)[steps].sum())
        most = int(np.maximum(limits.end_high - limits.start_high, 0)[steps].sum())
    else:
        least, most = int(limits.least[steps].sum()), int(limits.most[steps].sum())
    whole = trace.steps.end_ns[steps] - trace.steps.start_ns[steps]
    apart = int(whole.sum()) - window  # its length does not depend on the limits
    least, most = least - apart, max(most - apart, 1)
    low = max(busy - error, 0) / most
    return Utilization(busy / window, low, min((busy + error) / max(least, 1), 1.0))
