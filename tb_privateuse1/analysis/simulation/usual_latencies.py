"""How long launches, pauses of a stream and returns of waiting calls usually take in a trace."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.simulation import submissions
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.model import NONE, Kernels
from tb_privateuse1.trace.table import I64

_USUAL = 95
"""The percentile up to which a gap is usual."""

_TIMES, _LEAST_NS = 4, 2_000
"""But so many times the median at most, or so long: a few outliers are not usual."""

_LATENCY_NS, _LONGEST_NS = 10_000, 1_000_000
"""What a launch needs at most where none met a free stream (elsewhere it was 6 to 20 us), and
what none needs."""

_ROUNDS = 16
"""So many activities of a stream may run at once; more are in no order."""

_NEAR_NS = 20_000
"""An activity that starts so soon behind one of another stream may have waited for that."""


def typical_and_most(gaps: I64) -> tuple[int, int]:
    """What is usual in the middle and at most; 0 without any."""
    if not len(gaps):
        return 0, 0
    middle, most = (int(ns) for ns in np.percentile(gaps, (50, _USUAL)))
    return middle, max(min(most, max(_TIMES * middle, _LEAST_NS)), middle)


def launch_latencies(
    kernels: Kernels, given: submissions.Submissions, known: I64, before: I64
) -> tuple[I64, int]:
    """What each launch needed, as far as it is usual, and what is usual in the middle.

    Where the stream was free all of the gap is the launch; behind other work, what a launch needs
    may not be more than the usual.
    """
    gap = kernels.start_ns[known] - given.at_ns[known]
    free = (before >= 0) & (np.append(kernels.end_ns, 0)[before] <= given.at_ns[known])
    free |= before < 0
    like = free & (gap < _LONGEST_NS)
    if like.any():
        middle, most = typical_and_most(gap[like])
    else:
        middle = most = min(int(gap.min(initial=_LATENCY_NS)), _LATENCY_NS)
    return np.minimum(gap, np.where(free, most, middle)), middle


def stream_gaps(kernels: Kernels, given: submissions.Submissions, n: int) -> tuple[I64, I64, int]:
    """The predecessor (a node) of each activity on its stream, the pause, and what is usual.

    Activities that overlap on one stream are told apart into several chains.
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
    queued = given.at_ns[has] <= kernels.end_ns[before[has]]
    middle, most = typical_and_most(pause[queued])
    gap = np.zeros(len(kernels), np.int64)
    gap[has] = np.minimum(np.maximum(pause, 0), np.where(queued, most, middle))
    return np.where(before >= 0, before + n, NONE), gap, most


def chain_of(before: I64) -> I64:
    """A number for each chain, by its first activity."""
    number = np.arange(len(before))
    up = np.where(before >= 0, before, number)
    while (up[up] != up).any():
        up = up[up]
    return up


def return_latencies(kernels: Kernels, waits: submissions.Waits) -> tuple[I64, I64]:
    """Each waiting call's own time, and how long after an activity's end the call returned.

    The own time is what such calls take that had nothing to wait for.
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
    """Activities whose start nothing explains, but the end of one on another stream just before.

    That is what waiting for an event looks like; traces seldom say who waits for which event.
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
