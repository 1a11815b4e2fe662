"""Work against the roofs of the device: points of a roofline chart, time by distance, outliers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.kernel_names import name_fields
from tb_privateuse1.analysis.roofs.achieved import LIMITS, Figures, Limit
from tb_privateuse1.analysis.roofs.distance import (
    DISTANCES,
    Distance,
    distances,
    group_limits,
    group_time,
    time_by_distance,
)
from tb_privateuse1.analysis.roofs.outliers import Outlier, outliers
from tb_privateuse1.analysis.roofs.points import By, PointGroups, point_groups
from tb_privateuse1.analysis.roofs.rate_types import RATE_TYPES
from tb_privateuse1.analysis.roofs.rates import (
    ModeledTime,
    compute_roofs,
    device_rates,
    group_figures,
    modeled_time,
)
from tb_privateuse1.analysis.roofs.roofs import Kind, Roof, Source
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import device_times, sum_bounds, uncertainty
from tb_privateuse1.trace.columns import lookup, positions
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import (
    OffsetOption,
    StepOption,
    WindowOption,
    check_page,
    chosen_window,
)

DType = Literal["all", "fp64", "fp32", "bf16", "fp16", "fp8", "fp4", "int8"]
_RANGES = ("roof_share_low", "roof_share_high", "above_roof_low_ns", "above_roof_high_ns")
_MOST_UNKNOWN = 50


class RoofRow(Struct, frozen=True):
    """A roof: a ceiling of arithmetic for a data type, or the bandwidth of the memory."""

    name: str
    """``bf16 matrix``, ``fp32``, ``memory``: ``matrix`` is the unit for products of matrices."""
    kind: Kind
    """``compute`` or ``memory``."""
    dtype: str | None
    matrix: bool
    rate: float
    """Operations or bytes per second."""
    source: Source
    """``data_sheet``, ``user_file``, or ``best_seen``, the best rate of the recording."""
    reachable: float | None
    """The best rate of the recording, at most ``rate``; null with too little such work."""
    device_ns: int
    """The device time of the work under this roof."""


class RooflineRow(Struct, frozen=True):
    """Device activities of one operator, shape, module or kernel, with one type and one ceiling."""

    name: str
    """Operator, kernel or module; of activities without an operator the kernel's."""
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
    operator: str | None
    """The operator that launched them; null without one, and for modules and kernels."""
    input_shapes: str | None
    """Null unless by shape, or not recorded."""
    kind: str
    """``kernel``, ``memcpy``, ``memset``, ``communication`` or ``unknown``."""
    dtype: str | None
    """The type of the operands; null if it has no rate, such as int64."""
    product: bool
    """A product of matrices; convolution and attention too."""
    roof: str | None
    """The ceiling of arithmetic above it; null without FLOPs or such a ceiling."""
    limit: Limit | None
    """What limits it: arithmetic or memory, or the cache, which was faster than the memory."""
    calls: int
    """Device activities."""
    device_ns: int
    device_bound_ns: int | None
    bounded_share: float
    """The part of ``device_ns`` with limits only (evidence ``bound``), 0 to 1."""
    share: float
    """Of the device time of the answer, 0 to 1."""
    flops: int | None
    bytes: int | None
    flops_per_byte: float | None
    tflop_per_s: float | None
    gb_per_s: float | None
    roof_share: float | None
    """The least time that the roofs allow, as a share of the time, 0 to 1."""
    roof_share_low: float | None
    roof_share_high: float | None
    above_roof_ns: int | None
    """The rest of the time: at stake."""
    above_roof_low_ns: int | None
    above_roof_high_ns: int | None
    above_80_ns: int
    above_50_ns: int
    above_20_ns: int
    below_20_ns: int
    """The time of its activities that reach this percentage of their roof."""
    no_roof_ns: int
    unknown_ns: int
    """The time of those without a roof, or with unknown work: these six add up."""
    longest_row: int
    """The row of the longest activity in the trace's table of kernels."""


