"""Exposed collectives by kind, and what the program uses them for: by when they are launched."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.analysis.roofs.roofs import device_peak
from tb_privateuse1.analysis.steps.training_phases import Passes, find_passes
from tb_privateuse1.analysis.work.collectives import bus_bytes
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import containing, lookup
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import I64, Bools

Use = Literal["gradients", "tensor_parallel", "experts", "embeddings"]
"""``gradients``: sums of the backward pass that nothing in it reads; ``tensor_parallel``: sums in
the forward pass; ``experts``: exchange between all ranks; ``embeddings``: the same in a program
that looks up tables which are divided over the ranks."""

_LOOKUPS = r"(?i)embedding_?bag|split_embedding|pooled_emb"
"""Operators and kernels that look up a table of embeddings for many samples at once."""

_BOTH_PASSES = 0.25
"""Share of the sums' time in the forward pass, at least: a model that is split over ranks has as
many sums there as in the backward pass."""

OTHER = "other"
"""The kind of a collective whose name does not say it."""

_LARGE, _FAR = 4 << 20, 0.1
"""Bytes from which bandwidth rules and not latency; the share of the printed rate that any library
reaches where it uses the links (nccl-tests: a half and more)."""

_SUMS = ("all_reduce", "reduce_scatter")


class ExposedCollectives(Struct, frozen=True):
    """Exposed time by kind of collective, in ns, and the use that most of it has."""

    by_kind: dict[str, int]
    use: Use | None
    """None if no use has more than half of the time."""
    costliest: I64
    """The kernels of the kind with the most exposed time."""


def exposed_collectives(case: RuleContext, rows: I64, exposed: intervals.Set) -> ExposedCollectives:
    """Return the exposed time of collectives; ``rows`` are their kernels."""
    trace, kernels = case.trace, case.trace.kernels
    kind = np.full(len(kernels) + 1, NONE, np.int64)
    kind[trace.collectives.kernel] = trace.collectives.kind
    bare = intervals.covered_length(exposed, kernels.start_ns[rows], kernels.end_ns[rows])
    names = {number: trace.text(number) or OTHER for number in np.unique(kind[rows]).tolist()}
    by_kind: dict[str, int] = {}
    costliest, most = rows, -1
    for number, here in groupby.split_by_value(kind[rows]):
        ns = int(bare[here].sum())
        by_kind[names[number]] = by_kind.get(names[number], 0) + ns
        if ns > most:
            costliest, most = rows[here], ns
    exchange: Use = "embeddings" if _looks_up(case) else "experts"
    uses: dict[Use, int] = {
        exchange: by_kind.get("all_to_all", 0),
        **_of_sums(case, rows, np.isin(kind[rows], [n for n in names if names[n] in _SUMS]), bare),
    }
    use = max(uses, key=lambda name: uses[name])
    has_most = 2 * uses[use] > int(bare.sum())
    return ExposedCollectives(by_kind, use if has_most else None, costliest)


def _looks_up(case: RuleContext) -> bool:
    """Return whether the judged steps look up tables of embeddings."""
    return bool(len(case.ops(_LOOKUPS)) or len(case.kernels(_LOOKUPS)))


class SlowLink(Struct, frozen=True):
    """The best rate of large collectives, and that of the links between devices of a node."""

    rate: float
    """Bus bytes per second."""
    printed: float
    """By the data sheet."""
    name: str


def slow_link(case: RuleContext, rows: I64) -> SlowLink | None:
    """Return the best rate of collectives if it is far below that of the device's links, or None.

    ``rows`` are their kernels. A group with as many ranks as this node has devices, or fewer, is
    taken to be on this node. The best call waits least for other ranks.
    """
    trace, kernels, calls = case.trace, case.trace.kernels, case.trace.collectives
    peak = device_peak(trace)
    if peak is None or peak.link_gb_per_s is None:
        return None
    size = np.full(len(kernels) + 1, MISSING, np.int64)
    size[calls.kernel] = calls.group_size
    moved = bus_bytes(trace)[rows]
    large = (moved >= _LARGE) & (size[rows] > 1) & (size[rows] <= len(trace.meta.devices))
    if not large.any():
        return None
    duration = np.maximum(kernels.end_ns[rows] - kernels.start_ns[rows], 1)
    rate = 1e9 * float((moved / duration)[large].max())
    printed = 1e9 * peak.link_gb_per_s
    return SlowLink(rate, printed, peak.link) if rate < _FAR * printed else None


def _of_sums(case: RuleContext, rows: I64, sums: Bools, bare: I64) -> dict[Use, int]:
    """Return the exposed time of sums over ranks by use.

    A model whose parts are split over ranks sums in both passes, and each sum is read at once. Data
    parallelism sums in the backward pass alone.
    """
    passes, at = find_passes(case.trace), _launched_ns(case, rows)
    ahead = sums & _within(at, passes.forward_ns, passes.backward_ns)
    if int(bare[ahead].sum()) >= _BOTH_PASSES * int(bare[sums].sum()) and ahead.any():
        return {"tensor_parallel": int(bare[sums].sum())}
    kernels = case.trace.kernels
    work = np.flatnonzero(case.judged_kernels & ~kernels.communication)
    following = lookup(work, np.searchsorted(kernels.start_ns[work], kernels.end_ns[rows]), NONE)
    behind = _pass_of(_launched_ns(case, following), passes)
    own = _pass_of(at, passes)
    overlaps = sums & (own != NONE) & (behind == own) & (following != NONE)
    return {"gradients": int(bare[overlaps].sum())}


def _launched_ns(case: RuleContext, rows: I64) -> I64:
    """Return when the host launched activities; -1 where that is not recorded."""
    launch = lookup(case.trace.kernels.launch, rows, NONE)
    return lookup(case.trace.launches.start_ns, launch, -1)


def _within(at: I64, start_ns: I64, end_ns: I64) -> Bools:
    return containing(start_ns, end_ns, at) >= 0


def _pass_of(at: I64, passes: Passes) -> I64:
    """Return the backward pass in which each instant lies, or ``NONE``."""
    return containing(passes.backward_ns, passes.end_ns, at)
