"""Find device work that no known operator launched, by the events that had to wait for it.

While an event waits, the device works, also for what no operator launched: a replayed graph, a
library beside torch, another thread, communication on the same stream. Between two neighboring
events that enclose no launch site, device time beyond the host's is such work if code may have run
there that launches. A thread that was preempted before it recorded the event makes it late, too. So
the wait counts if the event was surely recorded before it was due, or if the same place in the
program waits most of the time.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.inference.device_timeline import (
    foreign_waits,
    kernel_placement,
    launching_operators,
    self_test,
)
from tb_privateuse1.inference.device_timeline.kernel_placement import LaunchSites
from tb_privateuse1.inference.device_timeline.phase_results import Cautious, Likely, StreamInput
from tb_privateuse1.inference.device_timeline.timeline_inputs import EventPairs, StreamKernels
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import following, in_ranges, lookup, sums_before
from tb_privateuse1.trace.model import MISSING, NONE, UNKNOWN
from tb_privateuse1.trace.table import I64, Bools

UNKNOWN_WORK = "device busy, launcher unknown"
"""The name of these activities."""

_LEAST_NS = 5_000
"""Less may be jitter of the device or of the time stamps."""

_OFTEN, _SHARE = 3, 0.5
"""The least number of waits at a place of the program, and their least share of its calls.

