"""What lies in a selected stretch of time: a row per kind and name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_privateuse1 import breakdown, certainty, intervals
from tb_privateuse1.lookups.base import TABLES, TableName
from tb_privateuse1.trace import I64, MISSING, Bools, Trace

_MOST = 500


@dataclass(frozen=True)
class AreaRow:
    """The ranges of one name in one table that have a part in the selection."""

    table: TableName
    name: str
    ranges: int
    inside_ns: int
    """Their time within the selection; nested ranges count each for itself."""
    mean_ns: int
    """Of their whole length."""
    max_ns: int
    bound_ns: int | None
    """How far off ``inside_ns`` may be; 0 for what was recorded, null if that is not known."""
    mean_bound_ns: int | None
    max_bound_ns: int | None


@dataclass(frozen=True)
class Area:
    """The result of the lookup."""

    start_ns: int
    stop_ns: int
    ranges: int
    busy_ns: int | None
    """When any device activity runs; null without device activities in the trace."""
    busy_bound_ns: int | None
    """How far off that may be; 0 if measured, null if that is not known."""
    rows: tuple[AreaRow, ...]
    """By time inside; at most 500 of ``names``."""
    names: int


def area(
    trace: Trace,
    *,
    start_ns: int = 0,
    stop_ns: int | None = None,
    lane: int | None = None,
    thread: int | None = None,
) -> Area:
    """The ranges in [start_ns, stop_ns), by default of the whole recording.

    ``lane`` or ``thread`` (their rows in the trace's tables) leave only what ran there.
    """
    start, stop = start_ns, trace.end_ns if stop_ns is None else stop_ns
    rows: list[AreaRow] = []
    for table in TABLES:
        place = "lane" if table == "kernels" else "thread"
        only = lane if table == "kernels" else thread
        if table == "steps" or ((lane, thread) != (None, None) and only is None):
            continue
        one = getattr(trace, table)
        here = (one.end_ns > start) & (one.start_ns < stop)
        if only is not None:
            here &= getattr(one, place) == only
        rows += _rows(trace, table, np.flatnonzero(here), start, stop)
    rows.sort(key=lambda row: (-row.inside_ns, row.name))
    busy = breakdown.busy(trace.kernels)
    inside = intervals.intersect(busy, (np.array([start]), np.array([max(stop, start)])))
    length = intervals.length(inside)
    return Area(
        start_ns=start,
        stop_ns=stop,
        ranges=sum(row.ranges for row in rows),
        busy_ns=length if len(trace.kernels) else None,
        busy_bound_ns=certainty.covered_bound(trace.kernels, start, max(stop, start), length)
        if len(trace.kernels)
        else None,
        rows=tuple(rows[:_MOST]),
        names=len(rows),
    )


def _rows(trace: Trace, table: TableName, here: I64, start: int, stop: int) -> list[AreaRow]:
    one = getattr(trace, table)
    name, length = one.name[here], one.end_ns[here] - one.start_ns[here]
    inside = np.minimum(one.end_ns[here], stop) - np.maximum(one.start_ns[here], start)
    order = np.argsort(name, kind="stable")
    name, length, inside = name[order], length[order], inside[order]
    at = np.flatnonzero(np.diff(name, prepend=-2))
    if not len(at):
        return []
    counts = np.diff(np.append(at, len(name)))
    sums, totals = np.add.reduceat(inside, at), np.add.reduceat(length, at)
    longest = np.maximum.reduceat(length, at)
    bounds = _bounds(trace, here[order], at, inside, start, stop) if table == "kernels" else None
    return [
        AreaRow(
            table=table,
            name=trace.text(name[a]),
            ranges=int(counts[i]),
            inside_ns=int(sums[i]),
            mean_ns=round(int(totals[i]) / int(counts[i])),
            max_ns=int(longest[i]),
            bound_ns=bounds[0][i] if bounds else 0,
            mean_bound_ns=bounds[1][i] if bounds else 0,
            max_bound_ns=bounds[2][i] if bounds else 0,
        )
        for i, a in enumerate(at)
    ]


def _bounds(
    trace: Trace, rows: I64, at: I64, inside: I64, start: int, stop: int
) -> tuple[list[int | None], ...]:
    """Of the time inside, the mean and the greatest length of the activities of each name."""
    kernels = trace.kernels.take(rows)
    least, most = certainty.inside(kernels, start, stop)
    error = np.maximum(inside - least, most - inside)
    unknown = kernels.duration_bound_ns == MISSING
    lost = np.logical_or.reduceat(unknown, at)
    nowhere = lost | np.logical_or.reduceat(kernels.start_bound_ns == MISSING, at)
    counts = np.diff(np.append(at, len(rows)))
    own = np.where(unknown, 0, kernels.duration_bound_ns)
    mean = np.rint(np.add.reduceat(own, at) / counts).astype(np.int64)
    greatest = np.maximum.reduceat(own, at)
    return (
        _known(np.add.reduceat(error, at), nowhere),
        _known(mean, lost),
        _known(greatest, lost),
    )


def _known(bounds_ns: I64, lost: Bools) -> list[int | None]:
    return [None if no else int(ns) for ns, no in zip(bounds_ns, lost, strict=True)]
