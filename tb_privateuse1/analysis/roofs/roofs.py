"""The roofs of a device, and which of them applies to a piece of work.

The model is that of S. Williams, A. Waterman, D. Patterson: "Roofline: an insightful visual
performance model for multicore architectures", CACM 52 (4), 2009.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from tb_privateuse1.analysis.roofs.rate_types import FP32, INT8, RATE_TYPES, TF32
from tb_privateuse1.analysis.roofs.work_rows import WorkRows
from tb_privateuse1.trace import peaks
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import F64

Kind = Literal["compute", "memory", "link", "host"]
Source = Literal["data_sheet", "user_file", "best_seen"]


class Roof(Struct, frozen=True):
    """One rate that a device cannot exceed."""

    kind: Kind
    dtype: str
    """One of ``RATE_TYPES`` for ``compute``, else empty."""
    matrix: bool
    """The rate of the matrix unit."""
    rate: float
    """Operations or bytes per second."""
    source: Source
    reachable: float | None = None
    """The best rate in this recording, at most ``rate``; None if it has too little such work."""

    @property
    def key(self) -> tuple[Kind, str, bool]:
        """Return what the roof limits."""
        return self.kind, self.dtype, self.matrix


def device_peak(trace: Trace) -> peaks.Peak | None:
    """Return the peak of the devices that ran; None if it is unknown, or they differ."""
    ran = set(trace.lanes.device.tolist())
    devices = [d for d in trace.meta.devices if d.get("id") in ran] or trace.meta.devices
    found = {trace.vendor.peak(str(device.get("name") or "")) for device in devices}
    return found.pop() if len(found) == 1 else None


@memoize
def roofs_of(trace: Trace) -> tuple[Roof, ...]:
    """Return the roofs of the trace's device from its vendor's data; empty if there are none."""
    peak = device_peak(trace)
    return tuple(_roofs(peak)) if peak else ()


def _roofs(peak: peaks.Peak) -> Iterator[Roof]:
    for matrix, rates in ((True, peak.matrix), (False, peak.vector)):
        for name, tera in asdict(rates).items():
            if tera is not None:
                yield Roof("compute", name, matrix, tera * 1e12, peak.source)
    bandwidths: tuple[tuple[Kind, float | None], ...] = (
        ("memory", peak.memory_gb_per_s),
        ("link", peak.link_gb_per_s),
        ("host", peak.host_gb_per_s),
    )
    for kind, giga in bandwidths:
        if giga is not None:
            yield Roof(kind, "", matrix=False, rate=giga * 1e9, source=peak.source)


def merge(given: Iterable[Roof], seen: Iterable[Roof]) -> tuple[Roof, ...]:
    """Return the given roofs with what is reachable, and the best seen of kinds without any.

    A best rate beside given ones is no roof: what it limits would look as near to its roof as the
    best of it is, however slow.
    """
    best = {roof.key: roof for roof in seen}
    merged, kinds = [], set()
    for roof in given:
        other = best.pop(roof.key, None)
        reachable = min(other.rate, roof.rate) if other else None
        merged.append(replace(roof, reachable=reachable))
        kinds.add(roof.kind)
    return (*merged, *(roof for roof in best.values() if roof.kind not in kinds))


class Ceilings(Struct, frozen=True):
    """Roofs as columns, infinite where none is known: unknown roofs limit nothing."""

    matrix: F64
    """Operations per second by type, in the order of ``RATE_TYPES``."""
    vector: F64
    memory: float
    """Bytes per second."""
    measured: bool
    """The operations' rates are the best seen here, so that each kind of work has its own."""
    memory_measured: bool
    """The memory's rate is the best seen here."""
    cache_bytes: float
    """What fits in the last cache; infinite if its size is unknown."""


def ceilings(roofs: Iterable[Roof], peak: peaks.Peak | None) -> Ceilings:
    """Return the ceilings of these roofs, with the size of the device's cache."""
    roofs = tuple(roofs)
    compute = np.full((2, len(RATE_TYPES)), np.inf)
    memory = np.inf
    for roof in roofs:
        if roof.kind == "compute":
            compute[int(roof.matrix), RATE_TYPES.index(roof.dtype)] = roof.rate
        elif roof.kind == "memory":
            memory = roof.rate
    compute_sources = {roof.source for roof in roofs if roof.kind == "compute"}
    memory_sources = {roof.source for roof in roofs if roof.kind == "memory"}
    cache_mb = peak.cache_mb if peak else None
    return Ceilings(
        matrix=compute[1],
        vector=compute[0],
        memory=memory,
        measured=compute_sources <= {"best_seen"},
        memory_measured=memory_sources <= {"best_seen"},
        cache_bytes=np.inf if cache_mb is None else cache_mb * 2**20,
    )


def compute_ceilings(rows: WorkRows, limits: Ceilings, *, tf32: bool = False) -> F64:
    """Return the rate in FLOP/s that each row could reach at best; infinite if it is unknown.

    A product has the rate of the matrix unit for its type, whether it ran there or not, or else
    that of the other units. Other work has the rate of the other units, and the one of float32 for
    narrower floats without a rate of their own, since torch computes these in float32.

    A float32 product may run in TF32, which no profiler records. If the names of its kernels say
    that the matrix unit computed it, and the unit has no rate for true float32, it ran in TF32. If
    it has both, true float32 is the ceiling, unless ``best_rates.uses_tf32`` says otherwise.

    Best rates of the recording stay with the unit that ran: they say nothing about the other one.
    """
    kind = np.where(rows.type == NONE, FP32, rows.type)
    vector = limits.vector[kind]
    if limits.measured:
        rate = np.where(rows.on_unit, limits.matrix[kind], vector)
    else:
        full = limits.matrix[FP32]
        as_tf32 = (kind == FP32) & rows.on_unit & (tf32 or not np.isfinite(full))
        unit = limits.matrix[np.where(as_tf32 & np.isfinite(limits.matrix[TF32]), TF32, kind)]
        narrow = (kind > FP32) & (kind < INT8) & ~np.isfinite(vector)
        vector = np.where(narrow, limits.vector[FP32], vector)
        product = np.where(np.isfinite(unit), _faster(unit, vector), limits.vector[kind])
        rate = np.where(rows.product, product, vector)
    return np.where(rows.type == NONE, np.inf, rate)


def _faster(first: F64, second: F64) -> F64:
    """Return the greater of two rates; infinite ones are unknown."""
    both = np.isfinite(first) & np.isfinite(second)
    return np.where(both, np.maximum(first, second), np.minimum(first, second))
