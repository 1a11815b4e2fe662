"""Bound the error of the account where activities are inferred; the busy share that it leaves."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account.classes import CLASSES, NAMES, TimeClass
from tb_privateuse1.analysis.idle import launch_times
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import device_times, intervals, uncertainty
from tb_privateuse1.trace.model import MISSING, Kernels, Trace
from tb_privateuse1.trace.table import I64


class Doubt(Struct, frozen=True):
    """The time of a window whose class may be another one, in ns.

    ``busy_ns`` bounds the time in which anything runs, and so all idle time. ``device_ns`` bounds
    each class of the device. A launch moves with its activity, so a class of idle time may also
    lose or gain the time around the launches, ``idle_ns``, but no more than all idle time.
    """

    busy_ns: int
    device_ns: int
    idle_ns: int

    def of(self, time_class: TimeClass, ns: int, idle_ns: int) -> int:
        """Return the bound of a class that has ``ns``; all idle time together has ``idle_ns``."""
        if time_class.name == "kernel":
            return self.busy_ns
        if time_class.group == "device":
            return self.device_ns
        # A class has at most all idle time that there may be, and at least none.
        return min(self.idle_ns, max(ns, idle_ns + self.busy_ns - ns))


def doubtful_time(
    trace: Trace, window: intervals.Set, device: int | None, window_bound_ns: int | None
) -> Doubt | None:
    """Return the doubtful time of a window; None if an activity or the window has no bound."""
    kernels = trace.kernels
    if device_times.may_lack_work_in(trace, window):
        return None
    if uncertainty.all_measured(kernels):
        return Doubt(0, 0, 0)
    if device is not None:
        kernels = kernels.take(trace.lanes.device[kernels.lane] == device)
    if window_bound_ns is None or not uncertainty.limited(kernels).all():
        return None
    end_ns = int(window[1].max(initial=0))
    moving, around = _moving(trace, kernels, end_ns)
    in_window = intervals.length(intervals.intersect(moving, window))
    both = intervals.length(intervals.intersect(around, window))
    first, last = int(window[0].min(initial=end_ns)), end_ns
    near = kernels.take((kernels.end_ns > first) & (kernels.start_ns < last))
    busy = uncertainty.union_bound(near)
    movable = int(uncertainty.movable_time(near).sum())
    return Doubt(
        busy_ns=window_bound_ns + min(in_window, in_window if busy is None else busy),
        device_ns=window_bound_ns + min(in_window, movable),
        idle_ns=window_bound_ns + both,
    )


def doubtful_instants(trace: Trace) -> intervals.Set | None:
    """Return when a class of idle time may be another one; None if an activity has no bound."""
    kernels = trace.kernels
    if device_times.may_lack_work(trace):
        return None
    if uncertainty.all_measured(kernels):
        return intervals.EMPTY
    if not uncertainty.limited(kernels).all():
        return None
    return _moving(trace, kernels, trace.end_ns)[1]


def _moving(trace: Trace, kernels: Kernels, end_ns: int) -> tuple[intervals.Set, intervals.Set]:
    """Return when activities may or may not run; and the same with the time around launches."""
    moving = intervals.subtract(
        uncertainty.possibly_running(kernels, end_ns), uncertainty.certainly_running(kernels)
    )
    latency = launch_times.launch_latency_ns(trace)
    return moving, intervals.merge(moving, (moving[0] - latency, moving[1] - latency))


def step_bounds(trace: Trace) -> dict[str, I64]:
    """Return by class the error bound of its time in each step; ``MISSING`` if it is not known."""
    steps, kernels = trace.steps, trace.kernels
    lacking = device_times.lacking_steps(trace)
    if uncertainty.all_measured(kernels):
        return dict.fromkeys(NAMES, np.where(lacking, MISSING, 0))
    edge = steps_bounds.step_windows(trace).bound(steps)
    if not uncertainty.limited(kernels).all() or (edge == MISSING).any():
        return dict.fromkeys(NAMES, np.full(len(steps), MISSING))
    moving, around = _moving(trace, kernels, int(steps.end_ns.max(initial=0)))
    device, host = (
        edge + intervals.covered_length(one, steps.start_ns, steps.end_ns)
        for one in (moving, around)
    )
    return {one.name: device if one.group == "device" else host for one in CLASSES}


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
