"""Shared parts of the lookups: describe one range of any table, list rows page by page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.counters.instance_counters import InstanceCounter, instance_counters
from tb_privateuse1.analysis.kernel_names import name_fields
from tb_privateuse1.analysis.kernels import time_groups
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.timeline import level_of_detail as pyramids
from tb_privateuse1.analysis.timeline.level_of_detail import Pyramid
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.renamed import renamed
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.views.shared_options import WindowName

TableName = Literal["ops", "launches", "frames", "kernels", "steps", "device_annotations"]
TABLES: tuple[TableName, ...] = get_args(TableName)
ON_LANES: tuple[TableName, ...] = ("kernels", "device_annotations")

KINDS: Mapping[TableName, int] = {
    "ops": pyramids.OPERATORS,
    "launches": pyramids.OPERATORS,
    "frames": pyramids.FRAMES,
    "kernels": pyramids.DEVICE,
    "steps": pyramids.STEPS,
    "device_annotations": pyramids.ANNOTATIONS,
}
"""The kind of track that shows a table's rows."""


class Item(Struct, frozen=True):
    """One range: a row of a table of the trace."""

    table: TableName
    index: int
    name: str
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
    start_ns: int
    end_ns: int
    bound_ns: int | None
    """How far off an inferred start may be beside the others; 0 for what was recorded, null if
    unknown."""
    shift_bound_ns: int
    """How far off all inferred starts may be together: the error of the launch latency."""
    track: int
    """Where the timeline draws it; -1 if it does not."""
    row: int


def item(trace: Trace, pyramid: Pyramid, table: TableName, index: int | np.integer[Any]) -> Item:
    """Return the range in a row of a table."""
    rows = getattr(trace, table)
    bound = shift = 0
    if table == "kernels":
        shift = int(rows.shift_bound_ns[index])
        bound = int(rows.start_bound_ns[index])
    track, row = _place(trace, pyramid, table, int(index))
    return Item(
        table=table,
        index=int(index),
        **name_fields(trace.text(rows.name[index]), kernel=table == "kernels"),
        start_ns=int(rows.start_ns[index]),
        end_ns=int(rows.end_ns[index]),
        bound_ns=None if bound == MISSING else bound - shift,
        shift_bound_ns=shift,
        track=track,
        row=row,
    )


def _place(trace: Trace, pyramid: Pyramid, table: TableName, index: int) -> tuple[int, int]:
    rows = getattr(trace, table)
    owner = 0
    if table != "steps":
        owner = int((rows.lane if table in ON_LANES else rows.thread)[index])
    ref = index + (len(trace.ops) if table == "launches" else 0)
    return pyramid.place(KINDS[table], owner, int(rows.start_ns[index]), ref)


def check(trace: Trace, table: TableName, index: int) -> None:
    """Raise TraceError ``unknown_row`` if the table has no such row."""
    rows = len(getattr(trace, table))
    if not 0 <= index < rows:
        message = say("There is no row {index} in the trace's {table}.", index=index, table=table)
        raise TraceError("unknown_row", message, say("It has {rows:,}, counted from 0.", rows=rows))


class Bin(Struct, frozen=True):
    """The events that took at least ``low_ns`` and less than ``high_ns``."""

    low_ns: int
    high_ns: int
    calls: int


class CallSite(Struct, frozen=True):
    """The calls that one function of the program made."""

    function: str
    """``Net.forward (net.py:12)``, or of recorded lines of calls ``net.py:15 in forward``."""
    calls: int
    total_ns: int

    line = renamed("line", "function")


class Instances(Struct, frozen=True):
    """The result of the lookup."""

    name: str
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
    calls: int
    typical: Item | None
    """The one of median duration; of an even number the longer of the two in the middle."""
    shorter: int | None
    """How many took less time than the one in question; null if that is none of them."""
    items: tuple[Item, ...]
    sites: tuple[CallSite, ...]
    """Of operators and activities: the functions with most of their time; others have none."""
    histogram: tuple[Bin, ...]
    """From the shortest to the longest, in equal ratios: four to a factor of two, at least ten."""
    counters: tuple[InstanceCounter, ...] = ()
    """Of activities: the counters that the trace records while they run, at most 100."""


Order = Literal["duration", "time", "typical"]
OrderOption = Annotated[
    Order, "the longest first, the earliest, or those nearest to the median duration"
]

