"""When activities were handed to the device, and what ran before the first one."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I64

_QUEUED_NS = 500_000
_TIMES = 4
"""A launch that finds an idle device starts within some microseconds; where a device is slower, so
many times as late as is usual there."""


def earliest_launch(trace: Trace) -> I64:
    """By activity, before when it was surely not launched: its call's start, or its operator's.

    ``MISSING`` where nothing tells.
    """
    kernels = trace.kernels
    by_op = np.append(trace.ops.start_ns, MISSING)[kernels.op]
    by_launch = np.append(trace.launches.start_ns, MISSING)[kernels.launch]
    return np.where(kernels.launch >= 0, by_launch, np.where(kernels.op >= 0, by_op, MISSING))


def likely_launch(trace: Trace, kernel: I64) -> I64:
    """When these rows of ``trace.kernels`` were launched; ``MISSING`` for ``NONE`` and where
    nothing tells. Of an operator without a call that is its end, in inferred times a latency before
    its activity.
    """
    kernels, ops, launches = trace.kernels, trace.ops, trace.launches
    there = kernel >= 0
    launch = np.where(there, kernels.launch[kernel], NONE)
    op = np.where(there, kernels.op[kernel], NONE)
    # One more entry, the last, is what ``NONE`` reads.
    by_op = np.append(ops.end_ns, MISSING)[op]
    if trace.meta.timeline == "inferred":
        begun = kernels.start_ns[kernel] - _latency(trace)
        by_op = np.where(op >= 0, np.maximum(begun, np.append(ops.start_ns, MISSING)[op]), MISSING)
    return np.where(launch >= 0, np.append(launches.start_ns, MISSING)[launch], by_op)


def _latency(trace: Trace) -> int:
    """What an inferred timeline takes a launch to need."""
    constants = trace.meta.grounds.constants if trace.meta.grounds else ()
    return next((c.value_ns for c in constants if c.name == "launch_latency"), 0)


def unrecorded_start(trace: Trace) -> intervals.Set:
    """The time before the first activity, if the device worked on what was not recorded.

    Profilers leave out what was launched before the recording began. Where the first recorded
    activity started long after its launch had returned, such work kept it waiting: the device was
    not idle. One range, or none.
    """
    kernels, launches = trace.kernels, trace.launches
    if not len(kernels) or kernels.launch[0] < 0:
        return intervals.EMPTY
    delay = kernels.start_ns - np.append(launches.end_ns, MISSING)[kernels.launch]
    done = np.maximum.accumulate(kernels.end_ns)[:-1]
    called = np.append(launches.start_ns, MISSING)[kernels.launch[1:]]
    found_idle = delay[1:][(kernels.launch[1:] >= 0) & (called >= done)]
    usual = float(np.median(found_idle)) if len(found_idle) else 0.0
    if delay[0] < max(_QUEUED_NS, _TIMES * usual):
        return intervals.EMPTY
    tables = (trace.steps, trace.ops, trace.launches)
    first = min(int(table.start_ns.min(initial=kernels.start_ns[0])) for table in tables)
    return np.array([first]), kernels.start_ns[:1].astype(np.int64)
