"""The best rates of a recording: roofs of devices without a data sheet, and what is reachable.

A maximum over single rows would be that of the worst measurement: a kernel whose time was rounded
down, or inferred too short. So each rate is at the longest that its time may be, and the best rate
is one that the device sustained over several rows or a long one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.analysis.roofs.rate_types import FP32, RATE_TYPES
from tb_privateuse1.analysis.roofs.roofs import Ceilings, Roof
from tb_privateuse1.analysis.roofs.work_rows import WorkRows
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import F64, I64, Bools

SUSTAINED_NS = 100_000
"""The least time at the best rate or above: a hundred steps of a clock of 1 us."""
SUSTAINED_SHARE = 0.01
"""The same, as a share of the time of all rows that compete."""
FASTEST_SHARE = 0.1
"""A roof is the rate of the fastest tenth of the time at most. Where it was that of a greater part,
rows lay above it by factors: up to 100 in the smallest of the recordings, at most 1.3 in others."""
_SOME, _MORE = 256, 8
"""Rows that are sorted first for the best rate; then eight times as many, and so on."""
_TF32_MARGIN = 1.05
"""Rates above a ceiling by less may be due to the clock."""


def best_rate(
    work: I64,
    duration_ns: I64,
    longest_ns: I64,
    sustained_ns: float = SUSTAINED_NS,
    share: float = SUSTAINED_SHARE,
    fastest_share: float = 1.0,
) -> float | None:
    """Return the greatest rate per second that rows sustained; None if they last too short.

    Rows of this rate or above last ``sustained_ns`` and this share of all rows' time, together, and
    that is at most ``fastest_share`` of the time.
    ``longest_ns`` is the duration with its error bounds; rows where it is ``MISSING`` do not count.
    """
    use = (work != MISSING) & (work > 0) & (longest_ns != MISSING) & (longest_ns > 0)
    work, duration_ns, longest_ns = work[use], duration_ns[use], longest_ns[use]
    total = int(duration_ns.sum())
    needed = max(sustained_ns, share * total)
    if not total or fastest_share * total < needed:
        return None
    rate: F64 = work / longest_ns
    rows = _fastest(rate, duration_ns, needed)
    order = rows[np.argsort(-rate[rows], kind="stable")]
    row = int(np.searchsorted(np.cumsum(duration_ns[order]), needed))
    return float(rate[order[row]]) * 1e9


def _fastest(rate: F64, duration_ns: I64, needed_ns: float) -> I64:
    """Return rows of the highest rates that last as long together, with all of an equal rate.

    Only these need sorting.
    """
    count = _SOME
    while count < len(rate):
        rows = np.flatnonzero(rate >= np.partition(rate, -count)[-count])
        if duration_ns[rows].sum() >= needed_ns:
            return rows
        count *= _MORE
    return np.arange(len(rate))


def best_roofs(
    rows: WorkRows,
    resolution_ns: int = 1,
    cache_bytes: float = 0.0,
    fastest_share: float = FASTEST_SHARE,
) -> tuple[Roof, ...]:
    """Return the best rate of each type with and without the matrix unit, and of the memory.

    Rows whose bytes fit in the cache say nothing about the memory; with an unknown size
    (infinite) all count, and the rate may be the cache's. Work that may be less than counted
    (``at_most``) says nothing.
    """
    return tuple(_best_roofs(rows, rows.longest_ns(resolution_ns), cache_bytes, fastest_share))


def _best_roofs(
    rows: WorkRows, longest_ns: I64, cache_bytes: float, fastest_share: float
) -> Iterator[Roof]:
    known = rows.compute_known & ~rows.at_most
    for matrix in (True, False):
        for index, name in enumerate(RATE_TYPES):
            mask = known & (rows.type == index) & (rows.on_unit == matrix)
            rate = _rate(rows.flops, rows, longest_ns, mask, fastest_share)
            if rate:
                yield Roof("compute", name, matrix, rate, "best_seen", rate)
    least = cache_bytes if np.isfinite(cache_bytes) else 0
    mask = (rows.bytes > least) & ~rows.at_most
    rate = _rate(rows.bytes, rows, longest_ns, mask, fastest_share)
    if rate:
        yield Roof("memory", "", matrix=False, rate=rate, source="best_seen", reachable=rate)


def _rate(
    work: I64, rows: WorkRows, longest_ns: I64, mask: Bools, fastest_share: float = 1.0
) -> float | None:
    if not mask.any():
        return None
    duration = rows.duration_ns[mask]
    return best_rate(work[mask], duration, longest_ns[mask], fastest_share=fastest_share)


def uses_tf32(rows: WorkRows, limits: Ceilings, resolution_ns: int = 1) -> bool:
    """Return whether float32 products were faster than float32 can be, so that TF32 was on."""
    mask = rows.compute_known & (rows.type == FP32) & rows.product & rows.on_unit & ~rows.at_most
    rate = _rate(rows.flops, rows, rows.longest_ns(resolution_ns), mask)
    return bool(rate and rate > _TF32_MARGIN * limits.matrix[FP32])