class DistanceRow(Struct, frozen=True):
    """The device time of the activities at one distance from their roof."""

    distance: Distance
    """``above_80`` reaches 80 % of the roof or more, ``above_50`` 50 to 80 %, ``above_20`` 20 to
    50 %, ``below_20`` less. ``no_roof`` is communication, copies over links, and work without a
    known rate; ``unknown`` has no model of its work, or no recorded shapes."""
    device_ns: int | None
    """Null if a stream is missing, and the others have none."""
    low_ns: int
    high_ns: int | None
    """The least and the most within the error bounds; null if a bound is unknown."""
    share: float | None
    """Of ``device_ns`` of the answer, 0 to 1; null if that is not known."""
    calls: int


class UnknownWork(Struct, frozen=True):
    """Device activities without a model of their work, by name."""

    name: str
    device_ns: int
    calls: int
    share: float
    """Of ``device_ns`` of the answer, 0 to 1."""


class Roofline(Result, frozen=True):
    """The result of the view: the most time first."""

    provenance: Provenance
    rows: tuple[RooflineRow, ...]
    total_rows: int
    others_ns: int | None
    """The device time of the rows that ``limit`` and ``offset`` leave out."""
    device_ns: int | None
    """The sum of the durations of all activities of the answer. Null without device times; a lower
    bound if a stream is missing."""
    device_bound_ns: int | None
    above_roof_ns: int | None
    """The time above the roof of all of them; null without any roof."""
    roofs: tuple[RoofRow, ...]
    distances: tuple[DistanceRow, ...]
    """They add up to ``device_ns``; empty without device times."""
    unknown: tuple[UnknownWork, ...]
    """The names with the most time of unknown work, at most 50."""
    outliers: tuple[Outlier, ...]
    modeled: ModeledTime
    """How much of the time has a model of its work."""


def roofline(
    trace: Trace,
    *,
    by: Annotated[By, "what a row is"] = "operator",
    dtype: Annotated[DType, "only work on operands of this type"] = "all",
    step: StepOption = None,
    window: WindowOption = "steady",
    limit: Annotated[int, "at most this many rows"] = 1000,
    offset: OffsetOption = 0,
) -> Roofline:
    """A row per operator, shape, module or kernel: work, rates and distance from the roofs.

    Raises TraceError ``unknown_step`` or ``bad_option``.
    """
    check_page(limit, offset)
    part = chosen_window(trace, step, window)
    chosen = part.kernels
    if dtype != "all":
        chosen = chosen & (device_rates(trace).rows.type == RATE_TYPES.index(dtype))
    points = point_groups(trace, chosen, by)
    duration = trace.kernels.end_ns - trace.kernels.start_ns
    time = sums(points.group, duration, points.count)
    order = np.argsort(-time, kind="stable")
    shown = order[offset : offset + limit]
    whole = int(time.sum())
    (total,) = group_figures(trace, np.where(chosen, 0, NONE), 1)
    return Roofline(
        provenance=provenance(trace, part),
        rows=_rows(trace, points, shown, whole),
        total_rows=points.count,
        others_ns=whole - int(time[shown].sum()) if len(trace.kernels) else None,
        device_ns=device_times.known_sum(trace, whole),
        device_bound_ns=uncertainty.duration_sum_bound(trace.kernels.take(chosen))
        if device_times.all_known(trace)
        else None,
        above_roof_ns=total.above_roof_ns,
        roofs=_roofs(trace, chosen),
        distances=_distances(trace, chosen, whole),
        unknown=_unknown(trace, points, whole),
        outliers=outliers(trace, chosen),
        modeled=modeled_time(trace, chosen),
    )


def _rows(trace: Trace, points: PointGroups, shown: I64, whole: int) -> tuple[RooflineRow, ...]:
    group = lookup(positions(shown, points.count), points.group, NONE).astype(np.int64)
    count, longest = len(shown), points.longest[shown]
    kinds = breakdown.activity_kinds(trace.kernels.take(longest))
    rows, roofs = device_rates(trace).rows.take(longest), compute_roofs(trace)[longest]
    limits, parts = group_limits(trace, group, count), group_time(trace, group, count)
    work, times = group_figures(trace, group, count), _times(trace, group, count)
    labels = [name_fields(points.name[at], kernel=points.kernel[at]) for at in shown]
    return tuple(
        RooflineRow(
            name=labels[i]["name"],
            full_name=labels[i]["full_name"],
            operator=points.operator[at],
            input_shapes=points.shapes[at],
            kind=breakdown.KINDS[kinds[i]],
            dtype=None if rows.type[i] == NONE else RATE_TYPES[rows.type[i]],
            product=bool(rows.product[i]),
            roof=None if roofs[i] == NONE else _roof_name(device_rates(trace).roofs[roofs[i]]),
            limit=None if limits[i] == NONE else LIMITS[limits[i]],
            share=times[i]["device_ns"] / whole if whole else 0.0,
            **times[i],
            **_work(work[i]),
            **{f"{name}_ns": int(parts[i, k]) for k, name in enumerate(DISTANCES)},
            longest_row=int(longest[i]),
        )
        for i, at in enumerate(shown.tolist())
    )


