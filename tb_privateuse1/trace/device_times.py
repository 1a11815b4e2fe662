"""Tell which of a trace's device times are known, and which sums of them are.

A sum of 0 may mean that there was no such work, or that nothing timed it. So that the second never
looks like the first, every view passes its sums of device times through here.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tb_privateuse1.trace import labels
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I64

Known = Literal["device", "host", "none"]
"""``device``: there is a device timeline; ``host``: the program used the host alone, so its time is
all there is; ``none``: a device was used, but its times are not known."""


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
    return len(trace.kernels) > 0 and not trace.meta.missing_lanes


def known_sum(trace: Trace, ns: int) -> int | None:
    """Return a sum of device times; None if it is not known.

    Without device times no sum is known. While a stream is missing, one that the other streams
    leave at 0 is not, and any other is a lower bound.
    """
    return ns if ns or all_known(trace) else None


def known_sums(trace: Trace, ns: I64) -> I64:
    """Return a column of sums of device times; ``MISSING`` where they are not known."""
    return ns if all_known(trace) else np.where(ns == 0, MISSING, ns)


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
