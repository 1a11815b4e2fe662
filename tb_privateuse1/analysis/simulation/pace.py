"""By what changes multiply the time of host threads, instant by instant.

Between two points of a graph a thread may do much: on a CPU alone, a whole step. So which changes
meet, and where the profiler's events are, is not told by shares of that time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.simulation.launches_and_waits import Ranges
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import containing, latest_not_after
from tb_privateuse1.trace.table import I64

Amounts = NDArray[np.float64]


class Pace(Struct, frozen=True):
    """The factors of one thread's time: ``factor[i]`` from ``at_ns[i]`` to the next; 1 before."""

    at_ns: I64
    factor: Amounts

    def lost(self, amount: Callable[[I64], Amounts | I64], at_ns: I64) -> Amounts:
        """Return what the factors take of an amount until some instants, in its unit.

        ``amount`` returns how much there is until each of some instants: it never decreases.
        """
        here, away = amount(self.at_ns), 1 - self.factor
        before = np.concatenate(([0.0], np.cumsum(away[:-1] * np.diff(here))))
        piece = latest_not_after(self.at_ns, at_ns)
        own = np.maximum(piece, 0)
        lost = before[own] + away[own] * (amount(at_ns) - here[own])
        return np.where(piece >= 0, lost, 0.0)


def find_paces(made: Sequence[tuple[Ranges, float]]) -> dict[int, Pace]:
    """Return the pace of each thread that ranges with their factors are on.

    Factors multiply where ranges of several entries overlap.
    """
    found: dict[int, list[tuple[intervals.Set, float]]] = {}
    for ranges, factor in made:
        for thread, times in ranges.by_thread():
            if len(times[0]):
                found.setdefault(thread, []).append((times, factor))
    return {thread: _pace(own) for thread, own in found.items()}


def _pace(made: list[tuple[intervals.Set, float]]) -> Pace:
    edges = np.unique(np.concatenate([edge for times, _ in made for edge in times]))
    factor = np.ones(len(edges))
    for (starts, ends), each in made:
        factor[containing(starts, ends, edges) >= 0] *= each
    return Pace(edges, factor)
