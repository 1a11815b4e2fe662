"""Order the event pairs of operators as their stream ran them, and build their tree.

The profiler records an operator's first event just before it takes its start time, and the
second just after its end time (torch/csrc/profiler/collection.cpp), so that the events of one
thread keep the order of its calls. All threads record on one stream here: their events are merged
by host time.
"""

from __future__ import annotations

import itertools

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.inference.device_timeline.constraints import Tree, TreeLevel
from tb_privateuse1.inference.device_timeline.timeline_inputs import EventPairs
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import previous, sums_before
from tb_privateuse1.trace.model import MISSING, NONE, Ops
from tb_privateuse1.trace.table import I32, I64, Bools

_BEFORE_NS = 200
"""How long before its start time an operator's first event is recorded, as a rule."""

_AFTER_NS = 700
"""How long after its end time its second event is recorded, as a rule."""

_DELAY_NS = 4_000
"""The largest time between a time stamp and its event, unless the thread was preempted."""

_EXCESS_NS = 2_000
"""How much longer than on the host a launch-free operator may take on an idle device."""

PAUSE_NS = 30_000
"""A thread that records nothing for this long may have been preempted.

Python between two operators takes less, as a rule; a preempted thread waits for a time slice."""

_LEAST = 3
"""The least number of calls that show how long one takes as a rule."""

_BLOCK = 1 << 17
"""Events whose levels are computed together: more do not stay in a processor's cache."""

_SHORT = 1 << 14
"""Depths below this are sorted as 16-bit integers, which is faster."""

_MAX_THREADS = 8
"""Only the busiest threads take part in the tree: each costs one more pass."""

_MAX_CROSSINGS = 32
"""A thread is not in the tree if this many of its ranges, one inside of the other, cross one."""


def pair_events(ops: Ops) -> EventPairs:
    """Return two events per operator, those of all threads merged by host time."""
    n = len(ops)
    row, is_end = _by_thread(ops)
    thread = ops.thread[row]
    raw = np.where(is_end, ops.end_ns[row], ops.start_ns[row])
    host, host_low, host_high = _recorded(raw, is_end, thread)
    follower = np.arange(1, 2 * n + 1)
    last = np.concatenate((thread[1:] != thread[:-1], [True])) if n else np.empty(0, np.bool_)
    follower[last] = np.flatnonzero(last)
    earlier = np.concatenate((raw[:1], raw[:-1]))
    floor = np.where(is_end | previous(last, True), host_low, earlier)
    innermost = np.where(is_end, ops.parent[row], row)

    order = np.argsort(host, kind="stable")
    position = np.empty(2 * n, np.int64)
    position[order] = np.arange(2 * n)
    start, end = np.empty(n, np.int64), np.empty(n, np.int64)
    start[row[~is_end]] = position[~is_end]
    end[row[is_end]] = position[is_end]
    return EventPairs(
        op=row[order].astype(np.int32),
        is_end=is_end[order],
        host_ns=host[order],
        host_low_ns=host_low[order],
        host_high_ns=host_high[order],
        host_floor_ns=floor[order],
        next=position[follower][order],
        innermost=innermost[order].astype(np.int32),
        start=start,
        end=end,
    )


def _by_thread(ops: Ops) -> tuple[I64, Bools]:
    """Return each operator's row twice, for start and end, one thread after the other.

    At one instant: ends of inner before outer ones, then starts of outer before inner ones.
    """
    n = len(ops)
    if not n:
        return np.empty(0, np.int64), np.empty(0, np.bool_)
    origin = int(ops.start_ns.min())
    # The offset keeps threads apart; an operator of length 0 still starts before it ends.
    apart = ops.thread.astype(np.int64) * (2 * (int(ops.end_ns.max()) - origin) + 2)
    start = apart + 2 * (ops.start_ns - origin)
    end = apart + 2 * (ops.end_ns - origin) + (ops.end_ns <= ops.start_ns)
    last = n - 1 - np.argsort(end[::-1], kind="stable")
    # Both parts are sorted already: a stable sort only merges them.
    order = np.argsort(np.concatenate((end[last], start)), kind="stable")
    is_end = order < n
    row = np.concatenate((last, np.arange(n)))[order]
    return row, is_end


