"""Give each interval of the critical path its class of time, as the account of time has it.

The host's own time is divided by what its thread does (``account.host_chain``). While activities of
the path wait and nothing runs on the device, the account's class of that instant counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.analysis.account import classification, host_chain
from tb_privateuse1.analysis.account.classes import CLASSES, NUMBER, ClassName
from tb_privateuse1.analysis.account.host_activity import LAUNCHES, OPS, EventRow64
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import ends_run, latest_not_after, lookup, range_rows, starts_run
from tb_privateuse1.trace.model import MEMCPY, MEMSET, NONE, OPERATOR, UNKNOWN, Trace
from tb_privateuse1.trace.table import I8, I64, Bools, MaybeThreadRow64, StepRow64, Table

RAN = np.array([one.group == "device" for one in CLASSES])
"""By number of a class: it is time in which an activity runs."""

_OF_HOST = np.array([one.group == "host" for one in CLASSES])

_INNERMOST: tuple[ClassName, ...] = ("input", "python", "dispatch")
"""Classes whose pieces name the innermost operator or annotation; others the call itself."""


class Path(Table, frozen=True):
    """Pieces of all steps' paths, by time; the pieces of a step tile its window.

    ``time_class`` is an index into ``account.classes.NAMES``. ``row`` is a row of the table
    ``table`` (an index into ``host_activity.TABLES``): the event that spends the time, or that
    waits; ``NONE`` without one. ``thread`` is set for the host's own time, else ``NONE``.
    """

    step: StepRow64
    start_ns: I64
    end_ns: I64
    time_class: I8
    table: I8
    row: EventRow64
    thread: MaybeThreadRow64


def join_pieces(paths: list[Path]) -> Path:
    """Return the pieces of several paths, one after another."""
    columns = [dict(path.columns()) for path in paths]
    return Path(**{name: np.concatenate([c[name] for c in columns]) for name in columns[0]})


def outside(path: Path, apart: intervals.Set) -> Path:
    """Return the pieces of a path outside a set of intervals."""
    if not len(apart[0]):
        return path
    path = _cut(path, np.sort(np.concatenate(apart)))
    return path.take(intervals.covered_length(apart, path.start_ns, path.end_ns) == 0)


def with_classes(trace: Trace, path: Path) -> Path:
    """Return the pieces of a path by time, cut where their class changes.

    Of the host's own time, ``path`` has the thread. Of what runs, it has the class ``kernel``; any
    other class is what an activity waits for.
    """
    host = path.thread >= 0
    ran = ~host & RAN[path.time_class]
    pieces = [
        _of_activities(trace, path.take(ran)),
        _of_waits(trace, path.take(~host & ~ran)),
    ]
    for thread, rows in groupby.split_by_value(np.where(host, path.thread, NONE)):
        if thread != NONE:
            pieces.append(_of_thread(trace, path.take(rows), thread))
    return by_time(join_pieces(pieces))


def by_time(path: Path) -> Path:
    """Return the pieces by step and time, without empty ones."""
    path = path.take(np.flatnonzero(path.end_ns > path.start_ns))
    return path.take(np.lexsort((path.start_ns, path.step)))


def _of_activities(trace: Trace, path: Path) -> Path:
    """Return what runs with the class of its kind."""
    kernels = trace.kernels
    kind = kernels.kind[path.row]
    time_class = np.select(
        [kernels.communication[path.row], kind == MEMCPY, kind == MEMSET, kind == UNKNOWN],
        [NUMBER[n] for n in ("exposed_communication", "exposed_copy", "exposed_fill", "unknown")],
        NUMBER["kernel"],
    )
    return replace(path, time_class=time_class.astype(np.int8))


def _of_waits(trace: Trace, path: Path) -> Path:
    """Return what activities wait for, with the account's classes where the device is idle.

    It divides idle time by the next activity, which may be another one than the path's: a class of
    the host's work is then not the reason for this one.
    """
    if not len(path):
        return path
    every = classification.classify_time(trace)
    path = _cut(path, np.append(every.start_ns, every.end_ns[-1:]))
    at = latest_not_after(every.start_ns, path.start_ns)
    time_class = every.time_class[at]
    idle = ~RAN[time_class] & ~_OF_HOST[time_class]
    known = every.row[at] != NONE
    return _replaced(
        path,
        idle,
        time_class,
        np.where(known, every.table[at], path.table),
        np.where(known, every.row[at], path.row),
    )


def _of_thread(trace: Trace, path: Path, thread: int) -> Path:
    """Return a thread's own time, divided by what the host did."""
    whole = intervals.union(path.start_ns, path.end_ns)
    threads = np.full(len(whole[0]), thread, np.int32)
    did = host_chain.host_intervals(trace, threads, *whole)
    at_ns, owner = _owners(trace, thread)
    path = _cut(path, np.sort(np.concatenate((did.start_ns, did.end_ns, at_ns))))
    at = latest_not_after(did.start_ns, path.start_ns)
    time_class = did.time_class[at]
    inner = lookup(owner, latest_not_after(at_ns, path.start_ns), NONE)
    inside = np.isin(time_class, [NUMBER[name] for name in _INNERMOST]) & (inner != NONE)
    # What runs inside of the loader's frames or of a worker's turn is no annotation around them.
    works = np.append(trace.ops.kind == OPERATOR, np.ones(len(trace.launches), np.bool_))
    inside &= (did.thread[at] == thread) & (lookup(works, inner, False) | (did.table[at] == OPS))
    own = _replaced(path, np.ones(len(path), np.bool_), time_class, did.table[at], did.row[at])
    call = inner >= len(trace.ops)
    row = np.where(call, inner - len(trace.ops), inner)
    return _replaced(own, inside, time_class, np.where(call, LAUNCHES, OPS), row)


