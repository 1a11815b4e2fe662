"""Attribute each instant without a device activity to one cause.

The activity that starts at the end of a gap determines its cause. Before that activity's launch the
device waits for the host; behind the launch it waits for itself. So each instant of a gap has
exactly one cause, and the causes sum to the idle time to the ns (docs/reference/definitions.md).
HolisticTraceAnalysis separates host and kernel waits per gap by a threshold. Here a gap is cut at
the launch and where the host changes its work, so there is no threshold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.idle import blocking_calls, launch_times
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.call_tree import LOADER, STEP, starts_with
from tb_privateuse1.trace.model import ANNOTATION, MISSING, NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

CAUSES = (
    "launch_latency",
    "synchronisation",
    "communication_wait",
    "data_loader",
    "host_operator",
    "host_code",
    "unknown",
)
"""The names of the causes. If the host does several things at once, the first one counts."""

_MEETS = re.compile(r"wait_tensors?\b|\bbarrier|monitored_barrier|\bwait\(\)")
"""Operators and annotations that return when other ranks have arrived."""

_LIMIT = 1 << 62


@dataclass(frozen=True)
class Ranges:
    """Ranges of the host, in any order."""

    thread: I32
    start_ns: I64
    end_ns: I64


@dataclass(frozen=True)
class Gaps:
    """Stretches without a device activity, in order of time, and the activity that ends each.

    ``kernel`` is the row of the activity that starts at its end, ``NONE`` behind the last one.
    ``submitted_ns`` is the time of its launch, ``MISSING`` if unknown; ``thread`` is the launching
    thread.
    """

    start_ns: I64
    end_ns: I64
    kernel: I64
    submitted_ns: I64
    thread: I32

    def __len__(self) -> int:
        return len(self.start_ns)


def find_gaps(trace: Trace) -> Gaps:
    """Return all idle stretches of the recording: between activities, and in steps around them.

    Empty without device times.
    """
    kernels, steps = trace.kernels, trace.steps
    if not len(kernels):
        nothing = np.empty(0, np.int64)
        return Gaps(nothing, nothing, nothing, nothing, np.empty(0, np.int32))
    first = min(int(kernels.start_ns.min()), int(steps.start_ns.min(initial=kernels.start_ns[0])))
    last = max(int(kernels.end_ns.max()), int(steps.end_ns.max(initial=kernels.end_ns[0])))
    start, end = intervals.complement(breakdown.busy(kernels), first, last)
    row = np.searchsorted(kernels.start_ns, end)
    ended = kernels.start_ns[np.minimum(row, len(kernels) - 1)] == end
    kernel = np.where(ended, row, NONE)
    submitted = launch_times.likely_launch(trace, kernel)
    return Gaps(start, end, kernel, submitted, _thread(trace, kernel))


def _thread(trace: Trace, kernel: I64) -> I32:
    """Return the thread that launched each activity."""
    kernels, ops, launches = trace.kernels, trace.ops, trace.launches
    there = kernel >= 0
    launch = np.where(there, kernels.launch[kernel], NONE)
    op = np.where(there, kernels.op[kernel], NONE)
    # The appended last entry is the one that ``NONE`` reads.
    by_launch = np.append(launches.thread, np.int32(NONE))[launch]
    by_op = np.append(ops.thread, np.int32(NONE))[op]
    return np.where(launch >= 0, by_launch, by_op).astype(np.int32)


def attribute_gaps(trace: Trace, gaps: Gaps) -> dict[str, intervals.Set]:
    """Return the idle time of each of ``CAUSES``: disjoint sets whose union is all gaps."""
    # Before the first activity the device may have run unrecorded work.
    hidden = launch_times.unrecorded_start(trace)
    worked = intervals.covered_length(hidden, gaps.start_ns, gaps.end_ns) > 0
    known = (gaps.submitted_ns != MISSING) & ~worked
    # Behind the last activity there is no launch, so none is missing.
    over = gaps.kernel < 0
    launched = np.clip(gaps.submitted_ns, gaps.start_ns, gaps.end_ns)
    until = np.where(over, gaps.end_ns, np.where(known, launched, gaps.start_ns))
    sets = {cause: [intervals.EMPTY] for cause in CAUSES}
    sets["launch_latency"].append(_some(until, gaps.end_ns, known))
    sets["unknown"].append(_some(gaps.start_ns, gaps.end_ns, ~known & ~over))
    kinds = _host(trace)
    waited = Ranges(gaps.thread, gaps.start_ns, until)
    rest = _of_threads(waited, kinds, sets)
    for cause, ranges in kinds.items():
        rest = _take(sets[cause], rest, intervals.union(ranges.start_ns, ranges.end_ns))
    # Only the launching thread's own code counts: other threads do not delay the launch.
    own: dict[str, list[intervals.Set]] = {"host_code": []}
    _of_threads(waited, {"host_code": _code(trace)}, own)
    for code in own["host_code"]:
        rest = _take(sets["host_code"], rest, intervals.union(*code))
    sets["unknown"].append(rest)
    return {cause: _joined(parts) for cause, parts in sets.items()}


def _some(starts: I64, ends: I64, rows: Bools) -> intervals.Set:
    keep = rows & (ends > starts)
    return starts[keep], ends[keep]


def _take(into: list[intervals.Set], rest: intervals.Set, of: intervals.Set) -> intervals.Set:
    """Move the part of ``rest`` that lies in a set to ``into``; return the remainder."""
    into.append(intervals.intersect(rest, of))
    return intervals.subtract(rest, of)


def _joined(parts: list[intervals.Set]) -> intervals.Set:
    return intervals.union(
        np.concatenate([start for start, _ in parts]), np.concatenate([end for _, end in parts])
    )


def _of_threads(
    waited: Ranges, kinds: dict[str, Ranges], into: dict[str, list[intervals.Set]]
) -> intervals.Set:
    """Move the launching thread's own work into ``into``, kind by kind; return the remainder.

    All threads lie on one axis, one behind the other: in batches, so that int64 holds the axis.
    """
    some = np.flatnonzero(waited.end_ns > waited.start_ns)
    if not len(some):
        return intervals.EMPTY
    low = int(waited.start_ns[some].min())
    width = int(waited.end_ns[some].max()) - low + 1
    threads, place = np.unique(waited.thread[some], return_inverse=True)
    batch = max(_LIMIT // width, 1)
    left = [intervals.EMPTY]
    for first in range(0, len(threads), batch):
        rows = some[(place >= first) & (place < first + batch)]
        chosen = threads[first : first + batch]

        def axis(ranges: Ranges, chosen: I32 = chosen) -> intervals.Set:
            at = np.minimum(np.searchsorted(chosen, ranges.thread), len(chosen) - 1)
            keep = (chosen[at] == ranges.thread) & (ranges.thread >= 0)
            off = at[keep] * np.int64(width) - low
            start = np.clip(ranges.start_ns[keep], low, low + width - 1)
            end = np.clip(ranges.end_ns[keep], low, low + width - 1)
            return intervals.union(start + off, end + off)

        def back(a: intervals.Set) -> intervals.Set:
            off = a[0] // width * width - low
            return a[0] - off, a[1] - off

        alone = waited.thread[rows] < 0
        left.append(_some(waited.start_ns[rows], waited.end_ns[rows], alone))
        rest = axis(Ranges(waited.thread[rows], waited.start_ns[rows], waited.end_ns[rows]))
        for cause, ranges in kinds.items():
            taken: list[intervals.Set] = []
            rest = _take(taken, rest, axis(ranges))
            into[cause].append(back(taken[0]))
        left.append(back(rest))
    return _joined(left)


def _host(trace: Trace) -> dict[str, Ranges]:
    """Return what the host may be doing, in order of precedence."""
    ops, launches, collectives = trace.ops, trace.launches, trace.collectives
    gloo = np.zeros(len(ops), np.bool_)
    gloo[collectives.op[collectives.op >= 0]] = True
    working = (ops.kind == OPERATOR) & ~starts_with(trace, STEP)[ops.name]
    # Inner operators add nothing to the outer ones.
    outer = working & ~np.append(working, False)[ops.parent]
    return {
        "synchronisation": _waiting(trace),
        "communication_wait": _of_ops(trace, gloo | _named(trace, _MEETS)[ops.name]),
        "data_loader": _of_ops(trace, starts_with(trace, LOADER)[ops.name]),
        "host_operator": Ranges(
            np.concatenate((ops.thread[outer], launches.thread)),
            np.concatenate((ops.start_ns[outer], launches.start_ns)),
            np.concatenate((ops.end_ns[outer], launches.end_ns)),
        ),
    }


def _waiting(trace: Trace) -> Ranges:
    """Return the calls that return when the device is done."""
    ops, launches, frames = trace.ops, trace.launches, trace.frames
    named, call = blocking_calls.blocking_names(trace), blocking_calls.blocking_calls(trace)
    own, frame = named[ops.name], named[frames.name]
    own[blocking_calls.blocking_operators(trace)] = True
    return Ranges(
        np.concatenate((launches.thread[call], ops.thread[own], frames.thread[frame])),
        np.concatenate((launches.start_ns[call], ops.start_ns[own], frames.start_ns[frame])),
        np.concatenate((launches.end_ns[call], ops.end_ns[own], frames.end_ns[frame])),
    )


def blocked_time(trace: Trace) -> intervals.Set:
    """Return when a thread that launches kernels waits for the device or for other ranks."""
    launching = np.unique(trace.launches.thread[trace.kernels.launch[trace.kernels.launch >= 0]])
    kinds = _host(trace)
    waits = [kinds[cause] for cause in ("synchronisation", "communication_wait")]
    keep = [np.isin(ranges.thread, launching) for ranges in waits]
    return intervals.union(
        np.concatenate([r.start_ns[k] for r, k in zip(waits, keep, strict=True)]),
        np.concatenate([r.end_ns[k] for r, k in zip(waits, keep, strict=True)]),
    )


def _code(trace: Trace) -> Ranges:
    """Return the program's own code: Python frames, and annotations other than profiler steps."""
    ops, frames = trace.ops, trace.frames
    note = (ops.kind == ANNOTATION) & ~starts_with(trace, STEP)[ops.name]
    outer = frames.parent < 0
    return Ranges(
        np.concatenate((ops.thread[note], frames.thread[outer])),
        np.concatenate((ops.start_ns[note], frames.start_ns[outer])),
        np.concatenate((ops.end_ns[note], frames.end_ns[outer])),
    )


def _of_ops(trace: Trace, rows: Bools) -> Ranges:
    ops = trace.ops
    return Ranges(ops.thread[rows], ops.start_ns[rows], ops.end_ns[rows])


def _named(trace: Trace, pattern: re.Pattern[str]) -> Bools:
    """Return by string of the trace whether a pattern matches."""
    found = (bool(pattern.search(text)) for text in trace.strings)
    return np.fromiter(found, np.bool_, len(trace.strings))
