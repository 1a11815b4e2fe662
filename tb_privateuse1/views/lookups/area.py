"""Sum up a selected interval, on all tracks or some: a row per kind and name."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account.table import Account, account_table, has_account
from tb_privateuse1.analysis.kernel_names import name_fields
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.analysis.timeline.level_of_detail import Pyramid
from tb_privateuse1.trace import intervals, labels, sum_bounds, uncertainty
from tb_privateuse1.trace.groupby import maxima, sums
from tb_privateuse1.trace.model import MISSING, Kernels, Trace
from tb_privateuse1.trace.table import I32, I64, Bools
from tb_privateuse1.views.lookups.event_items import KINDS, ON_LANES, TABLES, TableName
from tb_privateuse1.views.shared_options import chosen_tracks

_MOST = 500


class AreaRow(Struct, frozen=True):
    """The ranges of one name in one table that have a part in the selection."""

    table: TableName
    name: str
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
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


class Area(Struct, frozen=True):
    """The result of the lookup."""

    start_ns: int
    stop_ns: int
    unix_us: int | None
    """Of the start, as that of a range (the lookup ``links``)."""
    ranges: int
    busy_ns: int | None
    """When any device activity of these tracks runs; null where they have none. A lower bound if
    one is of a missing stream."""
    busy_bound_ns: int | None
    """How far off that may be; 0 if measured, null if that is not known."""
    account: Account | None
    """Where the time of the selection goes, on all devices; null if not wanted, and without device
    times."""
    rows: tuple[AreaRow, ...]
    """By time inside; at most 500 of ``names``."""
    names: int


def area(
    trace: Trace,
    pyramid: Pyramid,
    *,
    start_ns: Annotated[int, "start of the window"] = 0,
    stop_ns: Annotated[int | None, "end of the window; by default that of the recording"] = None,
    tracks: Annotated[
        str | None, "numbers of the tracks, separated by commas; by default all but the steps"
    ] = None,
    account: Annotated[bool, "whether to divide the time into classes"] = False,
) -> Area:
    """The ranges in [start_ns, stop_ns), by default of the whole recording.

    ``tracks`` are numbers of the timeline's tracks, separated by commas: only what lies on them;
    by default all but that of the steps. Raises TraceError ``bad_option``.
    """
    start, stop = start_ns, trace.end_ns if stop_ns is None else stop_ns
    chosen = None if tracks is None else chosen_tracks("tracks", tracks, len(pyramid.tracks))
    rows: list[AreaRow] = []
    device, unknown = trace.kernels, len(trace.meta.missing_lanes) > 0
    if chosen is not None:
        unknown = _on_missing_stream(trace, pyramid, chosen)
    for table in TABLES:
        one = getattr(trace, table)
        here = (one.end_ns > start) & (one.start_ns < stop)
        if chosen is not None:
            there = _on(trace, pyramid, table, chosen)
            if table == "kernels" and not there.all():
                device = device.take(there)
            here &= there
        elif table == "steps":
            continue
        rows += _rows(trace, table, here, start, stop)
    rows.sort(key=lambda row: (-row.inside_ns, row.name))
    window = (np.array([start]), np.array([max(stop, start)]))
    length = intervals.length(intervals.intersect(breakdown.busy(device), window))
    return Area(
        start_ns=start,
        stop_ns=stop,
        unix_us=labels.unix_us(trace, start),
        ranges=sum(row.ranges for row in rows),
        busy_ns=length if length or (len(device) and not unknown) else None,
        busy_bound_ns=uncertainty.covered_bound(device, start, max(stop, start), length)
        if len(device) and not unknown
        else None,
        account=account_table(trace, window)
        if account and has_account(trace) and stop > start
        else None,
        rows=tuple(rows[:_MOST]),
        names=len(rows),
    )


def _on_missing_stream(trace: Trace, pyramid: Pyramid, chosen: I64) -> bool:
    """Return whether one of these tracks is a stream whose work has no times."""
    streams = pyramid.tracks.owner[chosen][pyramid.tracks.kind[chosen] == KINDS["kernels"]]
    return bool(np.isin(streams, trace.meta.missing_lanes).any())


def _on(trace: Trace, pyramid: Pyramid, table: TableName, chosen: I64) -> Bools:
    """Return which rows of a table lie on these tracks."""
    one, kinds, owners = getattr(trace, table), pyramid.tracks.kind, pyramid.tracks.owner
    owners = owners[chosen][kinds[chosen] == KINDS[table]]
    if table == "steps":
        return np.full(len(one), len(owners) > 0)
    there = np.zeros(max(len(trace.threads), len(trace.lanes)) + 1, np.bool_)  # and of ``NONE``
    there[owners] = True
    found: Bools = there[one.lane if table in ON_LANES else one.thread]
    return found


def _rows(trace: Trace, table: TableName, here: Bools, start: int, stop: int) -> list[AreaRow]:
    one = getattr(trace, table)
    # Nothing is copied where everything is inside.
    rows = slice(None) if here.all() else np.flatnonzero(here)
    name, starts, ends = one.name[rows], one.start_ns[rows], one.end_ns[rows]
    group, strings = _grouped(name, len(trace.strings))
    counts = np.bincount(group, minlength=len(strings))
    length = ends - starts
    inside = length
    if len(starts) and (starts.min() < start or ends.max() > stop):
        inside = np.minimum(ends, stop) - np.maximum(starts, start)
    clipped, totals = (sums(group, ns, len(strings)) for ns in (inside, length))
    longest = maxima(group, length, len(strings))
    none: list[int | None] = [0] * len(strings)
    bounds: tuple[list[int | None], ...] = (none, none, none)
    if table == "kernels" and not uncertainty.all_measured(trace.kernels):
        bounds = _bounds(trace.kernels.take(here), group, counts, start, stop)
    return [
        AreaRow(
            table=table,
            **name_fields(trace.text(string), kernel=table == "kernels"),
            ranges=int(counts[i]),
            inside_ns=int(clipped[i]),
            mean_ns=round(int(totals[i]) / int(counts[i])),
            max_ns=int(longest[i]),
            bound_ns=bounds[0][i],
            mean_bound_ns=bounds[1][i],
            max_bound_ns=bounds[2][i],
        )
        for i, string in enumerate(strings)
    ]


def _grouped(name: I32, strings: int) -> tuple[I64, list[int]]:
    """Return each name's place among the distinct names, and the distinct names in order."""
    key = name + 1  # ``NONE``
    there = np.bincount(key, minlength=strings + 1) > 0
    return (np.cumsum(there) - 1)[key], (np.flatnonzero(there) - 1).tolist()


def _bounds(
    kernels: Kernels, group: I64, counts: I64, start: int, stop: int
) -> tuple[list[int | None], ...]:
    """Return the bounds of time inside, mean and longest of the activities of each name."""
    groups = len(counts)
    inside = uncertainty.sums_inside(kernels, group, groups, start, stop)
    total = sum_bounds.duration_sum_bounds(group, kernels, groups)
    lost = total == MISSING
    greatest = maxima(group, kernels.duration_bound_ns, groups)
    mean = np.rint(np.where(lost, 0, total) / counts).astype(np.int64)
    return _known(inside, inside == MISSING), _known(mean, lost), _known(greatest, lost)


def _known(bounds_ns: I64, lost: Bools) -> list[int | None]:
    return [None if no else int(ns) for ns, no in zip(bounds_ns, lost, strict=True)]
