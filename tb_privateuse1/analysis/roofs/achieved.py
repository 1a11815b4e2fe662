"""Compare work with its roofs: least time, time above the roof, rates and shares.

docs/reference/definitions.md, "Work and roofs", defines each figure.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.roofs.roofs import Ceilings
from tb_privateuse1.analysis.roofs.work_rows import WorkRows
from tb_privateuse1.trace.groupby import sums, with_descendants
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import F64, I8, I32, I64, Bools, Table

Limit = Literal["compute", "memory", "cache"]
LIMITS: tuple[Limit, ...] = ("compute", "memory", "cache")
"""What limits a row: the arithmetic, the memory, or the cache that was faster than the memory."""
_COMPUTE, _MEMORY, _CACHE = range(len(LIMITS))


class Achieved(Table, frozen=True):
    """Rows of work against their roofs, ``MISSING`` where work or roof is unknown."""

    compute_ns: I64
    """The least time of the FLOPs."""
    memory_ns: I64
    """The least time of the bytes, from and to the device's memory."""
    attainable_ns: I64
    """The greater of the two that are known, at most the duration."""
    limit: I8
    """Index into ``LIMITS``; NONE where one of the two times is unknown or not comparable."""
    above_roof_ns: I64
    """Duration less attainable time."""
    above_roof_low_ns: I64
    above_roof_high_ns: I64
    """The same for the shortest and the longest duration that the bound allows; the greatest is
    ``MISSING`` where the bound is unknown."""


def achieved(rows: WorkRows, compute_rate: F64, limits: Ceilings) -> Achieved:
    """Return each row against its roofs; ``compute_rate`` is of ``roofs.compute_ceilings``."""
    compute = _least_time(rows.flops, compute_rate)
    memory = _least_time(rows.bytes, np.full(len(rows), limits.memory))
    # No FLOPs take no time: alone they say nothing of a row that only moves bytes.
    known = ((compute != MISSING) & (rows.flops > 0)) | (memory != MISSING)
    least = np.maximum(compute, memory)  # MISSING is below any time
    attainable = np.where(known, np.minimum(least, rows.duration_ns), MISSING)
    limit = np.where((compute >= memory) & (rows.flops > 0), _COMPUTE, _MEMORY)
    limit = np.where(_comparable(rows, compute, memory, limits), limit, NONE)
    if not limits.memory_measured:
        limit = np.where((memory > compute) & (memory > rows.duration_ns), _CACHE, limit)
    unbounded = rows.bound_ns == MISSING
    bound = np.where(unbounded, 0, rows.bound_ns)
    shortest = np.where(unbounded, 0, np.maximum(rows.duration_ns - bound, 0))
    high = np.where(known & ~unbounded, rows.duration_ns + bound - attainable, MISSING)
    return Achieved(
        compute_ns=compute,
        memory_ns=memory,
        attainable_ns=attainable,
        limit=limit.astype(np.int8),
        above_roof_ns=np.where(known, rows.duration_ns - attainable, MISSING),
        above_roof_low_ns=np.where(known, np.maximum(shortest - attainable, 0), MISSING),
        above_roof_high_ns=high,
    )


def _comparable(rows: WorkRows, compute: I64, memory: I64, limits: Ceilings) -> Bools:
    """Return whether the two least times of each row say which of its roofs is nearer.

    A best rate of the recording is below the device's: beside a data sheet's it looks nearer than
    it is.
    """
    same_source = limits.measured == limits.memory_measured
    known: Bools = (compute != MISSING) & (memory != MISSING)
    return known if same_source else known & (rows.flops == 0)


def _least_time(work: I64, rate: F64) -> I64:
    """Return the time in ns of work at a rate per second; ``MISSING`` if either is unknown."""
    known = (work != MISSING) & (np.isfinite(rate) | (work == 0))
    time = np.where(known, work, 0) / rate * 1e9
    return np.where(known, np.rint(time).astype(np.int64), MISSING)