def _recorded(raw: I64, is_end: Bools, thread: I32) -> tuple[I64, I64, I64]:
    """Return the likely, earliest and latest host time of each event's record.

    It lies between the event's own time stamp and its neighbor's on the thread.
    """
    if not len(raw):
        return raw, raw, raw
    gap = np.where(thread[1:] == thread[:-1], np.maximum(raw[1:] - raw[:-1], 0), _DELAY_NS)
    before = np.minimum(np.concatenate(([_DELAY_NS], gap)), _DELAY_NS)
    after = np.minimum(np.concatenate((gap, [_DELAY_NS])), _DELAY_NS)
    share = _AFTER_NS + _BEFORE_NS
    late = np.minimum(_AFTER_NS, after * _AFTER_NS // share)
    early = np.minimum(_BEFORE_NS, before * _BEFORE_NS // share)
    likely = np.where(is_end, raw + late, raw - early)
    return likely, np.where(is_end, raw, raw - before), np.where(is_end, raw + after, raw)


def launch_free_segments(events: EventPairs, launching: Bools) -> Bools:
    """Return per segment whether no thread can have launched in it.

    ``launching``: per event, whether its thread may launch before its next one.
    """
    if not len(events):
        return launching
    now = launching.astype(np.int64)
    # The number of threads that may launch changes at an event by its own thread only.
    change = now.copy()
    linked = events.next != np.arange(len(events))
    change[events.next[linked]] -= now[linked]
    launch_free: Bools = np.concatenate(([False], np.cumsum(change)[:-1] == 0))
    return launch_free


def make_room_for_preemption(
    events: EventPairs, ops: Ops, launch_free: Bools, keys: I64
) -> EventPairs:
    """Return the events with wider host times if a thread was preempted before a record.

    Without a launch, an idle device takes as long between two events as the host did. If it took
    longer, the first was recorded earlier or the second later than its time stamp. With a launch,
    the device may have been busy instead; but if nothing was recorded for a while before the time
    stamp, and the operator's like (the same ``keys``) took much less, the first event may have been
    recorded at the beginning of that while.
    """
    launching = sums_before(~launch_free)
    launch_free_ops = launching[events.end + 1] == launching[events.start + 1]
    excess = ops.elapsed_ns - (ops.end_ns - ops.start_ns) - _EXCESS_NS
    previous = np.arange(len(events))
    linked = events.next != previous
    previous[events.next[linked]] = previous[linked]
    stamp = np.where(events.is_end, ops.end_ns[events.op], ops.start_ns[events.op])
    pause = stamp[events.start] - stamp[previous[events.start]]
    known = ops.elapsed_ns != MISSING
    paused = known & (excess > PAUSE_NS) & (pause > PAUSE_NS)
    row = np.flatnonzero(paused)
    paused[row] = _unusual(ops.elapsed_ns, keys, row)
    row = np.flatnonzero(known & launch_free_ops & (excess > 0) | paused)
    early, late = events.host_low_ns.copy(), events.host_high_ns.copy()
    start = events.start[row]
    room = excess[row] + _EXCESS_NS
    early[start] = np.minimum(early[start], np.maximum(stamp[start] - room, stamp[previous[start]]))
    row = np.flatnonzero(known & launch_free_ops & (excess > 0))
    end, room = events.end[row], excess[row] + _EXCESS_NS
    following = np.where(linked[end], stamp[events.next[end]], late[end])
    late[end] = np.maximum(late[end], np.minimum(stamp[end] + room, following))
    return replace(events, host_low_ns=early, host_high_ns=late)


def _unusual(elapsed_ns: I64, keys: I64, row: I64) -> Bools:
    """Return which of some operators took much longer than the median of their keys.

    A scheduler does not prefer a place. Among fewer than ``_LEAST`` nothing is unusual.
    """
    among = np.flatnonzero(np.isin(keys, keys[row]) & (elapsed_ns != MISSING))
    among = among[np.lexsort((elapsed_ns[among], keys[among]))]
    first = np.searchsorted(keys[among], keys[row])
    count = np.searchsorted(keys[among], keys[row], side="right") - first
    usual = elapsed_ns[among][first + count // 2] if len(row) else elapsed_ns[row]
    longer: Bools = (count >= _LEAST) & (elapsed_ns[row] > 2 * usual + PAUSE_NS)
    return longer


def build_tree(events: EventPairs, ops: Ops) -> tuple[Tree, Bools]:
    """Return the levels from the root down, and per operator whether it is in the tree.

    Operators that cross in time are not in it; their events are points like any other. Deep levels
    come in blocks of neighboring nodes, small enough for a processor's cache; a level always comes
    before those inside its nodes.
    """
    nested = _nested(events, ops)
    own = nested[events.op]
    opened = np.cumsum(np.where(own, np.where(events.is_end, -1, 1), 0))
    # The depth of a node; for an event outside the tree, one more than its container's.
    depth = np.where(own & ~events.is_end, opened - 1, opened)
    deepest = int(depth.max(initial=-1))
    top, cuts = _blocks(events, own & ~events.is_end, depth, deepest)
    # A node without points inside is its one segment: it needs no level.
    leaf = np.flatnonzero(own & ~events.is_end)
    leaf = events.op[leaf[events.end[events.op[leaf]] == leaf + 1]].astype(np.int64)
    bound = own.copy()
    bound[events.start[leaf]] = bound[events.end[leaf]] = False
    whole = np.arange(len(events))
    levels = _levels(events, own, bound, depth, whole[depth <= top], range(-1, top))
    for begin, end in itertools.pairwise(cuts):
        block = whole[begin:end]
        levels += _levels(events, own, bound, depth, block, range(top, int(depth[block].max()) + 1))
    return Tree(levels, leaf, events.end[leaf]), nested


def _blocks(events: EventPairs, starts: Bools, depth: I64, deepest: int) -> tuple[int, list[int]]:
    """Return the depth from which levels come in blocks, and the events at which these begin."""
    if len(events) <= _BLOCK:
        return 0, [0, len(events)]
    top, begins = 0, np.zeros(0, np.int64)
    while top <= deepest:
        begins = np.flatnonzero(starts & (depth == top))
        if np.max(events.end[events.op[begins]] - begins, initial=0) <= _BLOCK:
            break
        top += 1
    if not len(begins):
        return top, [0, len(events)]
    wanted = np.arange(_BLOCK, len(events), _BLOCK)
    at = np.unique(np.searchsorted(begins, wanted))
    return top, [0, *begins[at[at < len(begins)]].tolist(), len(events)]


def _levels(
    events: EventPairs, own: Bools, bound: Bools, depth: I64, among: I64, wanted: range
) -> list[TreeLevel]:
    """Return the levels of some depths among these events.

    ``own`` are the events of the tree's nodes, ``bound`` those of nodes that hold others.
    """
    deep = depth[among].astype(np.int16 if max(wanted, default=0) < _SHORT else np.int64)
    order = among[np.argsort(deep, kind="stable")]
    cut = np.searchsorted(np.sort(deep, kind="stable"), range(-1, wanted.stop + 2)).tolist()
    levels = []
    for d in wanted:
        nodes, inner = order[cut[d + 1] : cut[d + 2]], order[cut[d + 2] : cut[d + 3]]
        nodes = nodes[bound[nodes]]
        point = np.sort(np.concatenate((nodes, inner)), kind="stable")
        if len(point):
            levels.append(_level(events, point, own[point], depth[point] == d, d))
    return levels


def _level(events: EventPairs, point: I64, own: Bools, here: Bools, d: int) -> TreeLevel:
    """Return the series of one depth; -1 is the root, which has no events of its own."""
    is_end, row = events.is_end[point], events.op[point].astype(np.int64)
    step = np.where(own & ~here & is_end, len(events) + row, point)
    if d < 0:
        first, last, node = np.array([0]), np.array([len(point) - 1]), np.array([NONE])
    else:
        first, last = np.flatnonzero(here & ~is_end), np.flatnonzero(here & is_end)
        node = row[first]
    step[first] = len(events) + len(events.start)
    return TreeLevel.of_points(point, step, first, last, node)


def _nested(events: EventPairs, ops: Ops) -> Bools:
    """Return operators that do not cross each other; busy threads go first."""
    nested = np.zeros(len(ops), np.bool_)
    if not len(ops):
        return nested
    threads, counts = np.unique(ops.thread, return_counts=True)
    for thread in threads[np.argsort(-counts, kind="stable")][:_MAX_THREADS]:
        rows = _without_crossings(events, np.flatnonzero(ops.thread == thread))
        if nested.any():
            inside = _innermost(events, nested)
            rows = rows[inside[events.start[rows]] == inside[events.end[rows]]]
        nested[rows] = True
    return nested


def _without_crossings(events: EventPairs, rows: I64) -> I64:
    """Return the ranges of a thread less those that end behind one in which they start.

    Annotations may do so: a trainer ends its step inside of the optimizer's range, and begins the
    next one there. Of two that cross, the first one stays.
    """
    for _ in range(_MAX_CROSSINGS):
        start, end = events.start[rows], events.end[rows]
        change = np.zeros(len(events), np.int32)
        change[start], change[end] = 1, -1
        opened = np.cumsum(change)
        if (opened[start] == opened[end] + 1).all():
            return rows
        up = intervals.nest(np.zeros(len(rows), np.int32), start, end)
        siblings = np.lexsort((start, up))
        apart = (up[siblings].astype(np.int64) + 1) * len(events)
        crossing = intervals.overlapping(start[siblings] + apart, end[siblings] + apart)
        rows = np.sort(rows[siblings[~crossing]])
    return rows[:0]


def _innermost(events: EventPairs, nested: Bools) -> I64:
    """Return the innermost of some operators at every event, ``NONE`` outside all."""
    rows = np.flatnonzero(nested)
    up = intervals.nest(np.zeros(len(rows), np.int32), events.start[rows], events.end[rows])
    inside = np.full(len(events), NONE, np.int64)
    at = np.full(len(events), -1, np.int64)
    at[events.start[rows]] = events.start[rows]
    at[events.end[rows]] = events.end[rows]
    inside[events.start[rows]] = rows
    inside[events.end[rows]] = np.where(up >= 0, rows[np.maximum(up, 0)], NONE)
    latest = np.maximum.accumulate(at)
    return np.where(latest >= 0, inside[np.maximum(latest, 0)], NONE)
