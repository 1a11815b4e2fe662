"""Compare kernels with what such kernels reach of the data sheet's roofs: the reachable roof."""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.roofs.best_rates import best_roofs
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.analysis.roofs.roofs import compute_ceilings
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import KERNEL, MISSING, NONE, Trace
from tb_privateuse1.trace.table import F64, I64, Bools, Name, Table

_OF_MEMORY = 0.9
"""The share of the printed bandwidth that copies reach on most devices (BabelStream)."""
_OF_COMPUTE = 0.75
"""The share of the printed rate that large products reach (vendors' libraries: 50 to 80 %)."""
_ATTENTION = 0.5
"""The share of the products' rate that attention reaches (FlashAttention-2: 50 to 73 % of an A100,
35 to 40 % of an H100)."""
_ATTENTION_NAME = re.compile(r"(?i)attn|attention|fmha")
_LONGEST_START_NS = 50_000
"""Kernels that take less on average may wait for their start, not for a roof."""


class Reach(Table, frozen=True):
    """Kernels by name: the rows of a name have ``number``; times are sums over all of them."""

    name: Name
    duration_ns: I64
    least_ns: F64
    """By the roof of the data sheet."""
    seen_share: F64
    """Of the roof, what the best of this recording reaches; 0 if it has nothing comparable."""
    best_share: F64
    """Of the roof, what such kernels reach elsewhere."""
    is_compute: Bools


@memoize
def reach(trace: Trace) -> tuple[Reach, I64]:
    """Return the kernels by name whose roof is known, and the row of each activity, or -1."""
    rates, kernels = device_rates(trace), trace.kernels
    rows, given, own = rates.roofed, rates.given, np.full(len(trace.kernels), -1, np.int64)
    rate = compute_ceilings(rows, given, tf32=rates.tf32)
    computed = np.where((rows.flops > 0) & np.isfinite(rate), rows.flops / rate * 1e9, 0.0)
    moved = np.where(rows.bytes != MISSING, rows.bytes / given.memory * 1e9, 0.0)
    least = np.minimum(np.maximum(computed, moved), rows.duration_ns)
    usable = (least > 0) & (kernels.kind == KERNEL) & ~kernels.communication & ~rows.at_most
    chosen = np.flatnonzero(usable)
    first, group = groupby.group_rows(kernels.name[chosen])
    own[chosen] = group
    count = len(first)
    duration = groupby.sums(group, rows.duration_ns[chosen], count)
    total = groupby.sums(group, np.rint(least[chosen]).astype(np.int64), count)
    is_compute = groupby.sums(
        group, np.rint((computed - moved)[chosen]).astype(np.int64), count
    ) > 0  # fmt: skip
    attends = _attends(trace, chosen[first])
    long = duration >= _LONGEST_START_NS * np.bincount(group, minlength=count)
    best = np.where(is_compute, _OF_COMPUTE, _OF_MEMORY)
    best *= np.where(is_compute & attends, _ATTENTION, 1.0)
    seen = np.where(is_compute, _seen(trace, compute=True), _seen(trace, compute=False))
    seen *= np.where(is_compute & attends, _ATTENTION, 1.0)
    own[chosen] = np.where(long[group], group, -1)
    table = Reach(
        name=kernels.name[chosen][first],
        duration_ns=duration,
        least_ns=total.astype(np.float64),
        seen_share=np.where(np.isfinite(seen), np.minimum(seen, best), 0.0),
        best_share=best,
        is_compute=is_compute,
    )
    return table, own


def _attends(trace: Trace, rows: I64) -> Bools:
    """Return which activities are fused attention, by their operator or their own name."""
    kernels = trace.kernels
    of_operator = groupby.named_rows(
        trace.strings,
        lookup(trace.ops.name, kernels.op[rows], NONE),
        lambda name: kind_of(name, trace.vendor) == "attention",
    )
    named = groupby.named_rows(trace.strings, kernels.name[rows], _ATTENTION_NAME.search)
    flags: Bools = of_operator | named
    return flags


def _seen(trace: Trace, *, compute: bool) -> float:
    """Return the share of the data sheet's roof that this recording sustained; nan if unknown."""
    rates = device_rates(trace)
    cache = rates.given.cache_bytes
    shares: list[float] = []
    roofs = best_roofs(rates.rows, rates.resolution_ns, cache, fastest_share=1.0)
    for roof in roofs:
        if (roof.kind == "compute") == compute:
            # A product may use the matrix unit, whether it did or not.
            given = [
                one.rate
                for one in rates.roofs
                if (one.kind, one.dtype) == (roof.kind, roof.dtype) and one.source != "best_seen"
            ]
            shares += [min(roof.rate / max(given), 1.0)] if given else []
    return max(shares, default=float("nan"))
