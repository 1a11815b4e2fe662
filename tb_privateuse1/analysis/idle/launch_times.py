"""Find when activities were launched, and what ran before the first one."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I32, I64

_USUAL = 95
"""The percentile up to which a gap is usual."""

_MEDIANS, _LEAST_NS = 4, 2_000
"""The limit is also at most this many times the median, or this long: a few outliers are not
usual."""

_LATENCY_NS = 10_000
"""The launch latency of a trace in which no launch met an idle device; elsewhere it was 6 to 20
µs."""

QUEUED_NS = 500_000
"""A launch that finds an idle device starts within some µs: in the shared recordings the first
activity starts up to 21 µs after its launch, or 4 ms and more behind work that was not recorded.
Any limit from 50 µs to 3.9 ms gives the same answers for all 117."""
_TIMES = 4
"""On a slower device, a start later than this many times the usual delay means that it was busy.
Twice or half of it changes no answer for the 117 recordings."""


def earliest_launch(trace: Trace) -> I64:
    """Return by activity the earliest possible launch: the start of its call or operator.

    ``MISSING`` if neither is known.
    """
    kernels = trace.kernels
    by_op = lookup(trace.ops.start_ns, kernels.op, MISSING)
    by_launch = lookup(trace.launches.start_ns, kernels.launch, MISSING)
    return np.where(kernels.launch >= 0, by_launch, by_op)


def likely_launch(trace: Trace, kernel: I64) -> I64:
    """Return when rows of ``trace.kernels`` were launched; ``MISSING`` for ``NONE`` or if unknown.

    Without a runtime call it is the end of the operator; in inferred times, one launch latency
    before the activity.
    """
    kernels, ops, launches = trace.kernels, trace.ops, trace.launches
    launch, op = lookup(kernels.launch, kernel, NONE), lookup(kernels.op, kernel, NONE)
    by_op = lookup(ops.end_ns, op, MISSING)
    if trace.meta.timeline == "inferred":
        begun = lookup(kernels.start_ns, kernel, MISSING) - launch_latency_ns(trace)
        by_op = np.where(op >= 0, np.maximum(begun, lookup(ops.start_ns, op, MISSING)), MISSING)
    return np.where(launch >= 0, lookup(launches.start_ns, launch, MISSING), by_op)


def launching_thread(trace: Trace, kernel: I64) -> I32:
    """Return the thread that launched rows of ``trace.kernels``; ``NONE`` if it is not known."""
    kernels, ops, launches = trace.kernels, trace.ops, trace.launches
    launch, op = lookup(kernels.launch, kernel, NONE), lookup(kernels.op, kernel, NONE)
    by_op = lookup(ops.thread, op, NONE)
    return np.where(launch >= 0, lookup(launches.thread, launch, NONE), by_op)


def typical_and_most(gaps: I64) -> tuple[int, int]:
    """Return the median and the usual maximum of gaps, in ns; 0 without any."""
    if not len(gaps):
        return 0, 0
    middle, most = (int(ns) for ns in np.percentile(gaps, (50, _USUAL)))
    return middle, max(min(most, max(_MEDIANS * middle, _LEAST_NS)), middle)


def usual_latency_ns(latencies: I64) -> int:
    """Return the longest usual launch latency, from those of launches on an idle device."""
    if not len(latencies):
        return _LATENCY_NS
    return max(_MEDIANS * int(np.median(latencies)), _LEAST_NS)


def launch_latency_ns(trace: Trace) -> int:
    """Return the launch latency that an inferred timeline assumes, in ns; 0 if measured."""
    constants = trace.meta.grounds.constants if trace.meta.grounds else ()
    return next((c.value_ns for c in constants if c.name == "launch_latency"), 0)


def unrecorded_start(trace: Trace) -> intervals.Set:
    """Return the time before the first activity, if the device ran unrecorded work in it.

    Profilers omit what was launched before the recording began. If the first recorded activity
    started long after its launch returned, such work delayed it: the device was not idle. One
    range, or none.
    """
    kernels, launches = trace.kernels, trace.launches
    if not len(kernels) or kernels.launch[0] < 0:
        return intervals.EMPTY
    delay = kernels.start_ns - lookup(launches.end_ns, kernels.launch, MISSING)
    done = np.maximum.accumulate(kernels.end_ns)[:-1]
    called = lookup(launches.start_ns, kernels.launch[1:], MISSING)
    found_idle = delay[1:][(kernels.launch[1:] >= 0) & (called >= done)]
    usual = float(np.median(found_idle)) if len(found_idle) else 0.0
    if delay[0] < max(QUEUED_NS, _TIMES * usual):
        return intervals.EMPTY
    tables = (trace.steps, trace.ops, trace.launches)
    first = min(int(table.start_ns.min(initial=kernels.start_ns[0])) for table in tables)
    return np.array([first]), kernels.start_ns[:1].astype(np.int64)