A scheduler that preempts the thread does not prefer a place."""


def add_unknown_work(
    work: StreamKernels, stream: StreamInput, cautious: Cautious, likely: Likely
) -> StreamKernels:
    """Return the work, and work without a known launcher: of kind ``UNKNOWN``, its row ``NONE``.

    It yields to kernels of known operators: on one stream nothing overlaps.
    """
    sites = waiting_segments(stream, cautious)
    waited, waits = unexplained_waits(stream, cautious, likely)
    if not len(sites.op):
        return replace(work, unseen_ns=waited, unseen_waits=waits)
    limits = kernel_placement.placement_limits(
        sites,
        np.zeros(len(sites.op), np.bool_),
        cautious.events,
        stream.ops,
        cautious.solution.bounds,
        cautious.solution.spans,
        stream.c,
    )
    placed = kernel_placement.estimate_placement(
        limits, sites, likely.events, likely.within, likely.solution.spans, likely.c
    )
    start_bound, duration_bound = kernel_placement.placement_errors(placed, stream.c)
    unbounded = cautious.solution.unknown
    start_bound = np.where(unbounded[sites.first] | unbounded[sites.last], MISSING, start_bound)
    count = len(sites.op)
    after = np.searchsorted(work.start_ns, placed.start, side="right")
    ended = lookup(work.start_ns + work.duration_ns, after - 1, np.iinfo(np.int64).min)
    start = np.maximum(placed.start, ended)
    follower = lookup(work.start_ns, after, np.iinfo(np.int64).max)
    end = np.minimum(placed.start + placed.length, follower)
    unknown = replace(
        work,
        row=np.full(count, NONE, np.int64),
        start_ns=start,
        duration_ns=np.maximum(end - start, 0),
        start_bound_ns=start_bound,
        duration_bound_ns=duration_bound,
        evidence=placed.evidence,
        activity=np.full(count, UNKNOWN, np.int8),
        guessed=placed.guessed,
    )
    shown = int(unknown.duration_ns.sum())
    return replace(work.join(unknown), unseen_ns=max(waited - shown, 0), unseen_waits=waits)


def unexplained_waits(stream: StreamInput, cautious: Cautious, likely: Likely) -> tuple[int, int]:
    """Return how long events likely waited for a device without known work, in ns, and how often.

    They surely waited and were surely recorded before: work that nobody is known to have launched
    ran then, or the device stalled. Places of the program that wait most of the time launch it
    themselves, and count as no such time. Nor does what the capture does behind the window. A
    stream beside others, as of communication, may have waited for these instead.
    """
    beside = stream.beside or foreign_waits.communicates(stream)
    if beside or not len(cautious.events):
        return 0, 0
    events, c, at = cautious.events, likely.c, likely.within.likely
    bounds = cautious.solution.bounds
    prompt = events.host_high_ns + c.latency_ns + c.jitter_ns
    wait = at - np.maximum(prompt, _before(at) + c.event_high_ns)
    least = bounds.low - np.maximum(prompt, _before(bounds.high) + c.event_high_ns)
    surely = (least > _LEAST_NS) & _recorded_before(stream, cautious)
    surely &= ~_covered(len(events), cautious.sites)
    surely &= ~self_test.inside_capture(stream.ops, stream.strings)[events.op]
    alone = surely & ~_waits_often(stream, events, np.flatnonzero(surely))
    return int(np.maximum(wait[surely], 0).sum()), int(alone.sum())


def _before(times_ns: I64) -> I64:
    """Return the time of the event before each one; the first has its own."""
    return np.concatenate((times_ns[:1], times_ns[:-1]))


def _recorded_before(stream: StreamInput, cautious: Cautious) -> Bools:
    """Return the events that their threads surely recorded before the device executed them.

    The thread's next time stamp came earlier. The last event of a thread has none.
    """
    c, events = stream.c, cautious.events
    following = events.next
    stamp = np.where(events.is_end, stream.ops.end_ns[events.op], stream.ops.start_ns[events.op])
    recorded = cautious.solution.bounds.low > stamp[following] + c.latency_ns + c.jitter_ns
    alone = following == np.arange(len(events))
    result: Bools = recorded & ~alone
    return result


def waiting_segments(stream: StreamInput, cautious: Cautious) -> LaunchSites:
    """Return the ranges between events that surely hold unknown work, one after the other."""
    events, c, solution = cautious.events, stream.c, cautious.solution
    first, last = _candidates(len(events), cautious)
    bounds = solution.bounds
    # What the device needed more than the host cannot be idle time, however late it began.
    host = events.host_high_ns[last] - events.host_low_ns[first]
    least = bounds.low[last] - bounds.high[first]
    least = np.where(last - first == 1, np.maximum(least, solution.spans.segment_low[last]), least)
    launched = events.host_high_ns[last] + c.latency_ns + c.jitter_ns
    worked = (least > host + c.jitter_ns + _LEAST_NS) & (bounds.low[last] > launched)
    foreign = sums_before(_foreign_code(stream, events))
    worked &= foreign[last] > foreign[first]
    if stream.joins is not None:
        # The stream may have waited for another one, which has its own activities.
        worked &= bounds.low[last] > stream.joins.latest_ns[last]
    first, last, excess = first[worked], last[worked], (least - host)[worked]
    trusted = _trusted(stream, cautious, last, excess)
    if stream.known is not None:
        launches = sums_before(stream.known.count)
        trusted |= launches[last] > launches[first]
    first, last = first[trusted], last[trusted]
    sure = np.ones(len(last), np.bool_)
    return LaunchSites(events.op[last].astype(np.int64), first, last, sure, ~sure)


def _foreign_code(stream: StreamInput, events: EventPairs) -> Bools:
    """Return behind which events code may run that launches work, but for torch's own operators.

    These are the program, autograd's engine, communication, and what may launch by its name.
    """
    may = launching_operators.may_launch(stream.ops, stream.strings)
    may |= launching_operators.may_wait_for_streams(stream.ops, stream.strings)
    foreign: Bools = (events.innermost < 0) | may[events.innermost]
    return foreign


def _candidates(count: int, cautious: Cautious) -> tuple[I64, I64]:
    """Return the first and last events of ranges without a launch site, in order.

    They are single segments, and ranges between claims that were dropped together: then the
    work was in one of these segments, and nothing tells in which.
    """
    covered = _covered(count, cautious.sites)
    dropped = cautious.solution.dropped
    dropped = dropped[(dropped > 0) & ~covered[dropped]]
    sites = np.cumsum(covered)[dropped]
    begins = np.flatnonzero(np.diff(sites, prepend=-1))
    ends = following(begins, len(dropped)) - 1
    start = np.arange(count)
    start[dropped[ends]] = dropped[begins]
    last = np.flatnonzero(~covered & ~in_ranges(dropped[begins], dropped[ends], count))
    last = last[last > 0]
    return start[last] - 1, last


def _covered(count: int, sites: LaunchSites) -> Bools:
    """Return the segments inside launch sites, ``first`` to ``last``."""
    return in_ranges(sites.first + 1, sites.last + 1, count)


def _trusted(stream: StreamInput, cautious: Cautious, last: I64, excess: I64) -> Bools:
    """Return which of the waiting events no preempted thread explains.

    ``excess``: how much longer the device took than the host. A thread that is preempted before it
    records the event makes it late. One that is preempted between the first event of a range and
    its time stamp makes that one look late, and so all in its backlog.
    """
    c, events, bounds = stream.c, cautious.events, cautious.solution.bounds
    recorded = _recorded_before(stream, cautious)[last]
    # Behind the last event of a thread, only a sign of preemption elsewhere speaks against it.
    alone = events.next[last] == last
    calm = cautious.solution.relaxed == 0 and bool((recorded | alone).all())
    recorded = np.where(alone, calm, recorded)
    behind = bounds.low > events.host_high_ns + c.latency_ns + c.jitter_ns
    early = np.maximum(_room_around(stream, events), _room_behind(events, behind))
    recorded &= early[last] < excess
    trusted: Bools = recorded | _waits_often(stream, events, last)[last]
    return trusted


def _waits_often(stream: StreamInput, events: EventPairs, waiting: I64) -> Bools:
    """Return the events at places of the program that wait most of the time.

    Both events of an operator are places of their own.
    """
    place = 2 * stream.places[events.op] + events.is_end
    count = int(place.max(initial=-1)) + 1
    waits = np.bincount(place[waiting], minlength=count)
    calls = np.bincount(place, minlength=count)
    often: Bools = ((waits >= _OFTEN) & (waits >= _SHARE * calls))[place]
    return often


def _room_around(stream: StreamInput, events: EventPairs) -> I64:
    """Return by event how long before its time stamp a range around may have begun, at most."""
    ops = stream.ops
    room = events.host_ns[events.start] - events.host_floor_ns[events.start]
    up = ops.parent.astype(np.int64)
    while (inside := up >= 0).any():
        room = np.where(inside, np.maximum(room, room[up]), room)
        up = np.where(inside, ops.parent[up], up)
    around = np.where(events.is_end, ops.parent[events.op], events.op)
    return np.where(around >= 0, room[around], 0)


def _room_behind(events: EventPairs, behind: Bools) -> I64:
    """Return the same of the events that follow an event in the same backlog, itself included."""
    room = np.where(events.is_end, 0, events.host_ns - events.host_floor_ns)
    backlog = np.cumsum(~behind[::-1]).astype(np.int64)
    return intervals.running_max(room[::-1], backlog)[::-1]
