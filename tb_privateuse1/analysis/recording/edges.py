"""Find the edges of a recording: the drain of earlier work, and the profiler's end.

A profiler leaves out what was launched before it began. The device still runs it, and the host may
wait for it. When the profiler stops, it synchronizes the device and cuts the step that is open.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idle import blocking_calls, launch_times
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import intervals, uncertainty
from tb_privateuse1.trace.call_tree import starts_with
from tb_privateuse1.trace.columns import containing, lookup
from tb_privateuse1.trace.groupby import LAST, maxima, minima, named_rows
from tb_privateuse1.trace.model import MEMCPY, NONE, Trace
from tb_privateuse1.trace.table import Bools

_LEAST_NS = 500_000
"""A wait on an idle device returns within some µs; this is far beyond."""

_TIMES = 4
"""A wait that recurs is part of the program. The first one must be this many times it."""

_PROFILER = re.compile(r"torch/(autograd/)?profiler|(enable|disable|prepare)_profiler")
_STEP = "ProfilerStep#"


class Edge(Struct, frozen=True):
    """Time at an edge of the recording, and its evidence; ``EMPTY`` without any."""

    time: intervals.Set
    launch: int = NONE
    """The call that waits: a row of ``trace.launches``."""
    kernels: tuple[int, ...] = ()
    """Activities from before the recording, or the first one behind such work."""


def drains(trace: Trace) -> tuple[Edge, ...]:
    """Return when the device works on what was launched before the recording, by evidence.

    Empty on an inferred timeline: there, nothing but the operators' own work is known.
    """
    if trace.meta.timeline != "measured" or not len(trace.launches):
        return ()
    late = launch_times.unrecorded_start(trace)
    edges = _unlinked(trace), Edge(late, kernels=(0,)), _wait(trace)
    return tuple(edge for edge in edges if len(edge.time[0]))


def _unlinked(trace: Trace) -> Edge:
    """Return the time of activities from before the recording's first launch.

    A stream is first in, first out: if its first activity starts before any launch, it and all
    that precede the stream's first linked activity were launched earlier.
    """
    kernels, lanes = trace.kernels, len(trace.lanes)
    linked = kernels.launch >= 0
    first = minima(kernels.lane, kernels.start_ns, lanes)
    first_linked = minima(kernels.lane[linked], kernels.start_ns[linked], lanes)
    early = (first < trace.launches.start_ns.min()) & (first_linked < LAST)
    rows = np.flatnonzero(
        ~linked & early[kernels.lane] & (kernels.start_ns < first_linked[kernels.lane])
    )
    if not len(rows):
        return Edge(intervals.EMPTY)
    end = int(kernels.end_ns[rows].max())
    start = np.array([int(kernels.start_ns[rows].min())])
    return Edge((start, np.array([end])), kernels=tuple(rows[:1].tolist()))


def _wait(trace: Trace) -> Edge:
    """Return the first wait of the recording, as far as no recorded activity explains it.

    Only threads that drive the device count: a monitor waits all the time.
    """
    launches, kernels = trace.launches, trace.kernels
    # A copy waits until its own activity begins; behind that, it is recorded work.
    copies = np.flatnonzero(kernels.kind == MEMCPY)
    own = minima(kernels.launch[copies], kernels.start_ns[copies], len(launches))
    called = np.flatnonzero(blocking_calls.blocking_calls(trace) | (own < launches.end_ns))
    called = called[np.argsort(launches.start_ns[called], kind="stable")]
    start = launches.start_ns[called]
    end = np.maximum(np.minimum(launches.end_ns[called], own[called]), start)
    idle = end - start - intervals.covered_length(uncertainty.busy(kernels), start, end)
    # The roles of threads take long to find, and it is the first wait of one of them.
    _, first = np.unique(launches.thread[called], return_index=True)
    long = (idle[first] >= _LEAST_NS) & (2 * idle[first] >= end[first] - start[first])
    if not long.any() or not len(kernels):
        return Edge(intervals.EMPTY)
    driving = lookup(thread_roles(trace).driving, launches.thread[called], False)
    if not driving.any():
        return Edge(intervals.EMPTY)
    called, start, end, idle = (of[driving] for of in (called, start, end, idle))
    peers = idle[1:][launches.name[called[1:]] == launches.name[called[0]]]
    usual = float(np.median(peers)) if len(peers) else 0.0
    is_last = start[0] >= kernels.start_ns.max()  # the profiler's own, when it stops
    if is_last or idle[0] < max(_LEAST_NS, _TIMES * usual) or 2 * idle[0] < end[0] - start[0]:
        return Edge(intervals.EMPTY)
    starts, ends = intervals.subtract((start[:1], end[:1]), uncertainty.busy(kernels))
    longest = [int(np.argmax(ends - starts))]
    return Edge((starts[longest], ends[longest]), launch=int(called[0]))


def profiler_stop(trace: Trace) -> Edge:
    """Return the time behind the recording's last work, or from a last step that is cut off.

    Profilers synchronize the device when they stop. A last step that stays open behind such a wait,
    or behind the profiler's own range, ends with the profiler; without one, or if the other steps
    end so, too, its time is its own.
    """
    ops, launches, kernels, steps = trace.ops, trace.launches, trace.kernels, trace.steps
    work = ~starts_with(trace, _STEP)[ops.name]
    waits = blocking_calls.blocking_calls(trace)
    last_op = int(ops.end_ns[work].max(initial=0))
    last = [last_op, int(kernels.end_ns.max(initial=0))]
    if len(trace.frames):
        own = ~named_rows(trace.strings, trace.frames.name, _PROFILER.search)
        last.append(int(trace.frames.start_ns[own].max(initial=0)))
    is_trailing = waits & (launches.start_ns >= last_op) & bool(work.any())
    last.append(int(launches.end_ns[~is_trailing].max(initial=0)))
    is_steps = len(steps) > 0 and _STEP in trace.text(steps.name[-1])
    if is_steps:
        inside = launches.start_ns < steps.host_end_ns[-1]
        last.append(int(launches.end_ns[inside].max(initial=0)))
        is_open = bool((is_trailing & inside).any()) and not _end_with_waits(trace, work, waits)
        stopped = trace.meta.profiler_end_ns
        is_open |= stopped is not None and stopped < int(steps.host_end_ns[-1])
        last.append(0 if is_open else int(steps.host_end_ns[-1]))
    start = max(last)
    if is_steps and bool(steps.incomplete[-1]) and not steps.incomplete[:-1].any():
        start = min(start, int(steps.start_ns[-1])) if len(steps) > 1 else start
    trailing = np.flatnonzero(is_trailing)
    launch = int(trailing[-1]) if len(trailing) else NONE
    if trace.end_ns <= start:
        return Edge(intervals.EMPTY)
    return Edge((np.array([start]), np.array([trace.end_ns])), launch=launch)


def _end_with_waits(trace: Trace, work: Bools, waits: Bools) -> bool:
    """Return whether most of the steps but the last end with a wait behind their operators."""
    ops, launches, steps = trace.ops, trace.launches, trace.steps
    if len(steps) < 2:
        return False
    last_op = maxima(ops.step[work], ops.end_ns[work], len(steps))
    waits_ns = launches.start_ns[waits]
    step = containing(steps.host_start_ns, steps.host_end_ns, waits_ns)
    last_wait = maxima(step, waits_ns, len(steps), -1)
    return 2 * int((last_wait >= last_op)[:-1].sum()) > len(steps) - 1
