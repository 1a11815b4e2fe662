"""Find the ranks that others wait for at collectives, and what takes them longer."""

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
    """A rank that the others wait for, and its excess over them."""

    rank: int
    last: int
    collectives: int
    """The number of collectives with a wait."""
    caused_ns: int
    cause: str
    """``computation``, ``copy``, ``idle`` (its device had no work), or ``unknown``."""
    excess_ns: int
    """Excess over the median of the others, per step."""


@dataclass(frozen=True)
class Blame:
    """By rank: in how many collectives it was last, and how long each other rank waited.

    ``telling`` is the number of collectives with a wait.
    """

    last: I64
    caused_ns: I64
    telling: int


_LEAST_WAIT_NS = 1_000
_LEAST_WAIT = 0.1
"""A collective identifies the last rank if a rank waited this long, and this share of it."""


def assign_blame(calls: MatchedCalls, in_step: Bools, ranks: int) -> Blame:
    """Return how often each rank was last in matched collectives, and the wait it caused."""
    rows = np.flatnonzero((calls.match >= 0) & in_step)
    n = int(calls.match.max(initial=NONE)) + 1
    wait = calls.duration_ns - calls.transfer_ns
    longest, most = np.zeros(n, np.int64), np.zeros(n, np.int64)
    np.maximum.at(longest, calls.match[rows], calls.duration_ns[rows])
    np.maximum.at(most, calls.match[rows], wait[rows])
    counts = (most >= _LEAST_WAIT_NS) & (most >= _LEAST_WAIT * longest)
    others = np.maximum(np.bincount(calls.match[rows], minlength=n) - 1, 1)
    each = sums(calls.match[rows], wait[rows], n) // others
    blamed = rows[calls.last[rows] & counts[calls.match[rows]]]
    last = np.bincount(calls.rank[blamed], minlength=ranks).astype(np.int64)
    caused = sums(calls.rank[blamed], each[calls.match[blamed]], ranks)
    return Blame(last, caused, int(counts.sum()))


_LEAST_COLLECTIVES = 4
"""Fewer collectives do not suffice for a conclusion."""


def find_stragglers(blamed: Blame, figures: Mapping[int, Figures | None]) -> tuple[Straggler, ...]:
    """Return the ranks that are last significantly more often than by chance; the worst first.

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