COLUMNS = (
    "flops", "bytes", "tflop_per_s", "gb_per_s", "flops_per_byte", "roof_share", "above_roof_ns",
)  # fmt: skip
"""The figures in tables of views."""


class Figures(Struct, frozen=True):
    """Rates and shares of a group of rows; None where nothing is known."""

    flops: int | None
    bytes: int | None
    tflop_per_s: float | None
    """FLOPs by the time of the rows that have them, 1e12 per second."""
    gb_per_s: float | None
    flops_per_byte: float | None
    """Arithmetic intensity, of the rows with both."""
    roof_share: float | None
    """Attainable time by time, of the rows with a roof, 0 to 1."""
    roof_share_low: float | None
    roof_share_high: float | None
    attainable_ns: int | None
    above_roof_ns: int | None
    above_roof_low_ns: int | None
    above_roof_high_ns: int | None
    modeled_ns: int
    """Time of the rows with FLOPs or bytes; the rest is unknown work."""
    roofed_share: float | None
    """The part of the group's time with a roof, 0 to 1."""

    def columns(self) -> dict[str, Any]:
        """Return the figures that tables of views have."""
        return {name: getattr(self, name) for name in COLUMNS}


def figures(
    rows: WorkRows, values: Achieved, group: I64, count: int, parent: I32 | None = None
) -> list[Figures]:
    """Return the figures of each group; ``group`` is each row's, from 0 to ``count`` less 1.

    With the ``parent`` of each group (``NONE`` for the outermost), a group has the rows of all
    groups below it, too.
    """

    def total(column: I64, mask: Bools) -> I64:
        total = sums(group[mask], column[mask], count)
        return total if parent is None else with_descendants(parent, total)

    has_flops, has_bytes = rows.flops != MISSING, rows.bytes != MISSING
    both, roofed = has_flops & has_bytes, values.attainable_ns != MISSING
    unbounded = rows.bound_ns == MISSING
    bound = np.where(unbounded, 0, rows.bound_ns)
    shortest = np.maximum(rows.duration_ns - bound, values.attainable_ns)
    bounded = total(unbounded.astype(np.int64), roofed) == 0
    flops, size = total(rows.flops, has_flops), total(rows.bytes, has_bytes)
    attainable, time = total(values.attainable_ns, roofed), total(rows.duration_ns, roofed)
    high = total(values.above_roof_high_ns, roofed & ~unbounded)
    some = total(roofed.astype(np.int64), roofed) > 0
    columns = (
        _known(flops, total(has_flops.astype(np.int64), has_flops) > 0),
        _known(size, total(has_bytes.astype(np.int64), has_bytes) > 0),
        _ratios(flops, total(rows.duration_ns, has_flops), 1e-3),
        _ratios(size, total(rows.duration_ns, has_bytes)),
        _ratios(total(rows.flops, both), total(rows.bytes, both)),
        _ratios(attainable, time),
        _ratios(attainable, np.where(bounded, total(rows.duration_ns + bound, roofed), 0)),
        _ratios(attainable, np.where(bounded, total(shortest, roofed), 0)),
        _known(attainable, some),
        _known(total(values.above_roof_ns, roofed), some),
        _known(total(values.above_roof_low_ns, roofed), some),
        _known(high, some & bounded),
        total(rows.duration_ns, has_flops | has_bytes).tolist(),
        _ratios(time, total(rows.duration_ns, np.ones(len(rows), np.bool_))),
    )
    return [Figures(*row) for row in zip(*columns, strict=True)]


def _known(totals: I64, known: Bools) -> list[Any]:
    """Return totals as numbers; None where they are unknown."""
    return [
        one if some else None for one, some in zip(totals.tolist(), known.tolist(), strict=True)
    ]


def _ratios(above: I64, below: I64, factor: float = 1.0) -> list[Any]:
    """Return the ratios; None where nothing is below."""
    pairs = zip(above.tolist(), below.tolist(), strict=True)
    return [factor * up / down if down else None for up, down in pairs]
