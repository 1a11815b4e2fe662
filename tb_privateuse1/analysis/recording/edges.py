"""Find the edges of a recording: the drain of earlier work, and the profiler's end.

A profiler leaves out what was launched before it began. The device still runs it, and the host may
wait for it. When the profiler stops, it synchronizes the device and cuts the step that is open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.idle import blocking_calls, launch_times
from tb_privateuse1.trace import intervals, uncertainty
from tb_privateuse1.trace.model import MEMCPY, NONE, Trace
from tb_privateuse1.trace.table import Bools

_LEAST_NS = 500_000
"""A wait on an idle device returns within some µs; this is far beyond."""

_TIMES = 4
"""A wait or a pause that recurs is part of the program. The edge's must be this many times it."""

_PROFILER = re.compile(r"torch/(autograd/)?profiler|(enable|disable|prepare)_profiler")
_STEP = "ProfilerStep#"


@dataclass(frozen=True)
class Edge:
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
    last = np.iinfo(np.int64).max
    first, first_linked = np.full(lanes, last), np.full(lanes, last)
    np.minimum.at(first, kernels.lane, kernels.start_ns)
    np.minimum.at(first_linked, kernels.lane[linked], kernels.start_ns[linked])
    early = (first < trace.launches.start_ns.min()) & (first_linked < last)
    rows = np.flatnonzero(
        ~linked & early[kernels.lane] & (kernels.start_ns < first_linked[kernels.lane])
    )
    if not len(rows):
        return Edge(intervals.EMPTY)
    end = int(kernels.end_ns[rows].max())
    start = np.array([int(kernels.start_ns[rows].min())])
    return Edge((start, np.array([end])), kernels=tuple(rows[:1].tolist()))


def _wait(trace: Trace) -> Edge:
    """Return the first wait of the recording, as far as no recorded activity explains it."""
    launches, kernels = trace.launches, trace.kernels
    # A copy waits until its own activity begins; behind that, it is recorded work.
    own = np.full(len(launches), np.iinfo(np.int64).max)
    copies = np.flatnonzero((kernels.kind == MEMCPY) & (kernels.launch >= 0))
    np.minimum.at(own, kernels.launch[copies], kernels.start_ns[copies])
    called = np.flatnonzero(blocking_calls.blocking_calls(trace) | (own < launches.end_ns))
    if not len(called) or not len(kernels):
        return Edge(intervals.EMPTY)
    called = called[np.argsort(launches.start_ns[called], kind="stable")]
    end = launches.end_ns[called]
    end = np.maximum(np.minimum(end, own[called]), launches.start_ns[called])
    start = launches.start_ns[called]
    idle = end - start - intervals.covered_length(uncertainty.busy(kernels), start, end)
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

    In several steps, a pause at the end of each is the program's own.
    """
    ops, launches, kernels, steps = trace.ops, trace.launches, trace.kernels, trace.steps
    work = ~_matches(trace, re.compile(f"^{_STEP}"))[ops.name]
    last = [int(ops.end_ns[work].max(initial=0)), int(kernels.end_ns.max(initial=0))]
    if len(trace.frames):
        own = ~_matches(trace, _PROFILER)[trace.frames.name]
        last.append(int(trace.frames.start_ns[own].max(initial=0)))
    # A wait within a step's range is the program's own: the profiler stops behind it.
    begun = launches.start_ns < ops.end_ns.max(initial=0) if len(ops) else launches.start_ns >= 0
    waits = blocking_calls.blocking_calls(trace)
    last.append(int(launches.end_ns[begun | ~waits].max(initial=0)))
    start = max(last)
    trailing = np.flatnonzero(~begun & waits)
    launch = int(trailing[-1]) if len(trailing) else NONE
    is_steps = _STEP in trace.text(steps.name[-1]) if len(steps) else False
    if is_steps and len(steps) > 1:
        if bool(steps.incomplete[-1]) and not steps.incomplete[:-1].any():
            start = min(start, int(steps.start_ns[-1]))
        elif trace.end_ns - start < _TIMES * _pauses(trace, work):
            return Edge(intervals.EMPTY)
    if trace.end_ns <= start:
        return Edge(intervals.EMPTY)
    return Edge((np.array([start]), np.array([trace.end_ns])), launch=launch)


def _pauses(trace: Trace, work: Bools) -> float:
    """Return the median time from the last operator or call of a step to the end of its range."""
    ops, launches, steps = trace.ops, trace.launches, trace.steps
    inside = work & (ops.step >= 0)
    last = steps.host_start_ns.copy()
    np.maximum.at(last, ops.step[inside], ops.end_ns[inside])
    at = np.searchsorted(steps.host_start_ns, launches.start_ns, side="right") - 1
    np.maximum.at(last, at[at >= 0], launches.end_ns[at >= 0])
    pauses = steps.host_end_ns - np.minimum(last, steps.host_end_ns)
    return float(np.median(pauses[:-1]))


def _matches(trace: Trace, pattern: re.Pattern[str]) -> Bools:
    """Return by string whether it matches; one more, for ``NONE``, does not."""
    return np.array([*(bool(pattern.search(text)) for text in trace.strings), False], np.bool_)