_MOST = 1000
_MOST_SITES = 8
_BINS_PER_OCTAVE = 4
_FEWEST_BINS = 10


def check_page(trace: Trace, step: int | None, limit: int, offset: int) -> None:
    """Raise TraceError ``bad_option``. ``step`` is a row of ``trace.steps``."""
    if limit < 0 or offset < 0 or not (step is None or 0 <= step < len(trace.steps)):
        raise TraceError("bad_option", say("limit, offset and step must be at least 0."))


def rows_in_window(
    trace: Trace,
    table: Literal["ops", "kernels"],
    index: int,
    step: int | None,
    window: WindowName,
) -> Bools:
    """Return a flag per row of a table: it is in the window, as the rows of its page are.

    ``step`` is a row of ``trace.steps``. An event outside of the window is listed with all.
    """
    chosen = Window(trace, window) if step is None else Window(trace, "step", step)
    flags = chosen.ops if table == "ops" else chosen.kernels
    if step is None and not flags[index]:
        return np.ones(len(flags), np.bool_)
    return flags


def listed(
    trace: Trace,
    pyramid: Pyramid,
    table: TableName,
    name: str,
    rows: I64,
    index: int,
    *,
    order: Order,
    limit: int,
    offset: int,
) -> Instances:
    """Return some of a table's rows in an order, and a histogram of all.

    ``rows`` ascend, and ``index`` is the one in question.
    """
    columns = getattr(trace, table)
    duration = columns.end_ns[rows] - columns.start_ns[rows]
    middle = np.argsort(duration, kind="stable")[len(rows) // 2 : len(rows) // 2 + 1]
    page = rows[_ordered(columns.start_ns[rows], duration, middle, order)]
    own = duration[np.searchsorted(rows, index)] if np.isin(index, rows) else None
    return Instances(
        **name_fields(name, kernel=table == "kernels"),
        calls=len(rows),
        typical=next((item(trace, pyramid, table, row) for row in rows[middle]), None),
        shorter=None if own is None else int((duration < own).sum()),
        items=tuple(
            item(trace, pyramid, table, row) for row in page[offset : offset + min(limit, _MOST)]
        ),
        sites=_sites(trace, table, rows, duration),
        histogram=_histogram(duration),
        counters=instance_counters(trace, rows) if table == "kernels" else (),
    )


def _sites(trace: Trace, table: TableName, rows: I64, duration: I64) -> tuple[CallSite, ...]:
    if table not in ("kernels", "ops") or not len(rows):
        return ()
    groups = time_groups.activity_groups if table == "kernels" else time_groups.operator_groups
    found = groups(trace, "function")
    site = found.member[rows]
    calls = np.bincount(site, minlength=len(found.labels))
    total = groupby.sums(site, duration, len(found.labels))
    most = np.lexsort((-calls, -total))[:_MOST_SITES].tolist()
    named = [(i, found.labels[i].name) for i in most if calls[i]]
    return tuple(
        CallSite(name, int(calls[i]), int(total[i])) for i, name in named if name is not None
    )


def _ordered(start: I64, duration: I64, middle: I64, order: Order) -> I64:
    """Return the longest first, or the earliest, or those of the most usual duration.

    The last order begins with ``middle``, the one of median duration.
    """
    if order == "time":
        return np.argsort(start, kind="stable")
    if order == "duration" or not len(middle):
        return np.argsort(-duration, kind="stable")
    by = np.abs(duration - duration[middle])
    by[middle] = -1
    return np.argsort(by, kind="stable")


def _histogram(duration: I64) -> tuple[Bin, ...]:
    """Return logarithmic bins from the shortest to the longest; one if all are equal.

    Narrow spreads have finer bins, so that the two forms of a kernel are two heaps.
    """
    if not len(duration):
        return ()
    least, most = max(int(duration.min()), 1), int(duration.max())
    octaves = np.log2(max(most, 1) / least)
    count = max(_FEWEST_BINS, round(float(octaves) * _BINS_PER_OCTAVE))
    inner = np.exp2(np.log2(least) + np.arange(1, count) * (octaves / count))
    edges = np.unique(np.concatenate(([int(duration.min())], np.ceil(inner), [most + 1])))
    calls, _ = np.histogram(duration, edges)
    whole = edges.astype(np.int64).tolist()
    return tuple(
        Bin(a, b, n) for a, b, n in zip(whole[:-1], whole[1:], calls.tolist(), strict=True)
    )
