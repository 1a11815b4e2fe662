"""Place the kernel of each launch site between two events: bounds, estimates, class of evidence.

A kernel cannot start before the device has reached its segment, nor before the host has launched
it; the event at the segment's end comes after it. If the device was behind when the segment began,
the time between the events is device time (class ``events``). If it caught up inside but the end
event still had to wait, the end is known (``end_pinned``). Else the kernel is hidden before the end
event, with bounds only (``bound``), unless other instances show its duration (``catalogue``).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.inference.device_timeline.constraints import UNKNOWN, Spans
from tb_privateuse1.inference.device_timeline.timeline_inputs import (
    CLOCK_NS,
    LATE_RETURN_NS,
    RETURN_NS,
    Bounds,
    Calibration,
    EventPairs,
    TypicalDurations,
)
from tb_privateuse1.trace.model import BOUND, CATALOGUE, END_PINNED, EVENTS, SYNC, Ops
from tb_privateuse1.trace.statistics import ERROR_RATE
from tb_privateuse1.trace.table import I8, I64, Bools

_TAIL_SHARE, _TAIL_LOW_NS, _TAIL_HIGH_NS = 0.15, 1_000, 4_000
"""Default time from the launch to the end of the operator's segment on the host."""

_SHARES = 20
"""The least number of visible launches that show where in operators launches lie."""

_LATE_SHARE, _LATE = 0.3, 0.9
"""The share of kernels that began later than any launch in their segment could be, above which the
device takes a varying time to begin, and the share of these times in the bounds."""

_OUTSIDE = ERROR_RATE / 2
"""The share of visible launches on either side that bounds leave out."""

_KERNEL_NS = 10_000
"""Hidden kernels up to this length are equally likely to have any length."""

_PREPARE_NS = 2_000
"""The host time of a blocking operator before it launches."""


