"""Marks -> kernels: when each launching operator's work ran, how that is known, how well.

The work lies in the operator's last own segment, between its last inner mark and its end. It
cannot start before the device has reached the segment, nor before the host has launched it; the
mark at the end comes behind it. Where the device was behind when the segment began, the time
between the marks is device time (class ``events``); where it caught up inside but the end mark
still had to wait, the end is known (``end_pinned``); else the work hides before the end mark, and
only limits are known (``bound``) until a catalogue of durations helps (``catalogue``).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.inference.device_timeline.base import (
    RETURN_NS,
    Bounds,
    Calibration,
    EventPairs,
    TypicalDurations,
)
from tb_privateuse1.inference.device_timeline.constraints import UNKNOWN, Spans
from tb_privateuse1.trace.model import BOUND, CATALOGUE, END_PINNED, EVENTS, SYNC, Ops
from tb_privateuse1.trace.table import I8, I64, Bools

_TAIL_SHARE, _TAIL_LOW_NS, _TAIL_HIGH_NS = 0.15, 1_000, 4_000
"""From the launch to the end of the operator's segment on the host, if nothing tells it."""

_SHARES = 20
"""Launches seen that say where in their operators the others lie."""

_OUTSIDE = 0.005
"""Of the launches seen, so many on either side are not counted on for bounds."""

_KERNEL_NS = 10_000
"""Kernels shorter than this hide in operators of all lengths."""

_MUCH, _SUSPECT_NS = 4, 50_000
"""Times and ns by which a kernel is longer than usual whose end a held-up host may have moved.

A thread that lost its core is back after a time slice, some 100 us or more; what is less, kernels
differ by."""

_PREPARE_NS = 2_000
"""What an operator that waits does on the host before it launches."""


@dataclass(frozen=True)
class Placed:
    """One row per launching operator, in the order of the stream.

    ``start_low`` to ``start_high`` and ``length_low`` to ``length_high`` hold the truth; ``start``
    and ``length`` are the estimates between them.
    """

    row: I64
    evidence: I8
    start: I64
    start_low: I64
    start_high: I64
    length: I64
    length_low: I64
    length_high: I64
    end_low: I64
    end_high: I64
    end: I64
    """The likely end, where it is better known than the start."""
    seen: Bools
    """The length is that between two marks on a busy device."""


@dataclass(frozen=True)
class LaunchSites:
    """The segments in which work lies: per row an operator, from mark ``first`` to ``last``.

    ``sure`` says that the work was seen there; else it may lie anywhere in the operator.
    ``copies`` are copies, which may wait for what they launched.
    """

    op: I64
    first: I64
    last: I64
    sure: Bools
    copies: Bools


def placement_limits(
    where: LaunchSites,
    blocked: Bools,
    events: EventPairs,
    ops: Ops,
    bounds: Bounds,
    known: Spans,
    c: Calibration,
    shares: Shares | None = None,
) -> Placed:
    """What holds of each kernel: bounds, class; the estimates lie in their middle.

    ``shares`` tells where in its segment an operator launches, where the trace does.
    """
    row = where.op
    first = np.where(where.sure, where.first, events.start[row])
    last = np.where(where.sure, where.last, events.end[row])
    host_low = np.where(first == events.start[row], ops.start_ns[row], events.host_low_ns[first])
    host_high = np.where(last == events.end[row], ops.end_ns[row], events.host_high_ns[last])
    if shares is not None:
        begin = events.host_ns[where.first]
        host = events.host_ns[where.last] - begin
        host_low = np.maximum(host_low, begin + (host * shares.low).astype(np.int64))
        host_high = np.minimum(host_high, begin + (host * shares.high).astype(np.int64))
    launched = host_high + c.latency_ns + c.jitter_ns

    least = np.maximum(bounds.low[first] + c.event_low_ns, host_low + c.latency_ns)
    most = np.maximum(bounds.high[first] + c.gap_high_ns, launched)
    most = np.maximum(np.minimum(most, bounds.high[last]), least)
    prompt = events.host_high_ns[last] + c.latency_ns + c.jitter_ns
    pinned = (bounds.low[last] > prompt) & ~blocked
    busy = (bounds.low[first] >= launched) & ~blocked
    returned = np.where(last == events.end[row], ops.end_ns[row], events.host_high_ns[last])
    end_high = np.where(blocked, np.minimum(bounds.high[last], returned), bounds.high[last])
    end_high = np.maximum(end_high, least)
    end_low = np.where(pinned, bounds.low[last] - c.event_high_ns, least)

    steps = last - first
    whole = (first == events.start[row]) & (last == events.end[row])
    alone = steps == 1
    span_low = np.where(alone, known.segment_low[last], np.where(whole, known.node_low[row], 0))
    span_high = np.where(whole, known.node_high[row], UNKNOWN)
    span_high = np.where(alone, known.segment_high[last], span_high)
    length_high = np.maximum(np.minimum(end_high - least, span_high), 0)
    direct = np.maximum(span_low - steps * c.event_high_ns - c.gap_high_ns, 0)
    length_low = np.maximum(end_low - most, np.where(busy, direct, 0))
    length_low = np.clip(length_low, 0, length_high)
    evidence = np.where(busy, EVENTS, np.where(pinned, END_PINNED, BOUND))
    evidence = np.where(blocked, SYNC, evidence).astype(np.int8)
    start, length = (least + most) // 2, (length_low + length_high) // 2
    seen = busy & (alone | whole)
    return Placed(
        row, evidence, start, least, most, length, length_low, length_high,
        end_low, end_high, start + length, seen,
    )  # fmt: skip


