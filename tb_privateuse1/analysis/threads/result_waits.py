"""Find threads that wait for the results of others: loading, pinning, communication, a queue.

A thread that waits goes on right behind the end of another thread's work. If the ends were
independent, the times between them would be random.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from tb_privateuse1.analysis.threads import activity
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import ends_run, latest_not_after, lookup, mask_of
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I32, I64, Bools, Table, ThreadRow

_LONG_NS = 5_000
"""To wake a thread takes this long: a shorter pause is none."""

_CHANCE = 0.001
"""Independent threads would go on as soon behind each other with at most this probability."""

_FEWEST = 3
"""Fewer pauses are no evidence."""

_SOON = 0.2
"""By chance a thread goes on as soon behind an end in this share of its pauses. The geometric mean
of this share must be no greater."""


class Results(Table, frozen=True):
    """Pauses of a thread that end with the result of a worker: of one worker, the nearest."""

    worker: ThreadRow
    done_ns: I64
    thread: ThreadRow
    leave_ns: I64
    return_ns: I64


_NOTHING = Results.empty()
"""Most pairs of threads hand each other nothing."""


def find_results(
    trace: Trace,
    work: activity.Work,
    threads: Sequence[int],
    collective: Bools,
    apart: set[tuple[int, int]],
) -> Results:
    """Return the results that threads hand to each other.

    ``apart`` are pairs of threads that take turns: their hand-offs are known. ``collective`` are
    flags of threads that communicate: others also wait for these inside of an operator.
    """
    pairs = [
        (thread, worker)
        for thread in threads
        for worker in threads
        if thread != worker and not {(thread, worker), (worker, thread)} & apart
    ]
    ends = _run_ends(trace, threads) if pairs else {}
    pairs = [pair for pair in pairs if len(ends.get(pair[1], ())) >= _FEWEST]
    kinds = {(thread, bool(collective[worker])) for thread, worker in pairs}
    pauses = {
        (thread, inside): _pauses(work.sure(thread) if inside else work.full(thread))
        for thread, inside in kinds
    }
    found = [
        _handed(thread, pauses[thread, bool(collective[worker])], worker, ends[worker], len(pairs))
        for thread, worker in pairs
    ]
    return _nearest([results for results in found if len(results)])


def _run_ends(trace: Trace, threads: Sequence[int]) -> dict[int, I64]:
    """Return when the work of threads ends: outermost ranges but steps, calls outside of any."""
    ops, calls = trace.ops, trace.launches
    free = activity.step_rows(trace)
    chosen = mask_of(np.array(threads, np.int64), len(trace.threads))
    outer = lookup(free, ops.parent, True) & ~free & lookup(chosen, ops.thread, False)
    alone = lookup(free, calls.around, True) & lookup(chosen, calls.thread, False)
    thread = np.concatenate((ops.thread[outer], calls.thread[alone]))
    end = np.concatenate((ops.end_ns[outer], calls.end_ns[alone]))
    return {one: np.sort(end[rows], kind="stable") for one, rows in groupby.split_by_value(thread)}


def _pauses(work: intervals.Set) -> intervals.Set:
    """Return the pauses between the first and the last sign of a thread's work."""
    starts, ends = work
    leave, back = ends[:-1], starts[1:]
    long = back - leave >= _LONG_NS
    return leave[long], back[long]


def _handed(thread: int, pauses: intervals.Set, worker: int, ends: I64, pairs: int) -> Results:
    """Return the pauses that end soon behind a worker's work; none if that may be chance."""
    leave, back, done = _last_ends(*pauses, ends)
    if len(done) < _FEWEST:
        return _NOTHING
    rate = len(ends) / max(int(max(ends[-1], back[-1]) - min(ends[0], leave[0])), 1)
    # An end is as soon before the return by chance, if there is one in the pause.
    chance = -np.expm1(-rate * np.maximum(back - done, 1)) / -np.expm1(-rate * (back - leave))
    # Of a million pauses, a tiny tendency is no chance either: it must be a strong one, too.
    if float(np.log(chance).mean()) > math.log(_SOON) or _by_chance(chance) > _CHANCE / pairs:
        return _NOTHING
    soon = np.flatnonzero(chance <= _SOON)
    return Results(
        np.full(len(soon), worker, np.int32),
        done[soon],
        np.full(len(soon), thread, np.int32),
        leave[soon],
        back[soon],
    )


def _last_ends(leave: I64, back: I64, ends: I64) -> tuple[I64, I64, I64]:
    """Return the pauses with an end in them, and the last one in each; all are in order.

    The fewer are looked up among the others: of many threads most have few.
    """
    if len(ends) < len(back):
        pause = np.searchsorted(back, ends)
        inside = lookup(leave, pause, np.iinfo(np.int64).max) < ends
        pause, ends = pause[inside], ends[inside]
        last = ends_run(pause)
        return leave[pause[last]], back[pause[last]], ends[last]
    at = latest_not_after(ends, back)
    some = (at >= 0) & (lookup(ends, at, 0) > leave)
    return leave[some], back[some], ends[at[some]]


def _by_chance(chances: F64) -> float:
    """Return the probability of chances as small as these together (Fisher 1925).

    Minus the sum of their logarithms has the distribution of a sum of exponential times.
    """
    total = float(-np.log(np.minimum(chances, 1)).sum())
    if total <= 0:
        return 1.0
    terms = np.arange(len(chances)) * math.log(total)
    terms -= np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, len(chances))))))
    top = float(terms.max())
    return math.exp(min(top - total + math.log(float(np.exp(terms - top).sum())), 0.0))


def _nearest(found: Sequence[Results]) -> Results:
    """Return the results of all pairs; of several at one return the last one."""
    tables = [Results.empty(), *found]
    every = Results(**{
        name: np.concatenate([getattr(table, name) for table in tables])
        for name in Results.column_types()
    })  # fmt: skip
    order = np.lexsort((every.done_ns, every.return_ns, every.thread))
    every = every.take(order)
    later: Bools = np.ones(len(every), np.bool_)
    later[:-1] = (np.diff(every.thread) != 0) | (np.diff(every.return_ns) != 0)
    return every.take(later)


def usual_lags(results: Results) -> I64:
    """Return how long after each result its thread goes on, at most as long as is usual."""
    lag = results.return_ns - results.done_ns
    for rows in _by_pair(results):
        lag[rows] = np.minimum(lag[rows], int(np.median(lag[rows])))
    return lag


def awaited_begins(results: Results, thread: I32, begin_ns: I64) -> Bools:
    """Return which beginnings of threads' work wait for the result of another thread."""
    span = int(max(begin_ns.max(initial=0), results.return_ns.max(initial=0))) + 1
    known = results.thread.astype(np.int64) * span + results.return_ns
    found: Bools = np.isin(thread.astype(np.int64) * span + begin_ns, known)
    return found


def _by_pair(results: Results) -> Iterator[I64]:
    pair = np.stack((results.thread, results.worker))
    _, number = np.unique(pair, axis=1, return_inverse=True)
    number = number.reshape(-1)
    yield from (np.flatnonzero(number == one) for one in np.unique(number))
