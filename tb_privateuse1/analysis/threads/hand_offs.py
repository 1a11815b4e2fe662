"""Find the hand-offs of a pair of threads: one works only while the other one is away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I32, I64

_LONG_NS = 5_000
"""To wake a thread takes this long: a shorter pause is none."""

_FILLED = 2
"""Work fills a pause if the rest of the pause is not longer than the work: hand-offs are near."""


@dataclass(frozen=True)
class Turns:
    """Hand-offs: a thread waits while another one works, from leaving to returning."""

    thread: I32
    leave_ns: I64
    return_ns: I64
    worker: I32
    begin_ns: I64
    done_ns: I64

    def __len__(self) -> int:
        return len(self.thread)


def join_turns(parts: Sequence[Turns]) -> Turns:
    """Return the turns of all parts, in their order."""
    none, nobody = np.empty(0, np.int64), np.empty(0, np.int32)
    return Turns(
        np.concatenate([nobody, *(p.thread for p in parts)]),
        np.concatenate([none, *(p.leave_ns for p in parts)]),
        np.concatenate([none, *(p.return_ns for p in parts)]),
        np.concatenate([nobody, *(p.worker for p in parts)]),
        np.concatenate([none, *(p.begin_ns for p in parts)]),
        np.concatenate([none, *(p.done_ns for p in parts)]),
    )


def turns_between(
    thread: int, own: intervals.Set, worker: int, work: intervals.Set, end_ns: int
) -> Turns:
    """Return the pauses of a thread that a worker fills.

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
    last = np.searchsorted(ends, back, side="right") - 1
    some = np.flatnonzero(first <= last)
    leave, back, first, last = leave[some], back[some], first[some], last[some]
    begin, done = starts[first], ends[last]
    earlier = np.append(ends, np.iinfo(np.int64).min)[first - 1]
    later = np.append(starts, np.iinfo(np.int64).max)[last + 1]
    apart = (earlier <= leave) & (later >= back)
    fills = np.flatnonzero(apart & (_FILLED * (done - begin) >= back - leave))
    return Turns(
        np.full(len(fills), thread, np.int32),
        leave[fills],
        back[fills],
        np.full(len(fills), worker, np.int32),
        begin[fills],
        done[fills],
    )


def share_in_turns(turns: Turns, work: intervals.Set) -> float:
    """Return the share of a worker's time that lies in its turns, 0 to 1."""
    whole = intervals.length(work)
    inside = intervals.covered_length(work, turns.begin_ns, turns.done_ns)
    return float(inside.sum()) / whole if whole else 0.0


def pauses_of(first: intervals.Set, second: intervals.Set) -> tuple[int, int]:
    """Return the time between two works of the first thread, and of the second.

    Only pauses of both threads count. Behind such a pause a thread goes on by itself.
    """
    starts = np.concatenate((first[0], second[0]))
    ends = np.concatenate((first[1], second[1]))
    of = np.repeat(np.array([0, 1]), (len(first[0]), len(second[0])))
    order = np.argsort(starts, kind="stable")
    starts, ends, of = starts[order], np.maximum.accumulate(ends[order]), of[order]
    pause = np.maximum(starts[1:] - ends[:-1], 0)
    same = of[1:] == of[:-1]
    return int(pause[same & (of[1:] == 0)].sum()), int(pause[same & (of[1:] == 1)].sum())
