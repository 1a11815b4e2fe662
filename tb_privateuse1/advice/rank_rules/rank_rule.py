"""Interface of rules over all ranks: their context, findings and definition.

A rule reads a summary of each rank (``RankPart``), not traces, so a thousand ranks stay cheap.
Times are means per step over each rank's complete steps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from tb_privateuse1.advice.rules.rule import Confidence
from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.analysis.ranks.arrivals import Blame
from tb_privateuse1.analysis.ranks.bandwidth import CollectiveRow
from tb_privateuse1.analysis.ranks.collectives import MatchedCalls, RankPart
from tb_privateuse1.analysis.ranks.culprits import Culprit
from tb_privateuse1.analysis.ranks.open_collectives import OpenCollective
from tb_privateuse1.analysis.ranks.steps import RankSteps
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import F64, Bools

MOST_RANKS = 20
"""The most ranks that a finding names as evidence."""


class RankContext(Struct, frozen=True, dict=True):
    """All readable ranks; arrays are indexed like ``parts``."""

    numbers: tuple[int, ...]
    """The rank of each part."""
    parts: Sequence[RankPart]
    calls: MatchedCalls
    steps: RankSteps
    counted: Bools
    """A flag per row of ``steps``: the means include it."""
    in_step: Bools
    """A flag per call of ``calls``: it lies in a counted step."""
    blamed: Blame
    culprits: tuple[Culprit, ...]
    collectives: Sequence[CollectiveRow]
    absent: tuple[int, ...] = ()
    """Ranks of the run without a trace."""
    unread: tuple[int, ...] = ()
    open_collectives: tuple[OpenCollective, ...] = ()
    """Of the ranks' flight recorders, causes first."""

    @functools.cached_property
    def count(self) -> F64:
        """Return the number of counted steps of each rank."""
        return np.bincount(self.steps.rank[self.counted], minlength=len(self.parts)).astype(float)

    def mean(self, column: str) -> F64:
        """Return the mean of a column of ``steps`` by rank; 0 without steps or known values."""
        return self._mean(getattr(self.steps, column))

    def idle(self, cause: ClassName) -> F64:
        """Return the mean idle time of a class by rank, in ns."""
        return self._mean(
            self._joined(
                [p.host.idle.get(cause, np.zeros_like(p.steps.idle_ns)) for p in self.parts]
            )
        )

    @functools.cached_property
    def exposed(self) -> F64:
        """Return the least exposed communication by rank: minus its bound, 0 if that is unknown."""
        bound = self.steps.bounds["exposed"]
        least = np.where(bound == MISSING, 0, self.steps.exposed_ns - bound)
        return self._mean(np.maximum(least, 0))

    @functools.cached_property
    def waiting(self) -> F64:
        """Return the part of ``exposed`` that waits for other ranks."""
        return np.minimum(self.mean("synchronizing_ns"), self.exposed)

    @functools.cached_property
    def blocked(self) -> F64:
        """Return the part of the other exposed communication that blocks the host."""
        blocked = self._mean(self._joined([part.host.held_ns for part in self.parts]))
        return np.minimum(blocked, self.exposed - self.waiting)

    @functools.cached_property
    def transfers(self) -> F64:
        """Return the remaining exposed communication: transfers without computation beside them."""
        return self.exposed - self.waiting - self.blocked

    @functools.cached_property
    def step_ns(self) -> float:
        """Return the mean step of the mean rank in ns; 1 without steps, so that shares are 0."""
        values = self.mean("duration_ns")[self.count > 0]
        return max(float(values.mean()), 1.0) if len(values) else 1.0

    def share(self, ns: float) -> float:
        """Return a time as a share of the mean step."""
        return float(ns / self.step_ns)

    def average(self, by_rank: F64) -> float:
        """Return the mean over the ranks that have steps."""
        values = by_rank[self.count > 0]
        return float(values.mean()) if len(values) else 0.0

    def most(self, by_rank: F64) -> list[int]:
        """Return the indices of the parts with the greatest values, at most ``MOST_RANKS``."""
        result: list[int] = np.argsort(-by_rank, kind="stable")[:MOST_RANKS].tolist()
        return result

    def _mean(self, column: NDArray[np.int64]) -> F64:
        is_known = self.counted & (column != MISSING)
        total = np.bincount(self.steps.rank[is_known], column[is_known], minlength=len(self.parts))
        result: F64 = total / np.maximum(self.count, 1)
        return result

    def _joined(self, columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        return np.concatenate([np.empty(0, np.int64), *columns])


class RankEvidence(Struct, frozen=True):
    """A rank that shows the finding, and how."""

    rank: int
    note: str


class RankFinding(Struct, frozen=True):
    """A problem that a rule found in a run."""

    title: str
    explanation: str
    evidence: tuple[RankEvidence, ...]
    how: str
    saving_ns: float | None = None
    """Per mean step; None if unknown."""
    confidence: Confidence = "medium"
    urgent: bool = False
    """It endangers figures or the run, even without a saving."""
    lacks: tuple[str, ...] = field(default=())
    explains: str | None = None
    """A rule whose findings become symptoms of this one: they concern the same time."""


class RankRule(Struct, frozen=True):
    """A pattern over all ranks, its reason and its fix."""

    name: str
    title: str
    looks_for: str
    why: str
    fix: str
    threshold: str
    reference: str
    check: Callable[[RankContext], Iterable[RankFinding]]


def milliseconds(ns: float) -> str:
    """Return a text like ``1.23 ms``."""
    return f"{ns / 1e6:.3g} ms"
