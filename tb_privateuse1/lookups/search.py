"""Search the whole trace by name: what is not on the screen, too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_privateuse1 import certainty
from tb_privateuse1.lookups.base import TABLES, Item, item
from tb_privateuse1.pyramid import Pyramid
from tb_privateuse1.trace import I64, Bools, Trace

_MOST = 1000


@dataclass(frozen=True)
class Match:
    """One name that has the text, with what bears it."""

    name: str
    ranges: int


@dataclass(frozen=True)
class Found:
    """The result of the lookup."""

    matches: int
    """Ranges whose name has the text."""
    before: int
    """How many of them come before the first of ``items``."""
    items: tuple[Item, ...]
    """In order of time (then of table and row)."""
    names: tuple[Match, ...]
    """The most frequent names."""
    kernels_ns: int
    """The sum of the device time of the matching kernels."""
    kernels_bound_ns: int | None
    """How far off that may be; 0 if measured, null if it is not known."""


def search(
    trace: Trace,
    pyramid: Pyramid,
    *,
    text: str = "",
    after: int = 0,
    limit: int = 100,
    exact: bool = False,
) -> Found:
    """Ranges whose name contains a text, upper and lower case alike; none for an empty text.

    ``items`` are at most ``limit``, the first ``after`` ones left out; ``exact`` takes names that
    equal the text.
    """
    wanted = _named(trace, text, exact)
    start, table, index = _ranges(trace, wanted)
    order = np.lexsort((index, table, start))
    first = min(max(after, 0), len(order))
    page = order[first : first + min(max(limit, 0), _MOST)]
    of_kernels = index[table == TABLES.index("kernels")]
    kernels = trace.kernels
    return Found(
        matches=len(order),
        before=first,
        items=tuple(item(trace, pyramid, TABLES[table[i]], index[i]) for i in page),
        names=_names(trace, wanted),
        kernels_ns=int((kernels.end_ns[of_kernels] - kernels.start_ns[of_kernels]).sum()),
        kernels_bound_ns=certainty.bound_sum(kernels.duration_bound_ns[of_kernels]),
    )


def _named(trace: Trace, text: str, exact: bool) -> Bools:
    """Which of the trace's strings are meant."""
    if not text:
        found = []
    elif exact:
        found = [i for i, string in enumerate(trace.strings) if string == text]
    else:
        wanted = text.casefold()
        found = [i for i, string in enumerate(trace.strings) if wanted in string.casefold()]
    mask = np.zeros(len(trace.strings) + 1, np.bool_)  # the last is for NONE
    mask[found] = True
    return mask


def _ranges(trace: Trace, wanted: Bools) -> tuple[I64, I64, I64]:
    """Start, number of the table and row of every range with such a name."""
    start, table, index = [], [], []
    for number, name in enumerate(TABLES):
        rows = getattr(trace, name)
        here = np.flatnonzero(wanted[rows.name])
        start.append(rows.start_ns[here])
        table.append(np.full(len(here), number))
        index.append(here)
    return np.concatenate(start), np.concatenate(table), np.concatenate(index)


def _names(trace: Trace, wanted: Bools) -> tuple[Match, ...]:
    count = np.zeros(len(wanted), np.int64)
    for name in TABLES:
        rows = getattr(trace, name)
        count += np.bincount(rows.name[wanted[rows.name]], minlength=len(wanted))[: len(wanted)]
    best = np.argsort(-count, kind="stable")[:20]
    return tuple(Match(trace.text(i), int(count[i])) for i in best if count[i])