def _replaced(path: Path, some: Bools, time_class: Any, table: Any, row: Any) -> Path:
    return replace(
        path,
        time_class=np.where(some, time_class, path.time_class).astype(np.int8),
        table=np.where(some, table, path.table).astype(np.int8),
        row=np.where(some, row, path.row).astype(np.int64),
    )


def _cut(path: Path, at_ns: I64) -> Path:
    """Return the pieces, each cut at the instants inside it; ``at_ns`` is sorted."""
    low = np.searchsorted(at_ns, path.start_ns, side="right")
    high = np.searchsorted(at_ns, path.end_ns, side="left")
    cuts = np.maximum(high - low, 0)
    piece, before = range_rows(low - 1, cuts + 1)
    is_first, is_last = starts_run(piece), ends_run(piece)
    start = np.where(is_first, path.start_ns[piece], lookup(at_ns, before, 0))
    end = np.where(is_last, path.end_ns[piece], lookup(at_ns, before + 1, 0))
    some = np.flatnonzero(end > start)
    return replace(path.take(piece[some]), start_ns=start[some], end_ns=end[some])


def _owners(trace: Trace, thread: int) -> tuple[I64, I64]:
    """Return the instants at which a thread enters and leaves ranges, and the innermost one behind.

    Rows of launches are numbered behind those of operators; ``NONE`` is outside of all.
    """
    ops, launches = trace.ops, trace.launches
    rows, calls = np.flatnonzero(ops.thread == thread), np.flatnonzero(launches.thread == thread)
    start = np.concatenate((ops.start_ns[rows], launches.start_ns[calls]))
    end = np.concatenate((ops.end_ns[rows], launches.end_ns[calls]))
    row = np.concatenate((rows, calls + len(ops)))
    around = np.concatenate((ops.parent[rows], _around(trace, rows, calls)))
    number = np.arange(len(row))
    # At one instant, inner ranges end before outer ones, then outer ones begin before inner ones.
    order = np.lexsort((
        np.concatenate((-number, number)),
        np.concatenate((-start, -end)),
        np.repeat([0, 1], len(row)),
        np.concatenate((end, start)),
    ))  # fmt: skip
    return np.concatenate((end, start))[order], np.concatenate((around, row))[order]


def _around(trace: Trace, rows: I64, calls: I64) -> I64:
    """Return the innermost range around each call of a thread, annotations included."""
    ops, launches = trace.ops, trace.launches
    found = launches.op[calls].astype(np.int64)
    alone = np.flatnonzero(found < 0)
    thread = ops.thread[rows], launches.thread[calls[alone]]
    inner = intervals.innermost(
        thread[0], ops.start_ns[rows], ops.end_ns[rows], thread[1], launches.start_ns[calls[alone]]
    )
    found[alone] = lookup(rows, inner, NONE)
    return found
