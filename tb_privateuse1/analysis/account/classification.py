"""Classify the recording's time: each instant of a device has exactly one class.

While an activity runs, its kind decides (torch-tb-profiler's precedence: kernel, copy, fill,
communication). Idle time is divided by the activity that ends it. Until the launch of that activity
has returned, the device waits for the host (``host_chain``); behind it, the work is in the queue.
HolisticTraceAnalysis separates host and kernel waits per gap by a threshold. Here a gap is cut at
the launch and where the host changes its work, so there is no threshold.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account import host_chain
from tb_privateuse1.analysis.account.class_intervals import ClassIntervals, join, of_class, within
from tb_privateuse1.analysis.account.classes import NAMES, ClassName
from tb_privateuse1.analysis.account.host_activity import KERNELS, disjoint
from tb_privateuse1.analysis.idle import launch_times
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.memory_budget import BUDGET
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

KINDS: tuple[ClassName, ...] = (
    "kernel",
    "exposed_copy",
    "exposed_fill",
    "exposed_communication",
    "unknown",
)
"""The classes of ``breakdown.KINDS``."""


_RELEVANT = 0.05
"""The share of the recording in which the device waits for Python: with less, a stack of some 30
rows would hide more than it explains."""


def classify_time(trace: Trace, device: int | None = None) -> ClassIntervals:
    """Return the intervals of the recording, by start; they tile it without gap or overlap.

    ``device`` is a device's number; None joins all devices: an instant is idle if all are.
    """
    return BUDGET.compute(trace, ("classify_time", device), lambda: _divide(trace, device))


def class_sets(trace: Trace) -> Mapping[ClassName, intervals.Set]:
    """Return the time of each class in the recording: disjoint sets; absent ones have no time."""
    every = classify_time(trace)
    return {
        NAMES[number]: intervals.union(every.start_ns[rows], every.end_ns[rows])
        for number, rows in groupby.split_by_value(every.time_class)
    }


def waits_for_python(trace: Trace) -> bool:
    """Return whether the device waits for Python in a relevant share of the recording."""
    if not len(trace.frames) or not len(trace.kernels):
        return False
    waits = class_sets(trace).get("python")
    return waits is not None and intervals.length(waits) >= _RELEVANT * trace.end_ns


def _divide(trace: Trace, device: int | None) -> ClassIntervals:
    kernels = trace.kernels
    rows = np.arange(len(kernels), dtype=np.int32)
    if device is not None:
        rows = rows[trace.lanes.device[kernels.lane] == device]
    working = _working(trace, rows)
    gaps = _gaps(trace, rows)
    idle = [*_outside(gaps), *_queued(trace, gaps)]
    idle.append(host_chain.host_intervals(trace, gaps.thread, gaps.start_ns, gaps.host_until_ns))
    return join([*working, *idle])


def _working(trace: Trace, rows: I32) -> list[ClassIntervals]:
    """Return the intervals in which an activity runs; the first one of the first kind counts."""
    kernels = trace.kernels
    kinds = breakdown.activity_kinds(kernels)[rows]
    taken = intervals.EMPTY
    parts = []
    for kind, name in enumerate(KINDS):
        own = rows[kinds == kind]
        start, end, place = disjoint(kernels.start_ns[own], kernels.end_ns[own])
        thread = np.full(len(start), NONE, np.int32)
        part = of_class(name, start, end, thread, KERNELS, own[place])
        if len(taken[0]) and len(start):
            part = within(part, intervals.subtract((start, end), taken))
        parts.append(part)
        taken = intervals.merge(taken, (part.start_ns, part.end_ns))
    return parts


class _Gaps(Struct, frozen=True):
    """Idle time, cut where its reason changes; all columns have one entry per piece.

    ``kernel`` is the activity that ends the gap, ``NONE`` behind the last one. Until
    ``host_until_ns`` the device waits for the host, until ``latency_until_ns`` for a launch to take
    effect, and until ``end_ns`` for what the queue waits for. The last ``doubt_ns`` of the host's
    part lie behind the recorded start of the launch.
    """

    start_ns: I64
    end_ns: I64
    kernel: I64
    thread: I32
    host_until_ns: I64
    latency_until_ns: I64
    doubt_ns: I64
    is_unknown: Bools
    """The activity has no recorded launch."""
    before_recording: intervals.Set


def _gaps(trace: Trace, rows: I32) -> _Gaps:
    kernels = trace.kernels if len(rows) == len(trace.kernels) else trace.kernels.take(rows)
    first = min(0, int(kernels.start_ns.min(initial=0)))
    last = max(trace.end_ns, int(kernels.end_ns.max(initial=0)))
    idle = intervals.complement(breakdown.busy(kernels), first, last)
    hidden = intervals.intersect(idle, launch_times.unrecorded_start(trace))
    start, end = intervals.subtract(idle, hidden)
    at = np.searchsorted(kernels.start_ns, end)
    ended = lookup(kernels.start_ns, at, MISSING) == end
    kernel = np.where(ended, lookup(rows, at, NONE), NONE)
    submitter = _submitters(trace)[kernel] if len(kernels) else kernel
    called, returned = _launch_times(trace, submitter)
    known = called != MISSING
    behind = kernel < 0
    until = np.where(behind, end, np.where(known, np.clip(returned, start, end), start))
    usual = _usual_latency(trace, submitter, start, end, returned)
    latency = np.where(known, np.clip(returned + usual, until, end), until)
    own = known & (submitter == kernel)
    doubt = np.where(own, np.clip(called - end, 0, end - start), 0)
    return _Gaps(
        start, end, kernel, launch_times.launching_thread(trace, submitter),
        until - doubt, latency, doubt, ~known & ~behind, hidden,
    )  # fmt: skip


def _submitters(trace: Trace) -> I64:
    """Return by activity the one whose launch counts for it; the appended entry is ``NONE``'s.

    It is the activity itself. One without a launch runs in the order of its stream: the next one
    with a launch was launched no earlier. So until that launch the stream waited for the host.
    """
    kernels = trace.kernels
    has = (kernels.launch >= 0) | (kernels.op >= 0)
    submitter = np.append(np.arange(len(kernels)), NONE)
    if has.all():
        return submitter
    for _, rows in groupby.split_by_value(kernels.lane):
        linked, alone = rows[has[rows]], rows[~has[rows]]
        submitter[alone] = lookup(linked, np.searchsorted(linked, alone), NONE)
    return submitter


def _launch_times(trace: Trace, kernel: I64) -> tuple[I64, I64]:
    """Return when the launch of each activity was called and when it returned, or ``MISSING``."""
    launch = lookup(trace.kernels.launch, kernel, NONE)
    likely = launch_times.likely_launch(trace, kernel)
    returned = np.where(launch >= 0, lookup(trace.launches.end_ns, launch, MISSING), likely)
    return likely, returned


def _usual_latency(trace: Trace, kernel: I64, start: I64, end: I64, returned: I64) -> int:
    """Return the longest usual time from a launch's return to its activity on an idle device."""
    if trace.meta.timeline == "inferred":
        return launch_times.launch_latency_ns(trace)
    alone = (kernel >= 0) & (returned != MISSING) & (returned > start) & (returned <= end)
    return launch_times.usual_latency_ns((end - returned)[alone])


