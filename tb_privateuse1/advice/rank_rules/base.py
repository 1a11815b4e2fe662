"""What a rule over all ranks of a run is asked about, and what it answers.

A rule sees what was kept of each rank (``ranks.Part``), never a trace: so it costs the same for a
thousand ranks. Times are means per step over each rank's complete steps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.advice.rules.base import Confidence
from tb_privateuse1.analysis.ranks.bandwidth import CollectiveRow
from tb_privateuse1.analysis.ranks.collectives import MatchedCalls, RankPart
from tb_privateuse1.analysis.ranks.steps import RankSteps
from tb_privateuse1.analysis.ranks.stragglers import Blame, Straggler
from tb_privateuse1.i18n import join_list as join_list
from tb_privateuse1.i18n import say as say
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import Bools

Floats = NDArray[np.float64]

MOST_RANKS = 20
"""So many are named as evidence."""


@dataclass(frozen=True)
class RankContext:
    """All ranks that could be read; arrays are by the index of the part."""

    numbers: tuple[int, ...]
    """The rank of each part."""
    parts: Sequence[RankPart]
    calls: MatchedCalls
    steps: RankSteps
    counted: Bools
    """Which rows of ``steps`` means are of."""
    in_step: Bools
    """Which of ``calls`` are asked about."""
    blamed: Blame
    stragglers: tuple[Straggler, ...]
    collectives: Sequence[CollectiveRow]
    absent: tuple[int, ...] = ()
    """Ranks of the run without a trace."""
    unread: tuple[int, ...] = ()

    @functools.cached_property
    def count(self) -> Floats:
        """How many steps of each rank are counted."""
        return np.bincount(self.steps.rank[self.counted], minlength=len(self.parts)).astype(float)

    def mean(self, column: str) -> Floats:
        """Of a column of ``steps``; 0 for a rank without steps, and where nothing is known."""
        return self._mean(getattr(self.steps, column))

    def idle(self, cause: str) -> Floats:
        """The idle time of a cause."""
        return self._mean(
            self._joined(
                [p.host.idle.get(cause, np.zeros_like(p.steps.idle_ns)) for p in self.parts]
            )
        )

    @functools.cached_property
    def exposed(self) -> Floats:
        """Communication that surely nothing hides: less its bound, 0 where that is not known."""
        bound = self.steps.bounds["exposed"]
        least = np.where(bound == MISSING, 0, self.steps.exposed_ns - bound)
        return self._mean(np.maximum(least, 0))

    @functools.cached_property
    def waiting(self) -> Floats:
        """Of it, waiting for other ranks to come."""
        return np.minimum(self.mean("synchronising_ns"), self.exposed)

    @functools.cached_property
    def held(self) -> Floats:
        """What is left of it and has the host stand still."""
        held = self._mean(self._joined([part.host.held_ns for part in self.parts]))
        return np.minimum(held, self.exposed - self.waiting)

    @functools.cached_property
    def bare(self) -> Floats:
        """What is left of it then: transfers that no computation hides."""
        return self.exposed - self.waiting - self.held

    @functools.cached_property
    def step_ns(self) -> float:
        """The mean step of the mean rank; 1 where there is none, so that shares are 0."""
        own = self.mean("duration_ns")[self.count > 0]
        return max(float(own.mean()), 1.0) if len(own) else 1.0

    def share(self, ns: float) -> float:
        """Of the mean step."""
        return float(ns / self.step_ns)

    def average(self, by_rank: Floats) -> float:
        """Over the ranks that have steps."""
        own = by_rank[self.count > 0]
        return float(own.mean()) if len(own) else 0.0

    def most(self, by_rank: Floats) -> list[int]:
        """The indices of the parts with the greatest values."""
        found: list[int] = np.argsort(-by_rank, kind="stable")[:MOST_RANKS].tolist()
        return found

    def _mean(self, column: NDArray[np.int64]) -> Floats:
        known = self.counted & (column != MISSING)
        total = np.bincount(self.steps.rank[known], column[known], minlength=len(self.parts))
        found: Floats = total / np.maximum(self.count, 1)
        return found

    def _joined(self, columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        return np.concatenate([np.empty(0, np.int64), *columns])


@dataclass(frozen=True)
class RankEvidence:
    """A rank that shows it, and how."""

    rank: int
    note: str


@dataclass(frozen=True)
class RankFinding:
    """What a rule found in a run."""

    title: str
    explanation: str
    evidence: tuple[RankEvidence, ...]
    how: str
    saving_ns: float | None = None
    """Of the mean step; None: not known."""
    confidence: Confidence = "medium"
    urgent: bool = False
    """Without a saving: whether figures or the run are endangered by it."""
    lacks: tuple[str, ...] = field(default=())
    explains: str | None = None
    """A rule whose findings are this one's symptoms here: they speak of the same time."""


@dataclass(frozen=True)
class RankRule:
    """What to look for in all ranks, and what to do about it."""

    name: str
    title: str
    looks_for: str
    why: str
    fix: str
    threshold: str
    reference: str
    check: Callable[[RankContext], Iterable[RankFinding]]


def milliseconds(ns: float) -> str:
    """``1.23 ms``."""
    return f"{ns / 1e6:.3g} ms"
