"""Exposed collectives by kind, and what the program uses them for: by when they are launched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tb_privateuse1.advice.selection import RuleContext
from tb_privateuse1.analysis.steps.training_phases import Passes, find_passes
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64, Bools

Use = Literal["gradients", "tensor_parallel", "experts"]
"""``gradients``: sums of the backward pass that nothing in it reads; ``tensor_parallel``: sums in
the forward pass; ``experts``: exchange between all ranks."""

OTHER = "other"
"""The kind of a collective whose name does not say it."""

_SUMS = ("all_reduce", "reduce_scatter")


@dataclass(frozen=True)
class ExposedCollectives:
    """Exposed time by kind of collective, in ns, and the use that most of it has."""

    by_kind: dict[str, int]
    use: Use | None
    """None if no use has more than half of the time."""


def exposed_collectives(case: RuleContext, rows: I64, exposed: intervals.Set) -> ExposedCollectives:
    """Return the exposed time of collectives; ``rows`` are their kernels."""
    trace, kernels = case.trace, case.trace.kernels
    kind = np.full(len(kernels) + 1, NONE, np.int64)
    kind[trace.collectives.kernel] = trace.collectives.kind
    bare = intervals.covered_length(exposed, kernels.start_ns[rows], kernels.end_ns[rows])
    names = {number: trace.text(number) or OTHER for number in np.unique(kind[rows]).tolist()}
    by_kind: dict[str, int] = {}
    for number, here in groupby.split_by_value(kind[rows]):
        by_kind[names[number]] = by_kind.get(names[number], 0) + int(bare[here].sum())
    uses: dict[Use, int] = {
        "experts": by_kind.get("all_to_all", 0),
        **_of_sums(case, rows, np.isin(kind[rows], [n for n in names if names[n] in _SUMS]), bare),
    }
    use = max(uses, key=lambda name: uses[name])
    return ExposedCollectives(by_kind, use if 2 * uses[use] > int(bare.sum()) else None)


def _of_sums(case: RuleContext, rows: I64, sums: Bools, bare: I64) -> dict[Use, int]:
    """Return the exposed time of sums over ranks by use.

    A model whose parts are split over ranks sums in both passes, and each sum is read at once. Data
    parallelism sums in the backward pass alone.
    """
    passes, at = find_passes(case.trace), _launched_ns(case, rows)
    ahead = sums & _within(at, passes.forward_ns, passes.backward_ns)
    if ahead.any():
        return {"tensor_parallel": int(bare[sums].sum())}
    kernels = case.trace.kernels
    work = np.flatnonzero(case.judged_kernels & ~kernels.communication)
    following = np.append(work, NONE)[np.searchsorted(kernels.start_ns[work], kernels.end_ns[rows])]
    behind = _pass_of(_launched_ns(case, following), passes)
    own = _pass_of(at, passes)
    overlaps = sums & (own != NONE) & (behind == own) & (following != NONE)
    return {"gradients": int(bare[overlaps].sum())}


def _launched_ns(case: RuleContext, rows: I64) -> I64:
    """Return when the host launched activities; -1 where that is not recorded."""
    launch = np.append(case.trace.kernels.launch, np.int32(NONE))[rows]
    return np.append(case.trace.launches.start_ns, -1)[launch]


def _within(at: I64, start_ns: I64, end_ns: I64) -> Bools:
    place = np.searchsorted(start_ns, at, side="right") - 1
    inside: Bools = (place >= 0) & (at < np.append(end_ns, -1)[place])
    return inside


def _pass_of(at: I64, passes: Passes) -> I64:
    """Return the backward pass in which each instant lies, or ``NONE``."""
    place = np.searchsorted(passes.backward_ns, at, side="right") - 1
    inside = (place >= 0) & (at < np.append(passes.end_ns, -1)[place])
    return np.where(inside, place, NONE)
