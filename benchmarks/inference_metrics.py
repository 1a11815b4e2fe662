"""How far an inferred device timeline lies from the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.inference_cases import UNLINKED, Truth
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64

_EARLY_NS = 100_000


@dataclass(frozen=True)
class Timeline:
    """A timeline to be judged: one row per kernel, ns since the file's base; bounds or none."""

    external_id: I64
    start_ns: I64
    end_ns: I64
    start_bound_ns: I64 | None = None
    duration_bound_ns: I64 | None = None


@dataclass(frozen=True)
class Score:
    """Errors in us, shares between 0 and 1; NaN where there is nothing to compare."""

    kernels: int
    missed: int
    spurious: int
    start_median: float
    start_p95: float
    start_max: float
    duration_median: float
    duration_p95: float
    busy_ratio: float
    overlap: float
    """Intersection over union of busy time."""
    start_inside: float
    duration_inside: float
    start_bound: float
    duration_bound: float
    """Median stated bounds."""
    inversions: int


def score(found: Timeline, truth: Truth) -> Score:
    """The comparison per launching operator: its first start, and from there to its last end."""
    if (truth.external_id == NONE).any():
        found, truth = _by_order(found, truth)
    linked = truth.external_id != UNLINKED
    ids, first, last = _blocks(
        truth.external_id[linked], truth.start_ns[linked], truth.end_ns[linked]
    )
    mine, begin, finish = _blocks(found.external_id, found.start_ns, found.end_ns)
    both, i, j = np.intersect1d(ids, mine, return_indices=True)
    start_error = begin[j] - first[i]
    duration_error = (finish - begin)[j] - (last - first)[i]
    inside: tuple[float, ...] = (np.nan,) * 4
    if found.start_bound_ns is not None and found.duration_bound_ns is not None and len(both):
        row = np.searchsorted(mine, found.external_id)
        start_bound, duration_bound = np.zeros(len(mine), np.int64), np.zeros(len(mine), np.int64)
        np.maximum.at(start_bound, row, found.start_bound_ns)
        np.add.at(duration_bound, row, found.duration_bound_ns)
        inside = (
            float((np.abs(start_error) <= start_bound[j]).mean()),
            float((np.abs(duration_error) <= duration_bound[j]).mean()),
            float(np.median(start_bound[j]) / 1e3),
            float(np.median(duration_bound[j]) / 1e3),
        )
    true_busy = intervals.union(truth.start_ns, truth.end_ns)
    busy = intervals.union(found.start_ns, found.end_ns)
    common = intervals.length(intervals.intersect(true_busy, busy))
    either = intervals.length(intervals.merge(true_busy, busy))
    order = np.argsort(begin[j], kind="stable")
    return Score(
        kernels=len(ids),
        missed=len(ids) - len(both),
        spurious=len(mine) - len(both),
        start_median=_percentile(start_error, 50),
        start_p95=_percentile(start_error, 95),
        start_max=_percentile(start_error, 100),
        duration_median=_percentile(duration_error, 50),
        duration_p95=_percentile(duration_error, 95),
        busy_ratio=intervals.length(busy) / max(intervals.length(true_busy), 1),
        overlap=common / max(either, 1),
        start_inside=inside[0],
        duration_inside=inside[1],
        start_bound=inside[2],
        duration_bound=inside[3],
        inversions=int((np.diff(first[i][order]) < 0).sum()),
    )


def _percentile(errors: I64, at: int) -> float:
    return float(np.percentile(np.abs(errors), at)) / 1e3 if len(errors) else float("nan")


def _blocks(ids: I64, start: I64, end: I64) -> tuple[I64, I64, I64]:
    """First start and last end per operator, by id."""
    unique, row = np.unique(ids, return_inverse=True)
    first = np.full(len(unique), np.iinfo(np.int64).max)
    last = np.full(len(unique), np.iinfo(np.int64).min)
    np.minimum.at(first, row, start)
    np.maximum.at(last, row, end)
    return unique, first, last


def _by_order(found: Timeline, truth: Truth) -> tuple[Timeline, Truth]:
    """Where the truth does not name operators: both in order, from the first one inferred on.

    What ran before that was launched before the recording.
    """
    order = np.argsort(found.start_ns, kind="stable")
    first = int(found.start_ns.min()) if len(order) else 0
    inside = np.flatnonzero(truth.start_ns >= first - _EARLY_NS)
    inside = inside[np.argsort(truth.start_ns[inside], kind="stable")]
    ids = -10 - np.arange(len(inside))
    both = min(len(order), len(inside))
    ids[:both] = found.external_id[order[:both]]
    return found, Truth(ids, truth.start_ns[inside], truth.end_ns[inside])
