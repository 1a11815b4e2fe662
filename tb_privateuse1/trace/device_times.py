"""Tell which of a trace's device times are known, and which sums of them are.

A sum of 0 may mean that there was no such work, or that nothing timed it. So that the second never
looks like the first, every view passes its sums of device times through here.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tb_privateuse1.trace import intervals, labels
from tb_privateuse1.trace.columns import following
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I64, Bools

Known = Literal["device", "host", "none"]
"""``device``: there is a device timeline; ``host``: the program used the host alone, so its time is
all there is; ``none``: a device was used, but its times are not known."""

_EVER_NS = 1 << 61
"""No recording has a time as late as this."""


def known_times(trace: Trace) -> Known:
    """Return what the trace's times cover: the device, a program on the host alone, or neither."""
    if (trace.kernels.end_ns > trace.kernels.start_ns).any():
        return "device"
    codes = {finding.code for finding in trace.meta.findings}
    on_host = "host_only" in codes and trace.meta.backend is None
    return "host" if on_host and not len(trace.kernels) else "none"


def is_on_host_alone(trace: Trace) -> bool:
    """Return whether the program had no accelerator at all, so that operators ran on the host.

    A recording that names a device but has none of its work says nothing of where operators ran.
    """
    return known_times(trace) == "host" and not trace.meta.devices


def missing_streams(trace: Trace) -> tuple[str, ...]:
    """Return the names of the streams whose work has no times, while that of others has."""
    return tuple(labels.stream(trace, lane) for lane in trace.meta.missing_lanes)


def all_known(trace: Trace) -> bool:
    """Return whether the trace has the times of all work on the device."""
    meta = trace.meta
    is_whole = not meta.missing_lanes and not meta.lost_launches and not meta.unseen_work
    return len(trace.kernels) > 0 and is_whole


def unknown_time(trace: Trace) -> intervals.Set:
    """Return when a device may have worked at times that the trace does not have.

    Activities that a step lacks may have run until the next step that lacks none begins.
    """
    steps = trace.steps
    if known_times(trace) == "host":
        return intervals.EMPTY
    if _none_is_whole(trace):
        return np.array([-_EVER_NS]), np.array([_EVER_NS])
    until = following(steps.start_ns, _EVER_NS)
    return intervals.union(steps.start_ns[steps.partial], until[steps.partial])


def may_lack_work_in(trace: Trace, window: intervals.Set) -> bool:
    """Return whether a device may have worked in a window at times that the trace does not have."""
    return intervals.length(intervals.intersect(unknown_time(trace), window)) > 0


def lacking_steps(trace: Trace) -> Bools:
    """Return by step whether nothing bounds the time in which the device worked."""
    if _none_is_whole(trace):
        return np.full(len(trace.steps), known_times(trace) != "host")
    return trace.steps.partial


def _none_is_whole(trace: Trace) -> bool:
    meta = trace.meta
    return not len(trace.kernels) or len(meta.missing_lanes) > 0 or meta.unseen_work


def known_sum(trace: Trace, ns: int) -> int | None:
    """Return a sum of device times; None if it is not known.

    Without device times no sum is known. While activities are missing, of a stream or of some
    launches, one that the others leave at 0 is not, and any other is a lower bound.
    """
    return ns if ns or all_known(trace) else None


def known_step_sums(trace: Trace, ns: I64) -> I64:
    """Return sums of device times by step; ``MISSING`` where they are not known."""
    return np.where((ns == 0) & (trace.steps.partial | _none_is_whole(trace)), MISSING, ns)


def may_lack_work(trace: Trace) -> bool:
    """Return whether a device may have worked at times that the trace does not have.

    Then nothing bounds sums of device times, and what the device leaves to the host.
    """
    return not all_known(trace) and known_times(trace) != "host"


def known_bound(trace: Trace, bound_ns: int | None) -> int | None:
    """Return the bound of a figure that depends on device times; None if work may lack there."""
    return None if may_lack_work(trace) else bound_ns


def known_bounds(trace: Trace, bounds_ns: I64) -> I64:
    """Return a column of such bounds; ``MISSING`` if work may lack there."""
    return np.full_like(bounds_ns, MISSING) if may_lack_work(trace) else bounds_ns