def _times(trace: Trace, group: I64, count: int) -> list[dict[str, Any]]:
    """Return calls and times of each group of activities."""
    kernels = trace.kernels
    duration = kernels.end_ns - kernels.start_ns
    calls = sums(group, np.ones(len(group), np.int64), count)
    total = sums(group, duration, count)
    only = sums(group, np.where(uncertainty.bounded_only(kernels), duration, 0), count)
    bound = sum_bounds.duration_sum_bounds(group, kernels, count)
    bound = device_times.known_bounds(trace, bound)
    return [
        {
            "calls": int(calls[i]),
            "device_ns": int(total[i]),
            "device_bound_ns": uncertainty.known_bound(bound[i]),
            "bounded_share": float(only[i] / total[i]) if total[i] else 0.0,
        }
        for i in range(count)
    ]


def _work(work: Figures) -> dict[str, Any]:
    return work.columns() | {name: getattr(work, name) for name in _RANGES}


def _roof_name(roof: Roof) -> str:
    """Return the name of a roof of arithmetic or memory."""
    if roof.kind != "compute":
        return roof.kind
    return f"{roof.dtype} matrix" if roof.matrix else roof.dtype


def _roofs(trace: Trace, chosen: Bools) -> tuple[RoofRow, ...]:
    """Return the roofs of arithmetic and memory with the time of the work under them."""
    rates, kernels = device_rates(trace), trace.kernels
    duration = np.where(chosen, kernels.end_ns - kernels.start_ns, 0)
    under = sums(compute_roofs(trace).astype(np.int64), duration, len(rates.roofs))
    moving = int(duration[rates.values.memory_ns != MISSING].sum())
    return tuple(
        RoofRow(
            name=_roof_name(roof),
            kind=roof.kind,
            dtype=roof.dtype or None,
            matrix=roof.matrix,
            rate=roof.rate,
            source=roof.source,
            reachable=roof.reachable,
            device_ns=int(under[i]) if roof.kind == "compute" else moving,
        )
        for i, roof in enumerate(rates.roofs)
        if roof.kind in ("compute", "memory")
    )


def _distances(trace: Trace, chosen: Bools, whole: int) -> tuple[DistanceRow, ...]:
    return tuple(
        DistanceRow(
            distance=name,
            device_ns=device_times.known_sum(trace, part.ns),
            low_ns=part.low_ns,
            high_ns=device_times.known_bound(trace, part.high_ns),
            share=part.ns / whole if whole else None,
            calls=part.activities,
        )
        for name, part in time_by_distance(trace, chosen).items()
        if len(trace.kernels)
    )


def _unknown(trace: Trace, points: PointGroups, whole: int) -> tuple[UnknownWork, ...]:
    """Return the names of the points with time of unknown work."""
    hidden = (points.group != NONE) & (distances(trace).at == DISTANCES.index("unknown"))
    labels = list(dict.fromkeys(points.name))
    number = {name: i for i, name in enumerate(labels)}
    label = np.array([number[name] for name in points.name] + [NONE], np.int64)
    group = np.where(hidden, label[points.group], NONE)
    duration = trace.kernels.end_ns - trace.kernels.start_ns
    time = sums(group, duration, len(labels))
    calls = sums(group, np.ones(len(group), np.int64), len(labels))
    order = np.argsort(-time, kind="stable")
    return tuple(
        UnknownWork(
            name=labels[i],
            device_ns=int(time[i]),
            calls=int(calls[i]),
            share=int(time[i]) / whole,
        )
        for i in order[:_MOST_UNKNOWN].tolist()
        if time[i]
    )
