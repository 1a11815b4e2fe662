"""Compute the FLOPS and bytes per second of device activities, against the device's roofs."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.kernels.groups import on_matrix_unit
from tb_privateuse1.analysis.roofs.achieved import Achieved, Figures, achieved, figures
from tb_privateuse1.analysis.roofs.best_rates import best_roofs, uses_tf32
from tb_privateuse1.analysis.roofs.rate_types import RATE_TYPES, rate_type
from tb_privateuse1.analysis.roofs.roofs import (
    Ceilings,
    Roof,
    Source,
    ceilings,
    compute_ceilings,
    device_peak,
    merge,
    roofs_of,
)
from tb_privateuse1.analysis.roofs.work_rows import WorkRows, clock_resolution_ns
from tb_privateuse1.analysis.work.arguments import DTYPES
from tb_privateuse1.analysis.work.kernel_work import KernelWork, kernel_work
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.groupby import distinct_values, named_rows
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MEMCPY, MISSING, NONE, Trace
from tb_privateuse1.trace.table import I8, I32, I64, Bools

DTYPE_RATES = np.array([rate_type(name) for name in DTYPES], np.int8)
"""The type of rates of each of ``DTYPES``, the types of operands."""
_WITHIN_DEVICE = re.compile(r"D(evice)? ?(to|2) ?D(evice)?", re.IGNORECASE)
"""Copies that only the device's memory limits; others go over a link."""
_UNITS = ((False, False), (False, True), (True, False), (True, True))
"""Product or not, on the matrix unit or not."""


class DeviceRates(Struct, frozen=True):
    """Work and least time of each row of ``trace.kernels``."""

    rows: WorkRows
    values: Achieved
    given: Ceilings
    """The roofs of the data sheet or of a vendor file alone."""
    tf32: bool
    """Whether products of float32 ran in TF32."""
    resolution_ns: int
    """The step of the clock."""
    memory_source: Source | None
    """The source of the memory's roof; None without one."""
    roofs: tuple[Roof, ...]
    """The given roofs, and the best rates of the recording for kinds without any given."""
    limits: Ceilings
    """The same as columns."""
    roofed: WorkRows
    """``rows``, with unknown work where neither memory nor arithmetic is the limit."""


@memoize
def device_rates(trace: Trace) -> DeviceRates:
    """Return the work of each device activity, and its least time by the device's roofs."""
    rows = _work_rows(trace)
    kernels = trace.kernels
    resolution = clock_resolution_ns(np.concatenate([kernels.start_ns, kernels.end_ns]))
    peak = device_peak(trace)
    given = ceilings(roofs_of(trace), peak)
    roofs = merge(roofs_of(trace), best_roofs(rows, resolution, given.cache_bytes))
    limits = ceilings(roofs, peak)
    tf32 = uses_tf32(rows, given, resolution)
    roofed = _under_roofs(rows, over_links(trace))
    sources = {roof.kind: roof.source for roof in reversed(roofs)}  # given roofs come first
    return DeviceRates(
        rows=rows,
        values=achieved(roofed, compute_ceilings(roofed, limits, tf32=tf32), limits),
        given=given,
        tf32=tf32,
        resolution_ns=resolution,
        memory_source=sources.get("memory"),
        roofs=roofs,
        limits=limits,
        roofed=roofed,
    )


@memoize
def compute_roofs(trace: Trace) -> I8:
    """Return the roof of arithmetic of each device activity, ``NONE`` without FLOPs or a roof.

    The roof is an index into ``device_rates(trace).roofs``.
    """
    rates = device_rates(trace)
    rows = rates.roofed
    table = np.array(_roof_of_kinds(rates), np.int8)
    roof = table[(rows.type + 1) * len(_UNITS) + rows.product * 2 + rows.on_unit]
    return np.where(rows.flops > 0, roof, NONE).astype(np.int8)


def _roof_of_kinds(rates: DeviceRates) -> list[int]:
    """Return the roof by type (from NONE on) and unit: the ceiling depends on nothing else."""
    kinds = [(t, *unit) for t in range(NONE, len(RATE_TYPES)) for unit in _UNITS]
    none = np.zeros(len(kinds), np.int64)
    rows = WorkRows(
        flops=none,
        bytes=none,
        type=np.array([kind[0] for kind in kinds], np.int8),
        product=np.array([kind[1] for kind in kinds], np.bool_),
        on_unit=np.array([kind[2] for kind in kinds], np.bool_),
        duration_ns=none,
        bound_ns=none,
        at_most=np.zeros(len(kinds), np.bool_),
    )
    ceiling = compute_ceilings(rows, rates.limits, tf32=rates.tf32).tolist()
    return [_roof_at(rates.roofs, *kind, at) for kind, at in zip(kinds, ceiling, strict=True)]


