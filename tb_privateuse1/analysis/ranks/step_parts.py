"""Divide a rank's steps into computation, communication, copies and idle time, in a window."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import device_times, intervals
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.model import MISSING, OPERATOR, Trace
from tb_privateuse1.trace.table import I64, Bools


class StepTime(Struct, frozen=True):
    """The time of each step that figures of a window are about."""

    start_ns: I64
    end_ns: I64
    left_out: intervals.Set
    """Time of the window's steps that is not in it."""
    outside: Bools
    """Steps that are not in it, or that no mean counts: cut off, or primed."""

    @classmethod
    def of(cls, window: Window) -> StepTime:
        """Return the time of all steps of the window's trace; those outside of it are whole."""
        steps = window.trace.steps
        chosen = intervals.union(steps.start_ns[window.steps], steps.end_ns[window.steps])
        left_out = intervals.subtract(chosen, window.time)
        outside = ~mask_of(window.complete_steps, len(steps))
        return cls(steps.start_ns, steps.end_ns, left_out, outside)

    def inside(self, times: intervals.Set) -> I64:
        """Return by step how long ``times`` are in it, in ns."""
        kept = intervals.subtract(times, self.left_out)
        return intervals.covered_length(kept, self.start_ns, self.end_ns)

    def equals(self, other: StepTime) -> bool:
        """Return whether figures in both are the same."""
        same = np.array_equal(self.outside, other.outside)
        return same and all(map(np.array_equal, self.left_out, other.left_out))


class RankActivity(Struct, frozen=True):
    """When a rank does what."""

    work: intervals.Set
    """It computes."""
    busy: intervals.Set
    """It computes or copies."""
    talk: intervals.Set
    """It communicates."""
    hiding: intervals.Set
    """It computes, copies or fills: communication beside that is not exposed."""


class StepParts(Struct, frozen=True):
    """The steps of one rank as columns.

    ``duration_ns`` is the sum of ``computation_ns``, ``copy_ns``, ``idle_ns`` and ``exposed_ns``,
    the communication that no work, copy or fill hides, as in the account. The others are
    ``MISSING`` where they are not known.
    """

    names: tuple[str, ...]
    duration_ns: I64
    computation_ns: I64
    communication_ns: I64
    overlap_ns: I64
    exposed_ns: I64
    copy_ns: I64
    idle_ns: I64
    incomplete: Bools
    """Not in means: cut off, primed, or not in the window."""
    bounds: Mapping[str, I64]
    """The error bound of each of ``steps.bounds.RANK``; ``MISSING`` where it is not known."""


def rank_activity(trace: Trace) -> RankActivity:
    """Return when the rank computes, copies and communicates.

    Without a device, its operators are the computation.
    """
    kernels, ops = trace.kernels, trace.ops
    talk = breakdown.communication_time(trace)
    if device_times.known_times(trace) != "host":
        work = breakdown.busy(breakdown.compute_kernels(kernels))
        return RankActivity(work, breakdown.busy(kernels), talk, breakdown.hiding_time(trace))
    hosted = mask_of(trace.collectives.op, len(ops))
    own = (ops.kind == OPERATOR) & ~hosted
    work = intervals.union(ops.start_ns[own], ops.end_ns[own])
    return RankActivity(work, work, talk, work)


def step_parts(trace: Trace, activity: RankActivity, time: StepTime) -> StepParts:
    """Return the columns of all steps of a trace, by the time that counts."""
    work, talk = activity.work, activity.talk
    duration = time.inside(intervals.union(time.start_ns, time.end_ns))
    busy = time.inside(intervals.merge(intervals.merge(work, talk), activity.busy))
    exposed = intervals.subtract(talk, activity.hiding)
    known = not device_times.may_lack_work(trace)

    def shown(ns: I64) -> I64:
        return ns if known else np.where(ns == 0, MISSING, ns)

    idle = duration - busy
    return StepParts(
        names=tuple(map(trace.text, trace.steps.name)),
        duration_ns=duration,
        computation_ns=shown(time.inside(work)),
        communication_ns=shown(time.inside(talk)),
        overlap_ns=shown(time.inside(intervals.intersect(work, talk))),
        exposed_ns=shown(time.inside(exposed)),
        copy_ns=shown(busy - time.inside(intervals.merge(work, exposed))),
        idle_ns=idle if known or len(trace.kernels) else np.full_like(idle, MISSING),
        incomplete=time.outside,
        bounds=steps_bounds.rank_bounds(trace),
    )
