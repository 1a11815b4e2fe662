"""Reduce one rank's trace to why it may be slow: idle causes, host waits, kernel times."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account import classification, host_chain
from tb_privateuse1.analysis.account.classes import IDLE, ClassName
from tb_privateuse1.analysis.ranks.step_parts import RankActivity, StepTime
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import device_times, intervals
from tb_privateuse1.trace.call_tree import LOADER, starts_with
from tb_privateuse1.trace.columns import latest_before
from tb_privateuse1.trace.groupby import group_rows, sums
from tb_privateuse1.trace.model import KERNEL, Trace
from tb_privateuse1.trace.table import I64, Bools

_NAMES = 40
"""Kernels whose times are compared between ranks. In the shared recordings they have 97 % of the
time of computation, except in five: 79 to 95 %. The excess of another kernel has no name."""
_RETURN_NS = 100_000
"""A call that waits for a collective returns within this time behind it."""


class HostParts(Struct, frozen=True):
    """A rank's columns by step, in ns, and its kernels by name."""

    idle: Mapping[ClassName, I64]
    """By class of idle time (``account.classes``), the time without device work or communication.
    Without a device: only ``input``, outside of operators. Without its times: none."""
    held_ns: I64
    """Exposed communication on the device during which the host waits."""
    kernels: Mapping[str, int]
    """Time per step of the longest compute kernels, by name."""
    kernel_calls: Mapping[str, float]
    """Calls per step of these."""


def find_host_causes(trace: Trace, activity: RankActivity, time: StepTime) -> HostParts:
    """Return the parts of a rank, by the time of its steps that counts."""
    talk = activity.talk
    if len(trace.kernels):
        causes = {
            name: intervals.subtract(one, talk)
            for name, one in classification.class_sets(trace).items()
            if name in IDLE
        }
    elif device_times.known_times(trace) != "host":
        causes = {}
    else:
        loads = starts_with(trace, LOADER)[trace.ops.name]
        loading = intervals.union(trace.ops.start_ns[loads], trace.ops.end_ns[loads])
        busy = intervals.merge(activity.busy, talk)
        causes = {"input": intervals.subtract(loading, busy)}
    kernels, kernel_calls = _kernels(trace, ~time.outside)
    return HostParts(
        idle={cause: time.inside(one) for cause, one in causes.items()},
        held_ns=time.inside(_held(trace)),
        kernels=kernels,
        kernel_calls=kernel_calls,
    )


def _held(trace: Trace) -> intervals.Set:
    """Return exposed communication at whose end a waiting call returns."""
    kernels = trace.kernels
    talks = np.flatnonzero(kernels.communication)
    start, end = host_chain.blocked_time(trace)
    if not len(talks) or not len(start):
        return intervals.EMPTY
    done = kernels.end_ns[talks]
    at = latest_before(start, done)
    before = np.maximum(at, 0)
    waited = (at >= 0) & (end[before] >= done) & (end[before] - done < _RETURN_NS)
    rows = talks[waited]
    bare = intervals.subtract(breakdown.busy(kernels.take(rows)), breakdown.hiding_time(trace))
    return intervals.intersect(bare, (start, end))


def _kernels(trace: Trace, counted: Bools) -> tuple[dict[str, int], dict[str, float]]:
    """Return the time and the calls per counted step of the longest compute kernels, by name."""
    kernels = trace.kernels
    whole = np.append(counted, False)
    rows = np.flatnonzero((kernels.kind == KERNEL) & ~kernels.communication & whole[kernels.step])
    first, name = group_rows(kernels.name[rows])
    total = sums(name, kernels.end_ns[rows] - kernels.start_ns[rows], len(first))
    calls = np.bincount(name, minlength=len(first))
    count = max(int(whole.sum()), 1)
    longest = np.argsort(-total, kind="stable")[:_NAMES].tolist()
    names = [trace.text(kernels.name[rows[first[i]]]) for i in longest]
    return (
        {name: int(total[i]) // count for name, i in zip(names, longest, strict=True)},
        {name: int(calls[i]) / count for name, i in zip(names, longest, strict=True)},
    )
