"""The share of a window in which the device was busy."""

from __future__ import annotations

from msgspec import Struct

from tb_privateuse1.analysis.account.bounds import doubtful_time
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import intervals


class Utilization(Struct, frozen=True):
    """The busy share with its lower and upper bound; null if unknown."""

    share: float | None
    low: float | None
    high: float | None


def utilization(window: Window) -> Utilization:
    """Return the utilization of a window: what the idle time of its account leaves."""
    trace, ns = window.trace, window.ns
    if not len(trace.kernels) or not ns:
        return Utilization(None, None, None)
    busy_ns = intervals.length(intervals.intersect(breakdown.busy(trace.kernels), window.time))
    doubt = doubtful_time(trace, window.time, None, window.bound_ns)
    if doubt is None:
        return Utilization(busy_ns / ns, None, None)
    least, most = max(busy_ns - doubt.busy_ns, 0), min(busy_ns + doubt.busy_ns, ns)
    return Utilization(busy_ns / ns, least / ns, most / ns)
