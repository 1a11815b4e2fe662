"""Search the whole trace by name, beyond the visible window too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.kernel_names import display_names, name_fields, strings_with
from tb_privateuse1.analysis.timeline.level_of_detail import Pyramid
from tb_privateuse1.trace import device_times, uncertainty
from tb_privateuse1.trace.columns import flag_names
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I8, I64, Bools
from tb_privateuse1.views.lookups.event_items import Item, TableName, item

Only = Literal["all", "kernels", "ops", "launches", "device_annotations", "steps", "frames"]
"""``all``, or one ``TableName``."""

_MOST = 1000
_EXACT, _PREFIX, _SUBSTRING, _NO_MATCH = range(4)
_ORDER: tuple[TableName, ...] = (
    "kernels", "ops", "launches", "device_annotations", "steps", "frames",
)  # fmt: skip
"""Of equal matches: what runs first, then what launches it, Python's frames last."""


class Match(Struct, frozen=True):
    """One name that has the text, with what bears it."""

    name: str
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
    ranges: int


class MatchGroup(Struct, frozen=True):
    """The matches of one kind, such as operators."""

    table: TableName
    ranges: int


class Found(Struct, frozen=True):
    """The result of the lookup."""

    matches: int
    """Ranges whose name has the text; of those of one kind, where that was asked for."""
    groups: tuple[MatchGroup, ...]
    """The kinds with a match, in the order of ``items``; all of them, also if one is asked for."""
    before: int
    """How many of them come before the first of ``items``."""
    items: tuple[Item, ...]
    """Whole names first, then beginnings of names, then others; of each rank by kind (device
    activities, operators, …, Python's frames), then by time."""
    names: tuple[Match, ...]
    """The most frequent names."""
    kernels_ns: int | None
    """The sum of the device time of the matching kernels; null if that is not known."""
    kernels_bound_ns: int | None
    """How far off that may be; 0 if measured, null if it is not known."""


def search(
    trace: Trace,
    pyramid: Pyramid,
    names: I64,
    *,
    text: Annotated[str, "what the name contains, in upper or lower case"] = "",
    after: Annotated[int, "how many ranges to skip"] = 0,
    limit: Annotated[int, "at most this many ranges"] = 100,
    exact: Annotated[bool, "the name must equal the text"] = False,
    only: Annotated[Only, "the kind of the ranges"] = "all",
) -> Found:
    """Ranges whose name contains a text, upper and lower case alike; none for an empty text.

    ``names`` is how many ranges bear each string.
    """
    wanted = _named(trace, text, exact)
    bearing = np.where(wanted[:-1], names, 0)
    groups = _groups(trace, wanted)
    tables = tuple(one.table for one in groups if only in ("all", one.table))
    matches = sum(one.ranges for one in groups if one.table in tables)
    first = min(max(after, 0), matches)
    last = min(first + min(max(limit, 0), _MOST), matches)
    page = _page(trace, tables, _ranks(trace, wanted, text), first, last)
    kernels = trace.kernels
    mine = np.flatnonzero(wanted[kernels.name])
    best = np.argsort(-bearing, kind="stable")[:20]
    return Found(
        matches=matches,
        groups=groups,
        before=first,
        items=tuple(item(trace, pyramid, table, index) for table, index in page),
        names=tuple(_match(trace, i, int(bearing[i])) for i in best.tolist() if bearing[i]),
        kernels_ns=device_times.known_sum(
            trace, int((kernels.end_ns[mine] - kernels.start_ns[mine]).sum())
        ),
        kernels_bound_ns=uncertainty.duration_sum_bound(kernels.take(mine))
        if device_times.all_known(trace)
        else None,
    )


def _match(trace: Trace, string: int, ranges: int) -> Match:
    kernel = string in display_names(trace)
    return Match(**name_fields(trace.text(string), kernel=kernel), ranges=ranges)


def _named(trace: Trace, text: str, exact: bool) -> Bools:
    """Return which of the trace's strings match."""
    if text and not exact:
        return strings_with(trace, text)
    return flag_names(trace.strings, lambda string: text and string == text)


def _ranks(trace: Trace, wanted: Bools, text: str) -> I8:
    """Return by string how well its name fits the text; ``_NO_MATCH`` of those that do not match.

    A name is compared without its namespace, too: ``mm`` is all of ``aten::mm``.
    """
    sought, shown = text.casefold(), display_names(trace)
    ranks = np.full(len(wanted), _NO_MATCH, np.int8)
    for i in np.flatnonzero(wanted).tolist():
        full = trace.text(i).casefold()
        names = {full, full.rpartition("::")[2], (shown.get(i) or "").casefold()}
        starts = any(name.startswith(sought) for name in names)
        ranks[i] = _EXACT if sought in names else _PREFIX if starts else _SUBSTRING
    return ranks


def _groups(trace: Trace, wanted: Bools) -> tuple[MatchGroup, ...]:
    """Return the kinds with a match, in ``_ORDER``."""
    sizes = {table: int(np.count_nonzero(wanted[getattr(trace, table).name])) for table in _ORDER}
    return tuple(MatchGroup(table, ranges) for table, ranges in sizes.items() if ranges)


def _page(
    trace: Trace, tables: Sequence[TableName], ranks: I8, first: int, last: int
) -> list[tuple[TableName, int]]:
    """Return table and row of the matches [first, last): by rank, then by table, then time."""
    page: list[tuple[TableName, int]] = []
    of_tables = [(table, ranks[getattr(trace, table).name]) for table in tables]
    before = 0
    for rank in (_EXACT, _PREFIX, _SUBSTRING):
        for table, own in of_tables:
            if before >= last:
                return page
            size = int(np.count_nonzero(own == rank))
            low, high = max(first - before, 0), min(last - before, size)
            if low < high:
                rows = np.flatnonzero(own == rank)
                found = _by_time(getattr(trace, table).start_ns[rows], low, high)
                page += [(table, int(row)) for row in rows[found]]
            before += size
    return page


def _by_time(start_ns: I64, low: int, high: int) -> I64:
    """Return the entries [low, high) in order of time; sorts only what lies between their times."""
    edges = np.partition(start_ns, (low, high - 1))[[low, high - 1]]
    before = int(np.count_nonzero(start_ns < edges[0]))
    inside = np.flatnonzero((start_ns >= edges[0]) & (start_ns <= edges[1]))
    order: I64 = inside[np.argsort(start_ns[inside], kind="stable")]
    return order[low - before : high - before]
