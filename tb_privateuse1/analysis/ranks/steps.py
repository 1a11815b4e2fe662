"""Tabulate the steps of all ranks: means by rank, and a grid of ranks by steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account.classes import IDLE, ClassName
from tb_privateuse1.analysis.ranks.collectives import MatchedCalls, RankPart
from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import I32, I64, Bools

Measure = Literal["step", "computation", "communication", "exposed", "idle", "waiting"]

_CELLS = 200_000
"""Cells of a grid: 2 MB as JSON."""
_MOST_COLUMNS = 400
"""A page of a thousand pixels cannot show more apart: a column is then a mean of several steps."""


class RankSteps(Struct, frozen=True):
    """A row per step of each rank, rank by rank, in ns; ``MISSING`` where it is not known."""

    rank: I32
    """The index of the part."""
    step: I32
    """Index into ``MatchedCalls.step_names``."""
    duration_ns: I64
    computation_ns: I64
    communication_ns: I64
    overlap_ns: I64
    exposed_ns: I64
    copy_ns: I64
    idle_ns: I64
    transferring_ns: I64
    """``MISSING`` if no call of the step is matched with other ranks."""
    synchronizing_ns: I64
    incomplete: Bools
    bounds: Mapping[str, I64]
    """The error bounds of ``BOUNDS``; ``MISSING`` where they are not known."""


BOUNDS = steps_bounds.RANK

TIMES = (
    "duration_ns", "computation_ns", "communication_ns", "overlap_ns", "exposed_ns", "copy_ns",
    "idle_ns", "transferring_ns", "synchronizing_ns",
)  # fmt: skip


def rank_steps(parts: Sequence[RankPart], calls: MatchedCalls) -> RankSteps:
    """Return the table of these parts, in their order."""
    number = {name: i for i, name in enumerate(calls.step_names)}
    own = [part.steps for part in parts]
    step = [number[name] for one in own for name in one.names]
    rank = np.repeat(np.arange(len(parts)), [len(one.names) for one in own])

    def joined(name: str) -> Any:
        empty: Any = np.empty(0, np.bool_ if name == "incomplete" else np.int64)
        return np.concatenate([empty, *(getattr(one, name) for one in own)])

    matched = sums(calls.row, (calls.match >= 0).astype(np.int64), len(step)) > 0
    transferring = sums(calls.row, calls.transfer_ns, len(step))
    waiting = sums(calls.row, calls.duration_ns - calls.transfer_ns, len(step))
    return RankSteps(
        rank=rank.astype(np.int32),
        step=np.array(step, np.int32),
        duration_ns=joined("duration_ns"),
        computation_ns=joined("computation_ns"),
        communication_ns=joined("communication_ns"),
        overlap_ns=joined("overlap_ns"),
        exposed_ns=joined("exposed_ns"),
        copy_ns=joined("copy_ns"),
        idle_ns=joined("idle_ns"),
        transferring_ns=np.where(matched, transferring, MISSING),
        synchronizing_ns=np.where(matched, waiting, MISSING),
        incomplete=joined("incomplete"),
        bounds={
            name: np.concatenate([np.empty(0, np.int64), *(one.bounds[name] for one in own)])
            for name in BOUNDS
        },
    )


def counted_steps(steps: RankSteps, chosen: Bools, ranks: int) -> Bools:
    """Return the chosen steps that means count: each rank's complete ones, else all."""
    whole = chosen & ~steps.incomplete
    has = np.bincount(steps.rank[whole], minlength=ranks) > 0
    return np.where(has[steps.rank], whole, chosen)


def step_means(steps: RankSteps, rows: Bools, ranks: int) -> dict[str, list[int | None]]:
    """Return by rank the mean of each of ``TIMES`` over these rows; None without any."""
    return {name: _means(steps.rank, getattr(steps, name), rows, ranks) for name in TIMES}


def idle_means(
    parts: Sequence[RankPart], steps: RankSteps, rows: Bools
) -> list[dict[ClassName, int]]:
    """Return by rank the mean idle time of each class over these rows; classes without are absent.

    ``steps`` are those of all ``parts``, in their order.
    """
    means: list[dict[ClassName, int]] = [{} for _ in parts]
    for name, idle_ns in idle_columns(parts).items():
        for of_rank, mean in zip(means, _means(steps.rank, idle_ns, rows, len(parts)), strict=True):
            if mean:
                of_rank[name] = mean
    return means


