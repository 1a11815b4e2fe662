"""Estimate usual launch latencies, pauses of streams and returns of waits in a trace."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.simulation import submissions
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.model import NONE, Kernels
from tb_privateuse1.trace.table import I64

_USUAL = 95
"""The percentile up to which a gap is usual."""

_TIMES, _LEAST_NS = 4, 2_000
"""The limit is also at most this many times the median, or this long: a few outliers are not
usual."""

_LATENCY_NS, _LONGEST_NS = 10_000, 1_000_000
"""Limits of a launch latency: the default if no launch met a free stream (elsewhere it was 6 to 20
µs), and the greatest plausible value."""

_ROUNDS = 16
"""Greatest number of concurrent activities of a stream; further ones are not in a chain."""

_NEAR_NS = 20_000
"""An activity that starts this soon after one of another stream may have waited for it."""


def typical_and_most(gaps: I64) -> tuple[int, int]:
    """Return the median and the usual maximum of gaps, in ns; 0 without any."""
    if not len(gaps):
        return 0, 0
    middle, most = (int(ns) for ns in np.percentile(gaps, (50, _USUAL)))
    return middle, max(min(most, max(_TIMES * middle, _LEAST_NS)), middle)


def launch_latencies(
    kernels: Kernels, submission: submissions.Submissions, known: I64, before: I64
) -> tuple[I64, int]:
    """Return the usual part of each launch latency, and the median.

    If the stream was free, the whole gap is the latency. Behind other work, the latency is at most
    the usual one.
    """
    gap = kernels.start_ns[known] - submission.at_ns[known]
    free = (before >= 0) & (np.append(kernels.end_ns, 0)[before] <= submission.at_ns[known])
    free |= before < 0
    like = free & (gap < _LONGEST_NS)
    if like.any():
        middle, most = typical_and_most(gap[like])
    else:
        middle = most = min(int(gap.min(initial=_LATENCY_NS)), _LATENCY_NS)
    return np.minimum(gap, np.where(free, most, middle)), middle


def stream_gaps(
    kernels: Kernels, submission: submissions.Submissions, n: int
) -> tuple[I64, I64, int]:
    """Return each activity's predecessor (a node) on its stream, the pause, and the usual maximum.

    Overlapping activities of a stream are split into several chains.
    """
    before = np.full(len(kernels), NONE)
    for _, left in groupby.split_by_value(kernels.lane):
        rows = left
        for _ in range(_ROUNDS):
            if not len(rows):
                break
            late = intervals.overlapping(kernels.start_ns[rows], kernels.end_ns[rows])
            own = rows[~late]
            before[own[1:]] = own[:-1]
            rows = rows[late]
    has = np.flatnonzero(before >= 0)
    pause = kernels.start_ns[has] - kernels.end_ns[before[has]]
    queued = submission.at_ns[has] <= kernels.end_ns[before[has]]
    middle, most = typical_and_most(pause[queued])
    gap = np.zeros(len(kernels), np.int64)
    gap[has] = np.minimum(np.maximum(pause, 0), np.where(queued, most, middle))
    return np.where(before >= 0, before + n, NONE), gap, most


def chain_of(before: I64) -> I64:
    """Return the chain of each activity, numbered by its first activity."""
    number = np.arange(len(before))
    up = np.where(before >= 0, before, number)
    while (up[up] != up).any():
        up = up[up]
    return up


def return_latencies(kernels: Kernels, waits: submissions.Waits) -> tuple[I64, I64]:
    """Return each wait's own time, and the time from an activity's end to the wait's return.

    The own time is the usual duration of waits without anything to wait for.
    """
    ended = np.full(len(waits.start_ns), np.iinfo(np.int64).min)
    end = np.minimum(kernels.end_ns[waits.kernel], waits.end_ns[waits.wait])
    np.maximum.at(ended, waits.wait, end)
    length = waits.end_ns - waits.start_ns
    idle = ended <= waits.start_ns
    own = np.where(
        idle, length, np.minimum(length, typical_and_most(length[idle & (ended > 0)])[0])
    )
    back = waits.end_ns[waits.wait] - end
    waited = end > waits.start_ns[waits.wait]
    middle, most = typical_and_most(back[waited])
    return own, np.minimum(back, np.where(waited, most, middle))


def between_streams(kernels: Kernels, delay: I64, most_ns: int, n: int) -> tuple[I64, I64, I64]:
    """Return edges from an activity that ends just before an unexplained start on another stream.

    That is how waiting for an event looks; traces seldom record which event a stream waits for.
    """
    by_end = np.argsort(kernels.end_ns, kind="stable")
    open_ = np.flatnonzero(delay > 0)
    at = np.searchsorted(kernels.end_ns[by_end], kernels.start_ns[open_], side="right") - 1
    near = by_end[at]
    gap = kernels.start_ns[open_] - kernels.end_ns[near]
    hit = (at >= 0) & (kernels.lane[near] != kernels.lane[open_]) & (gap <= max(_NEAR_NS, most_ns))
    hit &= gap < delay[open_]
    hit &= near != open_
    return near[hit] + n, open_[hit] + n, gap[hit]