def _outside(gaps: _Gaps) -> list[ClassIntervals]:
    """Return idle time with a reason outside of the recording, and doubts about the clocks."""
    hidden = gaps.before_recording
    nobody = np.full(len(hidden[0]), NONE, np.int32)
    before = of_class("before_recording", *hidden, nobody, KERNELS, nobody)
    some = gaps.doubt_ns > 0
    doubt = of_class(
        "clock_doubt",
        gaps.end_ns[some] - gaps.doubt_ns[some],
        gaps.end_ns[some],
        gaps.thread[some],
        KERNELS,
        gaps.kernel[some],
    )
    return [before, doubt]


def _queued(trace: Trace, gaps: _Gaps) -> list[ClassIntervals]:
    """Return idle time behind the launch, and that before activities without a known launch.

    A queue that stands still for longer than is usual waits for something that is not recorded. If
    the host is in a blocking call meanwhile, that call has the time.
    """
    queued = ~gaps.is_unknown & (gaps.doubt_ns == 0)
    latency = _of_gaps("launch_latency", gaps, queued, gaps.host_until_ns, gaps.latency_until_ns)
    short = queued & (gaps.end_ns - gaps.latency_until_ns <= _usual_pause(gaps, queued))
    pause = _of_gaps("queued_gap", gaps, short, gaps.latency_until_ns, gaps.end_ns)
    long = queued & ~short
    stalls = _of_gaps("queued_gap", gaps, long, gaps.latency_until_ns, gaps.end_ns)
    unknown = _of_gaps("unknown_launch", gaps, gaps.is_unknown, gaps.start_ns, gaps.end_ns)
    parts = [latency, pause]
    for waiting in (stalls, unknown):
        blocked = host_chain.blocked_intervals(
            trace, waiting.thread, waiting.start_ns, waiting.end_ns
        )
        whole = (waiting.start_ns, waiting.end_ns)
        rest = intervals.subtract(whole, (blocked.start_ns, blocked.end_ns))
        parts += [blocked, within(waiting, rest)]
    return parts


def _usual_pause(gaps: _Gaps, queued: Bools) -> int:
    """Return the longest usual pause between activities that were in the queue."""
    whole = queued & (gaps.latency_until_ns == gaps.start_ns)
    usual = launch_times.typical_and_most((gaps.end_ns - gaps.start_ns)[whole])[1]
    return min(usual, launch_times.QUEUED_NS)


def _of_gaps(
    name: ClassName, gaps: _Gaps, some: Bools, start_ns: I64, end_ns: I64
) -> ClassIntervals:
    return of_class(
        name, start_ns[some], end_ns[some], gaps.thread[some], KERNELS, gaps.kernel[some]
    )