class Placed(Struct, frozen=True):
    """One row per kernel, in the order of the stream.

    The truth is in ``start_low`` to ``start_high`` and ``length_low`` to ``length_high``; ``start``
    and ``length`` are the estimates inside.
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
    """The likely end, if it is better known than the start."""
    seen: Bools
    """The kernel is visible: its length is the time between two events on a busy device."""
    guessed: Bools
    """Nothing of equal work shows the length: it may be anywhere up to its limit."""


class LaunchSites(Struct, frozen=True):
    """The segments that hold kernels: per row an operator, from event ``first`` to ``last``.

    ``sure``: the work is visible there; else it may lie anywhere in the operator. ``copies`` may
    wait for the work that they launched.
    """

    op: I64
    first: I64
    last: I64
    sure: Bools
    copies: Bools
    launched: tuple[I64, I64] | None = None
    """Host times of the first and the last launch of each, if they are known."""

    @property
    def apart_ns(self) -> I64:
        """Return the host time from the first to the last launch of each; 0 if not known."""
        if self.launched is None:
            return np.zeros(len(self.op), np.int64)
        return self.launched[1] - self.launched[0]


def placement_limits(
    sites: LaunchSites,
    blocked: Bools,
    events: EventPairs,
    ops: Ops,
    bounds: Bounds,
    known: Spans,
    c: Calibration,
    shares: Shares | None = None,
) -> Placed:
    """Return the bounds and the class of each kernel, with estimates in their middle.

    ``blocked`` are kernels of blocking operators. ``shares``: where in their segments operators
    launch, if the trace shows it.
    """
    row = sites.op
    first = np.where(sites.sure, sites.first, events.start[row])
    last = np.where(sites.sure, sites.last, events.end[row])
    host_low, begun, host_high = _launch_times(sites, events, ops, first, last, shares)
    launched = host_high + c.latency_ns + c.jitter_ns

    least = np.maximum(bounds.low[first] + c.event_low_ns, host_low + c.latency_ns)
    begun = begun + c.latency_ns + c.jitter_ns
    most = np.maximum(bounds.high[first] + c.gap_high_ns, begun)
    most = np.maximum(np.minimum(most, bounds.high[last]), least)
    prompt = events.host_high_ns[last] + c.latency_ns + c.jitter_ns
    waited = bounds.low[last] > prompt
    pinned = waited & ~blocked
    # A launch may be known to be early in its segment: then the device may have been done by its
    # end, and the end event shows the host's time.
    busy = (bounds.low[first] >= launched) & (waited | (bounds.low[first] >= prompt)) & ~blocked
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
        end_low, end_high, start + length, seen, np.zeros(len(row), np.bool_),
    )  # fmt: skip


def _launch_times(
    sites: LaunchSites,
    events: EventPairs,
    ops: Ops,
    first: I64,
    last: I64,
    shares: Shares | None,
) -> tuple[I64, I64, I64]:
    """Return the least and the greatest time of the first launch, and the greatest of the last.

    ``first`` and ``last`` are the events around the launches of each site.
    """
    row = sites.op
    host_low = np.where(first == events.start[row], ops.start_ns[row], events.host_low_ns[first])
    host_high = np.where(last == events.end[row], ops.end_ns[row], events.host_high_ns[last])
    if shares is not None:
        begin = events.host_ns[sites.first]
        host = events.host_ns[sites.last] - begin
        shown = host <= shares.longest_ns
        earliest, latest = (begin + (host * s).astype(np.int64) for s in (shares.low, shares.high))
        host_low = np.where(shown, np.maximum(host_low, earliest), host_low)
        host_high = np.where(shown, np.minimum(host_high, latest), host_high)
    if sites.launched is None:
        return host_low, host_high, host_high
    return _around_launches(sites.launched, host_low, host_high)


def _around_launches(launched: tuple[I64, I64], low: I64, high: I64) -> tuple[I64, I64, I64]:
    """Return the least and the greatest time of the first launch, and the greatest of the last.

    They are in the limits that their operators give.
    """
    first, last = (np.clip(one, low, high) for one in launched)
    return (
        np.maximum(low, first - CLOCK_NS),
        np.minimum(high, first + CLOCK_NS),
        np.minimum(high, last + CLOCK_NS),
    )


def estimate_placement(
    placed: Placed,
    sites: LaunchSites,
    events: EventPairs,
    bounds: Bounds,
    known: Spans,
    c: Calibration,
    shares: Shares | None = None,
) -> Placed:
    """Return the kernels with likely start and length, from the likely times of the events.

    ``shares``: where in their segments operators launch, if the trace shows it.
    """
    first, last = sites.first, sites.last
    begin, finish = bounds.likely[first], bounds.likely[last]
    blocked = placed.evidence == SYNC
    host = events.host_ns[last] - events.host_ns[first]
    tail = np.clip((host * _TAIL_SHARE).astype(np.int64), _TAIL_LOW_NS, _TAIL_HIGH_NS)
    tail = np.where(sites.copies, host // 2, tail)
    if shares is not None:
        tail = (np.minimum(host, shares.longest_ns) * (1 - shares.likely)).astype(np.int64)
    # A copy that took the host long waited for itself, if nothing tells that the host prepared it.
    long = sites.copies & (host > LATE_RETURN_NS)
    tail = np.where(blocked | long, host - _PREPARE_NS, tail)
    due = events.host_ns[last] - np.clip(tail, 0, host) + c.latency_ns
    if sites.launched is not None:
        due = sites.launched[0] + c.latency_ns
    start = np.clip(np.maximum(begin + c.gap_ns // 2, due), placed.start_low, placed.start_high)
    behind = begin >= events.host_ns[last] + c.latency_ns
    span = np.where(first == last - 1, (known.segment_low + known.segment_high)[last] // 2, 0)
    waited = bounds.low[last] > events.host_high_ns[last] + c.latency_ns + c.jitter_ns
    hidden = hidden_length(finish - start)
    hidden = np.where(long, np.maximum(hidden, finish - start - LATE_RETURN_NS), hidden)
    length = np.where(waited, finish - c.event_ns - start, hidden)
    measured = behind & (span > 0) & (span < UNKNOWN // 2) & ~blocked
    length = np.where(measured, span - c.event_ns - c.gap_ns // 2, length)
    length = np.clip(length, placed.length_low, placed.length_high)
    end = np.where(blocked, events.host_ns[last] - RETURN_NS, start + length)
    # A blocking operator prepares, launches, waits for the backlog and its work, and returns.
    # Of a short wait the host's part is not known; a long one is the copy, less a late return.
    worked = np.maximum(hidden_length(end - start), end - start - LATE_RETURN_NS)
    length = np.where(blocked, np.where(sites.copies, worked, hidden_length(end - start)), length)
    length = np.clip(length, placed.length_low, placed.length_high)
    hides = blocked | ~(waited | measured)
    guessed = hides & (finish - start > _KERNEL_NS)
    return replace(placed, start=start, length=length, end=end, seen=measured, guessed=guessed)


def hidden_length(most: I64) -> I64:
    """Return the likely length of a kernel hidden in a time: half of it, up to ``_KERNEL_NS``.

    Beyond, all orders of magnitude are equally likely, so that it grows with the logarithm.
    """
    long = np.maximum(most, _KERNEL_NS) / _KERNEL_NS
    likely: I64 = (np.minimum(most, _KERNEL_NS) / 2 * (1 + np.log(long))).astype(np.int64)
    return likely


class Shares(Struct, frozen=True):
    """The position of launches in their host segments: 0 is the start, 1 the end."""

    low: float
    likely: float
    high: float
    longest_ns: int
    """The host time of the longest segments that show it: in longer ones, the thread may rest."""


def launch_share(
    placed: Placed, sites: LaunchSites, typical: I64, events: EventPairs, c: Calibration
) -> Shares | None:
    """Return where in their segments operators launch: range of nearly all, and the median.

    The samples are kernels of known end and typical length on an idle device; None if there are
    too few.
    """
    start = events.host_ns[sites.first]
    host = events.host_ns[sites.last] - start
    samples = (placed.evidence == END_PINNED) & (typical > 0) & sites.sure & (host > 0)
    launch = placed.end - typical - c.latency_ns - start
    share = launch[samples] / host[samples]
    inside = (share >= 0) & (share <= 1)
    share = share[inside]
    if len(share) < _SHARES:
        return None
    low, likely, high = np.percentile(share, (100 * _OUTSIDE, 50, 100 * (1 - _OUTSIDE)))
    longest = np.percentile(host[samples][inside], 100 * (1 - _OUTSIDE))
    return Shares(float(low), float(likely), float(high), int(longest))


def lateness(
    placed: Placed, sites: LaunchSites, typical: I64, events: EventPairs, c: Calibration
) -> int:
    """Return how much later than its launch and the latency a kernel may begin on an idle device.

    The samples are those of ``launch_share``; 0 if few of them began later than any launch in their
    segments explains.
    """
    latest = events.host_ns[sites.last]
    if sites.launched is not None:
        latest = np.minimum(latest, sites.launched[1] + CLOCK_NS)
    samples = (placed.evidence == END_PINNED) & (typical > 0) & sites.sure
    late = (placed.end - typical - c.latency_ns - latest)[samples]
    if len(late) < _SHARES or (late > 0).mean() <= _LATE_SHARE:
        return 0
    return int(np.percentile(late, 100 * _LATE))


def allow_late_starts(placed: Placed, late_ns: int) -> Placed:
    """Return the kernels with limits for starts that are later than launches explain."""
    idle = ~np.isin(placed.evidence, (EVENTS, SYNC))
    latest = np.maximum(placed.start_high, np.minimum(placed.start_high + late_ns, placed.end_high))
    least = np.maximum(placed.length_low - late_ns, 0)
    shorter = placed.evidence == END_PINNED
    return replace(
        placed,
        start_high=np.where(idle, latest, placed.start_high),
        length_low=np.where(shorter, least, placed.length_low),
    )


def fill_lengths(placed: Placed, typical: TypicalDurations) -> Placed:
    """Return the kernels with lengths of other instances if their own is hidden.

    If the end is known, the start moves; else the start stays. Limits of other instances count
    unless they contradict the kernel's own.
    """
    known = (typical.length >= 0) & ~placed.seen
    low = np.maximum(placed.length_low, typical.low)
    high = np.minimum(placed.length_high, typical.high)
    agreed = ~placed.seen & (typical.low >= 0) & (low <= high)
    length_low = np.where(agreed, low, placed.length_low)
    length_high = np.where(agreed, high, placed.length_high)
    length = np.where(known, typical.length, placed.length)
    length = np.where(known | agreed, np.clip(length, length_low, length_high), length)
    ends = known & np.isin(placed.evidence, (END_PINNED, SYNC))
    narrow = agreed & known & (placed.evidence == END_PINNED)
    first = np.maximum(placed.start_low, placed.end_low - length_high)
    latest = np.minimum(placed.start_high, placed.end_high - length_low)
    narrow &= first <= latest
    start_low = np.where(narrow, first, placed.start_low)
    start_high = np.where(narrow, latest, placed.start_high)
    start = np.clip(np.where(ends, placed.end - length, placed.start), start_low, start_high)
    guessed = np.where(known, ~typical.own, placed.guessed & ~agreed)
    from_others = known & (placed.evidence == BOUND)
    evidence = np.where(from_others, CATALOGUE, placed.evidence).astype(np.int8)
    return replace(
        placed, start=start, start_low=start_low, start_high=start_high, length=length,
        length_low=length_low, length_high=length_high, evidence=evidence, guessed=guessed,
    )  # fmt: skip


def serialize(placed: Placed) -> Placed:
    """Return estimates in the order of the lane and without overlap, within their limits."""
    if not len(placed.row):
        return placed
    # If a kernel would overlap the next one, shorten it.
    start = np.maximum.accumulate(placed.start)
    follower = np.concatenate((start[1:], [np.iinfo(np.int64).max]))
    length = np.maximum(np.minimum(placed.length, follower - start), 0)
    return replace(placed, start=start, length=length)


def placement_errors(placed: Placed, c: Calibration) -> tuple[I64, I64]:
    """Return the largest errors of start and length. A wrong latency shifts every start alike."""
    start = np.maximum(placed.start - placed.start_low, placed.start_high - placed.start)
    length = np.maximum(placed.length - placed.length_low, placed.length_high - placed.length)
    return start + c.latency_bound_ns, length
