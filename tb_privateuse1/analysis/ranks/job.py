"""Join the reductions of all ranks of a run, with lookups of what ranks have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.ranks.collectives import MatchedCalls, RankPart
from tb_privateuse1.analysis.ranks.steps import RankSteps
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import F64, I64, Bools


class Job(Struct, frozen=True):
    """The ranks of a run; a row is the index of a part."""

    numbers: Sequence[int]
    """The rank of each part."""
    parts: Sequence[RankPart]
    calls: MatchedCalls
    steps: RankSteps
    counted: Bools
    """A flag per row of ``steps``: the step counts."""

    @property
    def step_ns(self) -> float:
        """Return the mean step; 1 without steps."""
        chosen = self.steps.duration_ns[self.counted]
        return max(float(chosen.mean()), 1.0) if len(chosen) else 1.0

    def ranks(self, rows: I64) -> tuple[int, ...]:
        """Return the rank numbers of these rows."""
        return tuple(self.numbers[row] for row in rows.tolist())

    def by_step(self, column: NDArray[np.number]) -> F64:
        """Return a column of step rows as ranks by steps; NaN if a rank lacks it or ``MISSING``."""
        steps = self.steps
        names = np.unique(steps.step[self.counted])
        used = self.counted & (column != MISSING)
        found = np.full((len(self.parts), len(names)), np.nan)
        found[steps.rank[used], np.searchsorted(names, steps.step[used])] = column[used]
        return found

    def hosts(self) -> dict[str, I64]:
        """Return the rows of each host; none if a host is unknown or all are the same."""
        names = [part.hostname for part in self.parts]
        if None in names or len(set(names)) < 2:
            return {}
        _, number = np.unique(np.array(names), return_inverse=True)
        order = np.argsort(number, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(number[order])) + 1)
        return {str(names[int(rows[0])]): rows for rows in groups}

    def common_host(self, rows: I64) -> str | None:
        """Return the host that all rows share; None if there is none or one is unknown."""
        names = {self.parts[row].hostname for row in rows.tolist()}
        return next(iter(names)) if len(names) == 1 else None

    def met(self, rows: I64) -> I64:
        """Return the other rows that have a matched collective with one of these."""
        calls = self.calls
        matched = calls.match >= 0
        is_own = np.isin(calls.rank, rows)
        met = np.zeros(int(calls.match.max(initial=-1)) + 2, np.bool_)
        met[calls.match[is_own & matched]] = True
        seen = np.bincount(calls.rank[matched & met[calls.match] & ~is_own])
        return np.flatnonzero(seen)

    def group_numbers(self) -> tuple[dict[str, int], I64]:
        """Return the number of each process group, and the number by shape."""
        shapes = self.calls.shapes
        names = {one: i for i, one in enumerate(dict.fromkeys(s.label.group for s in shapes))}
        return names, np.array([names[one.label.group] for one in shapes] + [0], np.int64)

    def members(self) -> dict[str, I64]:
        """Return the rows of each named process group that has calls."""
        names, group = self.group_numbers()
        ranks = len(self.parts)
        pairs = mask_of(group[self.calls.shape] * ranks + self.calls.rank, len(names) * ranks)
        row = np.flatnonzero(pairs)
        ends = np.searchsorted(row, np.arange(1, len(names)) * ranks)
        found = np.split(row % max(ranks, 1), ends)
        return {name: rows for name, rows in zip(names, found, strict=True) if name}

    def group_of_just(self, rows: I64) -> str | None:
        """Return the process group with just these members, of two and more; None without one."""
        if len(rows) < 2 or len(rows) == len(self.parts):
            return None
        wanted = np.sort(rows)
        same = (n for n, found in self.members().items() if np.array_equal(found, wanted))
        return next(same, None)
