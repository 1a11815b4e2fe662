"""Match beginnings and ends of ranges like brackets, by columns."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64, Bools


def match(thread: I32, ts_ns: I64, is_end: Bools) -> I32:
    """Return for each beginning the row of its end, ``NONE`` without one; ``NONE`` for all ends.

    Events of one thread are in order of time, those of one time in the order of the rows. An end
    closes the range that began last and is open; one that closes none has no beginning.
    """
    order = np.argsort(ts_ns, kind="stable").astype(np.int32)
    order = order[np.argsort(thread[order], kind="stable")]
    depth = _depths(thread[order], is_end[order])
    if (depth < 0).any():
        order, depth = order[depth >= 0], depth[depth >= 0]
    # Of one thread and depth, beginnings and ends take turns.
    place = np.argsort(depth, kind="stable").astype(np.int32)
    place = place[np.argsort(thread[order[place]], kind="stable")]
    turn, depth = order[place], depth[place]
    del order, place
    result = np.full(len(thread), NONE, np.int32)
    first, second = turn[:-1], turn[1:]
    pairs = ~is_end[first] & is_end[second]
    pairs &= (thread[first] == thread[second]) & (depth[:-1] == depth[1:])
    result[first[pairs]] = second[pairs]
    return result


def _depths(thread: I32, is_end: Bools) -> I32:
    """Return how many ranges are open around each event; -1 of an end that closes none.

    Events are in order, thread by thread.
    """
    rows = len(thread)
    starts = np.flatnonzero(np.diff(thread, prepend=NONE - 1))
    lengths = np.diff(starts, append=rows)
    total = np.cumsum(np.where(is_end, -1, 1), dtype=np.int32)
    within = total - np.repeat(np.concatenate((np.zeros(1, np.int32), total))[starts], lengths)
    # The lowest number so far in each thread: those of a later thread are below all before.
    part = np.repeat(np.arange(len(starts)), lengths) * np.int64(2 * rows + 2)
    lowest = np.minimum.accumulate(np.minimum(within, 0) - part)
    lowest = (lowest + part).astype(np.int32)
    before = np.concatenate((np.zeros(1, np.int32), lowest[:-1]))[:rows]
    before[starts] = 0
    depth = within - lowest - ~is_end
    return np.where(is_end & (lowest < before), np.int32(NONE), depth)