def idle_columns(parts: Sequence[RankPart]) -> dict[ClassName, I64]:
    """Return the idle time of each class in each step of all parts, one after the other, in ns.

    Classes are in the order of ``IDLE``; those that no part has are absent.
    """
    used = {name for part in parts for name in part.host.idle}
    ends = np.cumsum([0, *(len(part.steps.idle_ns) for part in parts)]).tolist()
    columns = {name: np.zeros(ends[-1], np.int64) for name in IDLE if name in used}
    for part, start, end in zip(parts, ends, ends[1:], strict=False):
        for name, idle_ns in part.host.idle.items():
            columns[name][start:end] = idle_ns
    return columns


def mean_bounds(steps: RankSteps, rows: Bools, ranks: int) -> dict[str, list[int | None]]:
    """Return by rank the error bound of each mean; None if a bound is not known."""
    found = {}
    for name, bound in steps.bounds.items():
        lost = np.bincount(steps.rank[rows & (bound == MISSING)], minlength=ranks) > 0
        means = _means(steps.rank, bound, rows, ranks)
        found[name] = [None if no else b for b, no in zip(means, lost, strict=True)]
    return found


class Grid(Struct, frozen=True):
    """Ranks by steps, for a heat map."""

    measure: Measure
    ranks: tuple[int, ...]
    steps: tuple[str, ...]
    """The first step of each column."""
    steps_each: int
    """Steps per column; a value is their mean."""
    values: tuple[int | None, ...]
    """In ns, rank by rank; null if the rank has no such step, or the value is not known."""
    median_ns: int | None


_COLUMNS: dict[Measure, str] = {
    "step": "duration_ns",
    "computation": "computation_ns",
    "communication": "communication_ns",
    "exposed": "exposed_ns",
    "idle": "idle_ns",
    "waiting": "synchronizing_ns",
}


def step_grid(
    steps: RankSteps,
    chosen: Bools,
    names: tuple[str, ...],
    ranks: Sequence[int],
    measure: Measure,
    listed: Set[int],
) -> Grid:
    """Return the grid of the chosen steps and the listed ranks; the median is of all ranks.

    A column has several steps if there are too many.
    """
    used = np.unique(steps.step[chosen])
    rows = [i for i, rank in enumerate(ranks) if rank in listed]
    most = min(max(_CELLS // max(len(rows), 1), 1), _MOST_COLUMNS)
    row_of = np.full(len(ranks), NONE)
    row_of[rows] = np.arange(len(rows))
    row = row_of[steps.rank]
    each = max(-(-len(used) // most), 1)
    columns = -(-len(used) // each)
    place = np.searchsorted(used, steps.step) // each
    key = np.where(chosen & (row >= 0), row * columns + place, NONE)
    value = getattr(steps, _COLUMNS[measure])
    known = value[chosen & (value != MISSING)]
    return Grid(
        measure=measure,
        ranks=tuple(ranks[i] for i in rows),
        steps=tuple(names[i] for i in used[::each]),
        steps_each=each,
        values=tuple(_means(key, value, chosen & (row >= 0), len(rows) * columns)),
        median_ns=round(float(np.median(known))) if len(known) else None,
    )


def worst_steps(steps: RankSteps, chosen: Bools, most: int) -> I64:
    """Return the rows of the chosen steps, in their order.

    If there are more than ``most``, those with the greatest excess over the median of their step.
    """
    rows = np.flatnonzero(chosen)
    if len(rows) <= most:
        return rows
    order = rows[np.lexsort((steps.duration_ns[rows], steps.step[rows]))]
    edges = np.flatnonzero(np.diff(steps.step[order], prepend=-2))
    count = np.diff(edges, append=len(order))
    middle = steps.duration_ns[order[edges + (count - 1) // 2]]
    excess = steps.duration_ns[order] - np.repeat(middle, count)
    return np.sort(order[np.argsort(-excess, kind="stable")[:most]])


def _means(group: I32 | I64, values: I64, rows: Bools, groups: int) -> list[int | None]:
    known = np.where(rows & (values != MISSING), group, NONE)
    count = sums(known, np.ones(len(known), np.int64), groups)
    mean = np.rint(sums(known, values, groups) / np.maximum(count, 1)).astype(np.int64)
    return [m if n else None for m, n in zip(mean.tolist(), count.tolist(), strict=True)]
