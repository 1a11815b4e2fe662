"""Points of a roofline chart: device activities by operator, shapes, module or kernel.

All activities of a point are of one kind, products of matrices or not, with one type of operands
and one ceiling of arithmetic, so that a point lies under one roof.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.operators import named_regions
from tb_privateuse1.analysis.roofs.rates import compute_roofs, device_rates
from tb_privateuse1.analysis.steps.breakdown import activity_kinds
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.kernel_context import operator_names
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

By = Literal["operator", "shape", "module", "kernel"]


class PointGroups(Struct, frozen=True):
    """The point of each device activity."""

    group: I64
    """From 0 to ``count`` less 1 by row of ``trace.kernels``; NONE for rows that are not chosen."""
    count: int
    longest: I64
    """The longest activity of each point."""
    name: list[str]
    kernel: list[bool]
    """Whether the name is that of a kernel."""
    operator: list[str | None]
    """The operator that launched them; None for several (kernels, modules), and without one."""
    shapes: list[str | None]
    """None unless by shape."""


def point_groups(trace: Trace, chosen: Bools, by: By) -> PointGroups:
    """Return the points of the chosen rows of ``trace.kernels``."""
    rows = np.flatnonzero(chosen)
    names, columns = _columns(trace, rows, by)
    activity = activity_kinds(trace.kernels.take(rows))
    work = device_rates(trace).rows.take(rows)
    kinds = (work.type, work.product, compute_roofs(trace)[rows], activity)
    first, member = group_rows(*columns, *kinds)
    group = np.full(len(chosen), NONE, np.int64)
    group[rows] = member
    duration = trace.kernels.end_ns[rows] - trace.kernels.start_ns[rows]
    order = np.lexsort((-duration, member))
    heads = order[np.searchsorted(member[order], np.arange(len(first)))]
    own = trace.kernels.take(rows[first])
    operators = operator_names(trace, own) if by in ("operator", "shape") else None
    lost = [True] * len(first) if operators is None else (operators < 0).tolist()
    shaped = lookup(trace.ops.shapes, own.op, NONE)
    return PointGroups(
        group=group,
        count=len(first),
        longest=rows[heads],
        name=[names[i] for i in columns[0][first].tolist()],
        kernel=lost if by != "module" else [False] * len(first),
        operator=[None] * len(first)
        if operators is None
        else [trace.text(n) or None for n in operators],
        shapes=[trace.text(n) or None if by == "shape" else None for n in shaped],
    )


def _columns(trace: Trace, rows: I64, by: By) -> tuple[list[str], tuple[NDArray[np.integer], ...]]:
    """Return names, and columns to group by; the first is an index into the names."""
    table = trace.kernels.take(rows)
    if by == "module":
        names, label = _modules(trace)
        return [*names, ""], (label[rows],)
    names = [*trace.strings, ""]
    if by == "kernel":
        return names, (table.name,)
    # What no operator launched has the names of its kernels.
    operator = operator_names(trace, table)
    name = np.where(operator >= 0, operator, table.name)
    if by == "operator":
        return names, (name, operator)
    return names, (name, operator, lookup(trace.ops.shapes, table.op, NONE))


def _modules(trace: Trace) -> tuple[list[str], I32]:
    """Return the titles of modules (or annotations), and that of each activity or ``NONE``."""
    regions = named_regions.find_regions(trace)
    labels, label = named_regions.region_labels(trace, regions.name, "instance")
    ahead, back = named_regions.kernel_regions(trace, regions)
    return labels, lookup(label, np.where(ahead >= 0, ahead, back).astype(np.int32), NONE)
