"""Search the whole trace by name, beyond the visible window too."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.kernel_names import display_names, name_fields, strings_with
from tb_privateuse1.analysis.timeline.level_of_detail import Pyramid
from tb_privateuse1.trace import device_times, uncertainty
from tb_privateuse1.trace.columns import flag_names
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.views.lookups.event_items import TABLES, Item, TableName, item

_MOST = 1000
_MANY = 100_000


class Match(Struct, frozen=True):
    """One name that has the text, with what bears it."""

    name: str
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
    ranges: int


class Found(Struct, frozen=True):
    """The result of the lookup."""

    matches: int
    """Ranges whose name has the text."""
    before: int
    """How many of them come before the first of ``items``."""
    items: tuple[Item, ...]
    """In order of time (then of table and row)."""
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
) -> Found:
    """Ranges whose name contains a text, upper and lower case alike; none for an empty text.

    ``names`` is how many ranges bear each string.
    """
    wanted = _named(trace, text, exact)
    bearing = np.where(wanted[:-1], names, 0)
    matches = int(bearing.sum())
    first = min(max(after, 0), matches)
    page = _page(trace, wanted, matches, first, min(first + min(max(limit, 0), _MOST), matches))
    kernels = trace.kernels
    mine = np.flatnonzero(wanted[kernels.name])
    best = np.argsort(-bearing, kind="stable")[:20]
    return Found(
        matches=matches,
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


def _page(
    trace: Trace, wanted: Bools, matches: int, first: int, last: int
) -> list[tuple[TableName, int]]:
    """Return table and row of the matches [first, last) in order of time, then of table and row.

    Of many matches only those up to a time are looked at, which is later and later until there are
    enough of them.
    """
    if first == last:
        return []
    until = trace.end_ns + 1 if matches < _MANY else trace.end_ns * 2 * last // matches + 1
    while True:
        start, table, index = _until(trace, wanted, until)
        if len(start) >= last or until > trace.end_ns:
            break
        until *= 2
    # All sorted that there are would take longest: only what the page's ends have between them.
    low, high = np.partition(start, (first, last - 1))[[first, last - 1]]
    before = int(np.count_nonzero(start < low))
    inside = np.flatnonzero((start >= low) & (start <= high))
    order = inside[np.lexsort((index[inside], table[inside], start[inside]))]
    return [(TABLES[table[i]], int(index[i])) for i in order[first - before : last - before]]


def _until(trace: Trace, wanted: Bools, until_ns: int) -> tuple[I64, I64, I64]:
    """Return start, number of the table and row of every wanted range that starts before a time."""
    start, table, index = [], [], []
    for number, name in enumerate(TABLES):
        rows = getattr(trace, name)
        if until_ns > trace.end_ns:
            here = np.flatnonzero(wanted[rows.name])
        else:
            here = np.flatnonzero(rows.start_ns < until_ns)
            here = here[wanted[rows.name[here]]]
        start.append(rows.start_ns[here])
        table.append(np.full(len(here), number))
        index.append(here)
    return np.concatenate(start), np.concatenate(table), np.concatenate(index)
