"""Estimate usual launch latencies, pauses of streams and returns of waits in a trace."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.idle.launch_times import typical_and_most
from tb_privateuse1.analysis.simulation import launches_and_waits
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import latest_not_after, lookup
from tb_privateuse1.trace.groupby import maxima
from tb_privateuse1.trace.model import NONE, Kernels, Trace
from tb_privateuse1.trace.table import I64

_LATENCY_NS, _LONGEST_NS = 10_000, 1_000_000
"""Limits of a launch latency: the default if no launch met a free stream (elsewhere it was 6 to 20
µs), and the greatest plausible value."""

_ROUNDS = 16
"""Greatest number of concurrent activities of a stream; further ones are not in a chain."""

_NEAR_NS, _NEAR_SHARE = 20_000, 0.02
"""An activity that starts this soon after one of another stream may have waited for it. So may one
for which that time is a small share of its delay: by chance such a start is rare."""

_FREE_NS = 20_000
"""A call that has nothing to wait for returns within this time."""


def launch_latencies(
    trace: Trace, submission: launches_and_waits.Submissions, known: I64, before: I64
) -> tuple[I64, int]:
    """Return the usual part of each launch latency, and the median.

    If the stream was free, the whole gap is the latency. Behind other work, the latency is at most
    the usual one. A call that launches a graph takes longer than one that launches a kernel, so
    each call has its own usual latency. ``known`` are activities, ``before`` their predecessors.
    """
    kernels = trace.kernels
    gap = kernels.start_ns[known] - submission.at_ns[known]
    free = (before < 0) | (lookup(kernels.end_ns, before, 0) <= submission.at_ns[known])
    launch = kernels.launch[known]
    # Only a launch's first activity starts behind it.
    first = launch < 0
    first[np.unique(launch, return_index=True)[1]] = True
    like = free & first & (gap < _LONGEST_NS)
    if like.any():
        middle, most = typical_and_most(gap[like])
    else:
        middle = most = min(int(gap.min(initial=_LATENCY_NS)), _LATENCY_NS)
    usual = np.where(free, most, middle)
    name = lookup(trace.launches.name, launch, NONE)
    for _, rows in groupby.split_by_value(name):
        alike = gap[rows[like[rows]]]
        if len(alike):
            own_middle, own_most = typical_and_most(alike)
            usual[rows] = np.where(free[rows], own_most, own_middle)
    return np.minimum(gap, usual), middle


def stream_gaps(
    kernels: Kernels, submission: launches_and_waits.Submissions
) -> tuple[I64, I64, int]:
    """Return each activity's predecessor on its stream, the pause, and the usual maximum.

    Overlapping activities of a stream are split into several chains. Between activities of one
    launch, a graph's, all of the gap is a pause: the host has no part in it. Not so if another
    activity of the graph ended in between, on another stream.
    """
    before = np.full(len(kernels), NONE)
    lane, start, end = kernels.lane, kernels.start_ns, kernels.end_ns
    by_lane = np.argsort(lane, kind="stable")
    for axis in intervals.lanes((lane, start), (lane, end)):
        rows = by_lane[axis.has(lane[by_lane])]
        for _ in range(_ROUNDS):
            if not len(rows):
                break
            places = (axis.place(lane[rows], one[rows]) for one in (start, end))
            late = intervals.overlapping(*places)
            own = rows[~late]
            same = lane[own[1:]] == lane[own[:-1]]
            before[own[1:][same]] = own[:-1][same]
            rows = rows[late]
    has = np.flatnonzero(before >= 0)
    pause = kernels.start_ns[has] - kernels.end_ns[before[has]]
    queued = submission.at_ns[has] <= kernels.end_ns[before[has]]
    inner = _inside_launch(kernels)[has]
    graph = (inner >= 0) & (kernels.launch[has] == kernels.launch[before[has]])
    graph &= kernels.end_ns[inner] <= kernels.end_ns[before[has]]
    middle, most = typical_and_most(pause[queued & (inner < 0)])
    usual = np.where(graph, pause, np.where(queued, most, middle))
    gap = np.zeros(len(kernels), np.int64)
    gap[has] = np.minimum(np.maximum(pause, 0), usual)
    return before, gap, most


def _inside_launch(kernels: Kernels) -> I64:
    """Return the activity of the same launch that ended last before each one's start, or none."""
    found = np.full(len(kernels), NONE)
    own = np.flatnonzero(kernels.launch >= 0)
    if not len(own):
        return found
    first = int(kernels.start_ns[own].min())
    span = int(kernels.end_ns[own].max()) - first + 1
    _, launch = np.unique(kernels.launch[own], return_inverse=True)
    ends = launch * span + (kernels.end_ns[own] - first)
    by_end = np.argsort(ends, kind="stable")
    starts = launch * span + (kernels.start_ns[own] - first)
    at = latest_not_after(ends[by_end], starts)
    last = by_end[at]
    same = (at >= 0) & (launch[last] == launch) & (last != np.arange(len(own)))
    found[own[same]] = own[last[same]]
    return found


def chain_of(before: I64) -> I64:
    """Return the chain of each activity, numbered by its first activity."""
    number = np.arange(len(before))
    up = np.where(before >= 0, before, number)
    while (up[up] != up).any():
        up = up[up]
    return up


def return_latencies(kernels: Kernels, waits: launches_and_waits.Waits) -> tuple[I64, I64]:
    """Return each wait's own time, and the time from an activity's end to the wait's return.

    The own time is the usual duration of waits without anything to wait for. What a longer one
    without anything to wait for takes beyond that, nothing recorded explains.
    """
    end = np.minimum(kernels.end_ns[waits.kernel], waits.end_ns[waits.wait])
    ended = maxima(waits.wait, end, len(waits.start_ns), np.iinfo(np.int64).min)
    length = waits.end_ns - waits.start_ns
    idle = ended <= waits.start_ns
    usual = min(typical_and_most(length[idle & (ended > 0)])[0], _FREE_NS)
    own = np.minimum(length, np.where(idle, _FREE_NS, usual))
    back = waits.end_ns[waits.wait] - end
    waited = end > waits.start_ns[waits.wait]
    middle, most = typical_and_most(back[waited])
    return own, np.minimum(back, np.where(waited, most, middle))


def between_streams(kernels: Kernels, delay: I64, most_ns: int) -> tuple[I64, I64, I64]:
    """Return edges from an activity that ends just before an unexplained start on another stream.

    That is how waiting for an event looks, where the trace does not record it (``stream_edges``).
    Activities of one launch, a graph's, may be further apart.
    """
    by_end = np.argsort(kernels.end_ns, kind="stable")
    open_ = np.flatnonzero(delay > 0)
    at = latest_not_after(kernels.end_ns[by_end], kernels.start_ns[open_])
    near = by_end[at]
    inner = _inside_launch(kernels)[open_]
    graph = inner >= 0
    near = np.where(graph, inner, near)
    gap = kernels.start_ns[open_] - kernels.end_ns[near]
    hit = (at >= 0) & (kernels.lane[near] != kernels.lane[open_])
    near_ns = np.maximum(_NEAR_SHARE * delay[open_], max(_NEAR_NS, most_ns))
    hit &= graph | (gap <= near_ns)
    hit &= gap < delay[open_]
    hit &= near != open_
    return near[hit], open_[hit], gap[hit]
