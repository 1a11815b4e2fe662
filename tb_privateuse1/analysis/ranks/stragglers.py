"""Who keeps the others waiting at collectives, and with what."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.ranks.collectives import MatchedCalls
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64, Bools

CAUSES = ("computation", "copy", "idle")
Figures = Mapping[str, int]


@dataclass(frozen=True)
class Straggler:
    """A rank for which the others wait, and what it does longer than they."""

    rank: int
    last: int
    collectives: int
    """Of so many in which somebody waited."""
    caused_ns: int
    cause: str
    """``computation``, ``copy``, ``idle`` (its device had nothing to do), or ``unknown``."""
    excess_ns: int
    """How much longer than the median of the others, per step."""


@dataclass(frozen=True)
class Blame:
    """By rank: in how many collectives it was last, and how long each other one has waited.

    ``telling`` is the number of collectives in which somebody waited.
    """

    last: I64
    caused_ns: I64
    telling: int


_LEAST_WAIT_NS = 1_000
_LEAST_WAIT = 0.1
"""A collective tells who was last if somebody waited for so long, and for that share of it."""


def assign_blame(calls: MatchedCalls, in_step: Bools, ranks: int) -> Blame:
    """Who was last in the matched collectives, and how long the others have waited."""
    rows = np.flatnonzero((calls.match >= 0) & in_step)
    n = int(calls.match.max(initial=NONE)) + 1
    wait = calls.duration_ns - calls.transfer_ns
    longest, most = np.zeros(n, np.int64), np.zeros(n, np.int64)
    np.maximum.at(longest, calls.match[rows], calls.duration_ns[rows])
    np.maximum.at(most, calls.match[rows], wait[rows])
    tells = (most >= _LEAST_WAIT_NS) & (most >= _LEAST_WAIT * longest)
    others = np.maximum(np.bincount(calls.match[rows], minlength=n) - 1, 1)
    each = sums(calls.match[rows], wait[rows], n) // others
    blamed = rows[calls.last[rows] & tells[calls.match[rows]]]
    last = np.bincount(calls.rank[blamed], minlength=ranks).astype(np.int64)
    return Blame(last, sums(calls.rank[blamed], each[calls.match[blamed]], ranks), int(tells.sum()))


_LEAST_COLLECTIVES = 4
"""Fewer say nothing about a rank."""


def find_stragglers(blamed: Blame, figures: Mapping[int, Figures | None]) -> tuple[Straggler, ...]:
    """Ranks that are last clearly more often than chance has it; the worst first.

    ``figures`` has each rank's mean times per step, in the order of the parts.
    """
    n = len(figures)
    if n < 2 or blamed.telling < _LEAST_COLLECTIVES:
        return ()
    found = [
        _straggler(rank, figures, int(last), blamed.telling, int(caused))
        for rank, last, caused in zip(figures, blamed.last, blamed.caused_ns, strict=True)
        if last >= blamed.telling * (0.5 + 0.5 / n)
    ]
    return tuple(sorted(found, key=lambda s: -s.caused_ns))


def _straggler(
    rank: int, figures: Mapping[int, Figures | None], last: int, telling: int, caused: int
) -> Straggler:
    own = figures[rank]
    others = [f for r, f in figures.items() if r != rank and f is not None]
    excess: dict[str, int] = {}
    if own is not None and others:
        for cause in CAUSES:
            excess[cause] = round(own[cause] - statistics.median(f[cause] for f in others))
    cause = max(excess, key=lambda c: excess[c], default="unknown")
    if excess.get(cause, 0) <= 0:
        return Straggler(rank, last, telling, caused, "unknown", 0)
    return Straggler(rank, last, telling, caused, cause, excess[cause])
