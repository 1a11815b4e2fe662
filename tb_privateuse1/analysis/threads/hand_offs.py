"""Find hand-offs between two threads: one works only while the other one waits.

Threads that work independently overlap. If two never do although chance would make them, one waits
while the other works.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import latest_not_after, lookup
from tb_privateuse1.trace.table import I64, Table, ThreadRow

_LONG_NS = 5_000
"""To wake a thread takes this long: a shorter pause is none."""

_CHANCE = 0.05
"""Two threads take turns if independent ones would keep apart with at most this probability."""

_OVERLAP = 0.1
"""They may overlap by this part of what independent threads would: a range can end late."""

_LEAST_ROOM = 1e-9
"""A probability for its logarithm, where rounding leaves no room: any is less than chance."""

_LONGER = 0.75
"""The quantile that stands for the longer pauses. With 0.25 and 0.5 all threads of 117 recordings
have the same roles, with 0.9 those of one have others."""


class Turns(Table, frozen=True):
    """Hand-offs: a thread waits while another one works, from leaving to returning."""

    thread: ThreadRow
    leave_ns: I64
    return_ns: I64
    worker: ThreadRow
    begin_ns: I64
    done_ns: I64


def join_turns(parts: Sequence[Turns]) -> Turns:
    """Return the turns of all parts, in their order."""
    tables = [Turns.empty(), *parts]
    return Turns(
        **{
            name: np.concatenate([getattr(t, name) for t in tables])
            for name in Turns.column_types()
        }
    )


def turns_between(
    thread: int, own: intervals.Set, worker: int, work: intervals.Set, end_ns: int
) -> Turns:
    """Return the pauses of a thread in which a worker works.

    ``own`` and ``work`` are the times at which they work, ``end_ns`` is the end of the recording.
    The worker works neither at the beginning nor at the end of the pause: work that crosses them
    is independent of this thread.
    """
    if not len(own[0]) or not len(work[0]):
        return join_turns(())
    starts, ends = work
    leave, back = intervals.complement(own, 0, end_ns + 1)
    long = back - leave >= _LONG_NS
    leave, back = leave[long], back[long]
    first = np.searchsorted(starts, leave)
    last = latest_not_after(ends, back)
    some = np.flatnonzero(first <= last)
    leave, back, first, last = leave[some], back[some], first[some], last[some]
    earlier = lookup(ends, first - 1, np.iinfo(np.int64).min)
    later = lookup(starts, last + 1, np.iinfo(np.int64).max)
    apart = np.flatnonzero((earlier <= leave) & (later >= back))
    return Turns(
        np.full(len(apart), thread, np.int32),
        leave[apart],
        back[apart],
        np.full(len(apart), worker, np.int32),
        starts[first[apart]],
        ends[last[apart]],
    )


def near_turns(turns: Turns) -> Turns:
    """Return the turns in which the work fills at least half of the pause."""
    near = 2 * (turns.done_ns - turns.begin_ns) >= turns.return_ns - turns.leave_ns
    return turns.take(near)


def usual_turns(turns: Turns) -> Turns:
    """Return the turns with hand-offs that take no longer than the median one of their direction.

    What is longer is the thread's own time: before it left, and after it returned.
    """
    if not len(turns):
        return turns
    to, back = turns.begin_ns - turns.leave_ns, turns.return_ns - turns.done_ns
    return replace(
        turns,
        leave_ns=turns.begin_ns - np.minimum(to, int(np.median(to))),
        return_ns=turns.done_ns + np.minimum(back, int(np.median(back))),
    )


def takes_turns(own: intervals.Set, work: intervals.Set, turns: Turns, of: int) -> bool:
    """Return whether a worker works only while a thread is away, and hardly by chance.

    Chance would place each run of work anywhere in the time of both threads. The probability that
    it meets no work of the thread is the room for it in the thread's pauses. ``of`` is the number
    of workers: one of many keeps apart more easily.
    """
    if not len(turns):
        return False
    first = min(int(own[0][0]), int(work[0][0]))
    last = max(int(own[1][-1]), int(work[1][-1]))
    whole = last - first
    overlap = int(intervals.covered_length(own, *work).sum())
    if overlap * whole > _OVERLAP * intervals.length(own) * intervals.length(work):
        return False
    begin, end = intervals.complement(own, first, last)
    run, pause = turns.done_ns - turns.begin_ns, end - begin
    pause = np.sort(pause[pause >= run.min()])
    longer = np.append(np.cumsum(pause[::-1])[::-1], 0)
    at = np.searchsorted(pause, run)
    room = (longer[at] - (len(pause) - at) * run) / whole
    return float(np.log(np.maximum(room, _LEAST_ROOM)).sum()) <= math.log(_CHANCE / of)


def long_pauses(first: intervals.Set, second: intervals.Set) -> tuple[float, float]:
    """Return how long the longer pauses within the work of each of two threads are, in ns.

    Only pauses of both threads count. Behind such a pause a thread goes on by itself: between
    operators the program's code is slower than the engine of autograd. The upper quartile leaves
    out single pauses in which a thread had no core.
    """
    starts = np.concatenate((first[0], second[0]))
    ends = np.concatenate((first[1], second[1]))
    of = np.repeat(np.array([0, 1]), (len(first[0]), len(second[0])))
    order = np.argsort(starts, kind="stable")
    starts, ends, of = starts[order], np.maximum.accumulate(ends[order]), of[order]
    pause = starts[1:] - ends[:-1]
    inside = (of[1:] == of[:-1]) & (pause >= _LONG_NS)
    mine, others = pause[inside & (of[1:] == 0)], pause[inside & (of[1:] == 1)]
    return _long(mine), _long(others)


def _long(pauses: I64) -> float:
    return float(np.quantile(pauses, _LONGER)) if len(pauses) else 0.0