def _roof_at(roofs: tuple[Roof, ...], kind: int, product: bool, on_unit: bool, rate: float) -> int:
    """Return the roof of a height; of several equal ones that of the type, then of the unit."""
    name = "" if kind == NONE else RATE_TYPES[kind]

    def likeness(i: int) -> tuple[bool, bool]:
        return roofs[i].dtype == name, roofs[i].matrix == (product and on_unit)

    found = [i for i, roof in enumerate(roofs) if roof.kind == "compute" and roof.rate == rate]
    return max(found, key=likeness, default=NONE)


def _work_rows(trace: Trace) -> WorkRows:
    work, kernels = kernel_work(trace), trace.kernels
    on_unit = on_matrix_unit(trace, kernels)
    whole = (work.read_bytes != MISSING) & (work.written_bytes != MISSING)
    return WorkRows(
        flops=work.flops,
        bytes=np.where(whole, work.read_bytes + work.written_bytes, MISSING),
        type=DTYPE_RATES[work.dtype],
        product=work.matrix,
        on_unit=work.matrix if on_unit is None else _with_parts(on_unit, work),
        duration_ns=kernels.end_ns - kernels.start_ns,
        bound_ns=kernels.duration_bound_ns,
        at_most=work.at_most,
    )


def _with_parts(on_unit: Bools, work: KernelWork) -> Bools:
    """Return also the other kernels of products on the matrix unit: they share the FLOPs."""
    products = work.matrix & (work.op >= 0)
    of_operator = mask_of(work.op[products & on_unit], int(work.op.max(initial=-1)) + 1)
    found = on_unit.copy()
    found[products] = of_operator[work.op[products]]
    return found


def over_links(trace: Trace) -> Bools:
    """Return which activities copy from or to the host or another device, by their names."""
    kernels = trace.kernels
    copies = kernels.kind == MEMCPY
    names = np.where(copies, kernels.name, NONE)
    found: Bools = copies & ~named_rows(trace.strings, names, _WITHIN_DEVICE.search)
    return found


def _under_roofs(rows: WorkRows, apart: Bools) -> WorkRows:
    """Return the rows with unknown work where the roofs of memory and arithmetic say nothing."""
    return replace(
        rows,
        flops=np.where(apart, MISSING, rows.flops),
        bytes=np.where(apart, MISSING, rows.bytes),
    )


def group_figures(trace: Trace, group: I64, count: int, parent: I32 | None = None) -> list[Figures]:
    """Return the figures of groups of activities.

    ``group`` has the group of each row of ``trace.kernels``, from 0 to ``count`` less 1; rows
    with ``NONE`` are in none. With the ``parent`` of each group, a group has those below it, too.
    """
    rates = device_rates(trace)
    rows = np.flatnonzero((group != NONE) & _has_work(rates.rows))
    # Rows without work change only ``roofed_share``, which views give for all rows at once.
    return figures(rates.rows.take(rows), rates.values.take(rows), group[rows], count, parent)


def _has_work(rows: WorkRows) -> Bools:
    known: Bools = (rows.flops != MISSING) | (rows.bytes != MISSING)
    return known


class RoofSource(Struct, frozen=True):
    """Where the roof of one type is from."""

    dtype: str
    matrix: bool
    """The rate of the matrix unit."""
    source: Source


class ModeledTime(Struct, frozen=True):
    """How much of some device time has a model of its work; communication does not count."""

    modeled_ns: int | None
    """Null without device times."""
    modeled_share: float | None
    """Of the time of these activities, 0 to 1; null without any."""
    compute_source: Source | Literal["mixed"] | None
    """Where the roofs of these activities' arithmetic are from: ``data_sheet``, ``user_file``, or
    ``best_seen``, the best rates of this recording; ``mixed`` if they differ, null without any."""
    memory_source: Source | None
    compute_sources: tuple[RoofSource, ...]
    """Each of these roofs with its source."""
    hint: str | None
    """How to get work in the next recording; null if this one has it."""


def modeled_time(trace: Trace, chosen: Bools) -> ModeledTime:
    """Return how much of the time of the chosen rows of ``trace.kernels`` has a model."""
    rates = device_rates(trace)
    counted = chosen & ~trace.kernels.communication
    duration = rates.rows.duration_ns
    used = distinct_values(compute_roofs(trace)[counted]).tolist()
    roofs = [rates.roofs[at] for at in used if at != NONE]
    sources = {roof.source for roof in roofs}
    known = int(duration[counted & _has_work(rates.rows)].sum())
    whole = int(duration[counted].sum())
    return ModeledTime(
        modeled_ns=known if len(trace.kernels) else None,
        modeled_share=known / whole if whole else None,
        compute_source="mixed" if len(sources) > 1 else next(iter(sources), None),
        memory_source=rates.memory_source,
        compute_sources=tuple(RoofSource(one.dtype, one.matrix, one.source) for one in roofs),
        hint=None if (trace.ops.shapes >= 0).any() else shapes_hint(),
    )


def shapes_hint() -> str:
    """Return the sentence that says how to record shapes."""
    return say(
        "This recording has no input shapes, so FLOPs and bytes are unknown. "
        "Record with record_shapes=True."
    )