def estimate_placement(
    placed: Placed,
    where: LaunchSites,
    events: EventPairs,
    bounds: Bounds,
    known: Spans,
    c: Calibration,
    shares: Shares | None = None,
) -> Placed:
    """The likely start and length inside the limits, from the likely times of the marks.

    ``shares`` is where in its segment an operator launches, if the trace tells it.
    """
    first, last = where.first, where.last
    begin, finish = bounds.likely[first], bounds.likely[last]
    blocked = placed.evidence == SYNC
    host = events.host_ns[last] - events.host_ns[first]
    tail = np.clip((host * _TAIL_SHARE).astype(np.int64), _TAIL_LOW_NS, _TAIL_HIGH_NS)
    tail = np.where(where.copies, host // 2, tail)
    if shares is not None:
        tail = (host * (1 - shares.likely)).astype(np.int64)
    tail = np.where(blocked, host - _PREPARE_NS, tail)
    due = events.host_ns[last] - np.clip(tail, 0, host) + c.latency_ns
    start = np.clip(np.maximum(begin + c.gap_ns // 2, due), placed.start_low, placed.start_high)
    behind = begin >= events.host_ns[last] + c.latency_ns
    span = np.where(first == last - 1, (known.segment_low + known.segment_high)[last] // 2, 0)
    waited = bounds.low[last] > events.host_high_ns[last] + c.latency_ns + c.jitter_ns
    length = np.where(waited, finish - c.event_ns - start, _hidden(finish - start))
    measured = behind & (span > 0) & (span < UNKNOWN // 2) & ~blocked
    length = np.where(measured, span - c.event_ns - c.gap_ns // 2, length)
    length = np.clip(length, placed.length_low, placed.length_high)
    end = np.where(blocked, events.host_ns[last] - RETURN_NS, start + length)
    # One that waits prepares, launches, waits for what is before it, works and returns.
    length = np.where(blocked, _hidden(end - start), length)
    length = np.clip(length, placed.length_low, placed.length_high)
    return dataclasses.replace(placed, start=start, length=length, end=end, seen=measured)


def _hidden(most: I64) -> I64:
    """The likely length of what hides in a time: half of it, if it is no longer than kernels are.

    Beyond, all orders of magnitude are as likely, so that it grows with the logarithm.
    """
    long = np.maximum(most, _KERNEL_NS) / _KERNEL_NS
    likely: I64 = (np.minimum(most, _KERNEL_NS) / 2 * (1 + np.log(long))).astype(np.int64)
    return likely


@dataclass(frozen=True)
class Shares:
    """Where in its segment on the host an operator launches: 0 its start, 1 its end."""

    low: float
    likely: float
    high: float


def launch_share(
    placed: Placed, where: LaunchSites, typical: I64, events: EventPairs, c: Calibration
) -> Shares | None:
    """Where in their segments on the host operators launch: nearly all, and the middle one.

    Told by work whose end and usual length are known and that found the device idle; None where
    there is too little of it.
    """
    start = events.host_ns[where.first]
    host = events.host_ns[where.last] - start
    told = (placed.evidence == END_PINNED) & (typical > 0) & where.sure & (host > 0)
    launch = placed.end - typical - c.latency_ns - start
    share = launch[told] / host[told]
    share = share[(share >= 0) & (share <= 1)]
    if len(share) < _SHARES:
        return None
    low, likely, high = np.percentile(share, (100 * _OUTSIDE, 50, 100 * (1 - _OUTSIDE)))
    return Shares(float(low), float(likely), float(high))


def distrust_preempted(
    placed: Placed,
    where: LaunchSites,
    usual: TypicalDurations,
    events: EventPairs,
    bounds: Bounds,
    c: Calibration,
) -> tuple[Placed, TypicalDurations]:
    """Both, without trust in the ends of kernels that a held-up host may have made long.

    A thread that loses its core between an operator's end and its event records that when it is
    back: of a device that was done, the mark tells the host's time. That fits all that is known
    where the thread's next time stamp comes behind the mark; other instances, much shorter, make
    it likely. Then they tell the length, and its limits reach from theirs to its own.
    """
    last = where.last
    following = events.host_ns[events.next[last]]
    alone = events.next[last] == last
    late = alone | (following + c.latency_ns + c.jitter_ns >= bounds.low[last])
    most = np.where(usual.high >= 0, usual.high, _MUCH * usual.length)
    odd = (placed.evidence == END_PINNED) & late & (usual.length >= 0)
    odd &= placed.length_low > np.maximum(most, usual.length + _SUSPECT_NS)
    low = np.where(usual.low >= 0, usual.low, 0)
    free = dataclasses.replace(
        placed,
        evidence=np.where(odd, BOUND, placed.evidence).astype(np.int8),
        length_low=np.where(odd, np.minimum(low, placed.length_low), placed.length_low),
    )
    high = np.where(odd & (usual.high >= 0), placed.length_high, usual.high)
    return free, dataclasses.replace(usual, high=high)


def fill_lengths(placed: Placed, usual: TypicalDurations) -> Placed:
    """The same kernels with the lengths of other instances where their own is not seen.

    Where the end is known, the start moves; else the start stays. Limits that others give count
    where they do not contradict the kernel's own.
    """
    known = (usual.length >= 0) & ~placed.seen
    low = np.maximum(placed.length_low, usual.low)
    high = np.minimum(placed.length_high, usual.high)
    agreed = known & (usual.low >= 0) & (low <= high)
    length_low = np.where(agreed, low, placed.length_low)
    length_high = np.where(agreed, high, placed.length_high)
    length = np.where(known, np.clip(usual.length, length_low, length_high), placed.length)
    ends = known & np.isin(placed.evidence, (END_PINNED, SYNC))
    narrow = agreed & (placed.evidence == END_PINNED)
    first = np.maximum(placed.start_low, placed.end_low - length_high)
    latest = np.minimum(placed.start_high, placed.end_high - length_low)
    narrow &= first <= latest
    start_low = np.where(narrow, first, placed.start_low)
    start_high = np.where(narrow, latest, placed.start_high)
    start = np.clip(np.where(ends, placed.end - length, placed.start), start_low, start_high)
    told = known & (placed.evidence == BOUND)
    evidence = np.where(told, CATALOGUE, placed.evidence).astype(np.int8)
    return dataclasses.replace(
        placed, start=start, start_low=start_low, start_high=start_high, length=length,
        length_low=length_low, length_high=length_high, evidence=evidence,
    )  # fmt: skip


def serialize(placed: Placed) -> Placed:
    """Estimates that keep the order of the lane and do not overlap, within their limits."""
    if not len(placed.row):
        return placed
    # What a kernel cannot give way to the next one it gives to its own length.
    start = np.maximum.accumulate(placed.start)
    follower = np.concatenate((start[1:], [np.iinfo(np.int64).max]))
    length = np.maximum(np.minimum(placed.length, follower - start), 0)
    return dataclasses.replace(placed, start=start, length=length)


def placement_errors(placed: Placed, c: Calibration) -> tuple[I64, I64]:
    """The largest errors of start and length. A wrong latency shifts every start alike."""
    start = np.maximum(placed.start - placed.start_low, placed.start_high - placed.start)
    length = np.maximum(placed.length - placed.length_low, placed.length_high - placed.length)
    return start + c.latency_bound_ns, length
