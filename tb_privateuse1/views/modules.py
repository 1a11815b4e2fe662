"""The tree of nn.Modules, or of annotations where no modules were recorded: calls and times."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators import named_regions
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.roofs.achieved import COLUMNS, Figures
from tb_privateuse1.analysis.roofs.operator_rates import operator_figures
from tb_privateuse1.analysis.roofs.rates import ModeledTime, group_figures, modeled_time
from tb_privateuse1.trace import call_tree, device_times, sum_bounds
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import sums, with_descendants
from tb_privateuse1.trace.model import MISSING, NONE, Kernels, Trace
from tb_privateuse1.trace.table import I32, I64, Bools
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import StepOption, WindowOption, chosen_window
from tb_privateuse1.views.sorting import (
    SortOption,
    order_by_number,
    order_by_text,
    order_by_work,
    parse_sort,
    sorts,
)

_SORTS = {
    "name": "",
    "share": "",
    "calls": "calls",
    "host_self_ns": "host_self",
    "host_total_ns": "host_total",
    "device_self_ns": "device_self",
    "device_total_ns": "device_total",
    "backward_host_ns": "back_host",
    "backward_device_ns": "back_device",
    "kernels": "kernels",
}
"""Columns that the rows can be sorted by, and their names among ``_Figures``."""


class ModuleRow(Struct, frozen=True):
    """The calls of one module at one place of the tree. Device times are null without any.

    If a stream is missing, they are lower bounds, and null where the others did nothing.
    """

    path: str
    """The names from the root down, separated by `` / ``."""
    name: str
    parent: int | None
    """The row of the module around it; null at the root."""
    depth: int
    instances: int
    """How many modules the row stands for: more than one if grouped by class."""
    calls: int
    host_self_ns: int
    """Without the modules called from it."""
    host_total_ns: int
    device_self_ns: int | None
    """What operators launched in its forward pass outside the modules called from it."""
    device_total_ns: int | None
    device_bound_ns: int | None
    """How far off ``device_total_ns`` plus ``backward_device_ns`` may be; 0 for measured times."""
    backward_host_ns: int
    """Of the backward pass of its operators, and of those of the modules inside."""
    backward_device_ns: int | None
    kernels: int | None
    """Device activities in forward and backward pass, those of the modules inside too."""
    share: float | None
    """Of all device time in both passes; of all modules' host time without device times."""
    flops: int | None
    """Operations of the activities, or on a host alone of the operators, of both passes, those of
    the modules inside too; null without a model of their work, or shapes."""
    bytes: int | None
    """Bytes that these must read and write."""
    tflop_per_s: float | None
    gb_per_s: float | None
    """By the time of the activities with FLOPs, or with bytes."""
    flops_per_byte: float | None
    """Arithmetic intensity."""
    roof_share: float | None
    """The least time that the device's roofs allow, as a share of the time, 0 to 1."""
    above_roof_ns: int | None
    """The rest of the time: what perfect kernels would save."""


class Modules(Result, frozen=True):
    """The result of the view: rows in the order of the tree, most time first."""

    provenance: Provenance
    rows: tuple[ModuleRow, ...]
    source: named_regions.Source
    """What the rows are: modules, or ranges of ``record_function`` in their place."""
    device_ns: int | None
    """The sum of all device activities: that of the rows and ``outside_device_ns``."""
    outside_device_ns: int | None
    """Activities that belong to no row: the optimizer's, those without an operator, …"""
    stacks: bool
    """Whether Python frames were recorded at all (``with_stack``)."""
    modeled: ModeledTime
    """How much of the device's time has a model of its work."""


@sorts(_SORTS)
def modules(
    trace: Trace,
    *,
    group: Annotated[
        Literal["instance", "class"],
        "what a row is: a module or annotation, or modules of one class at the same place",
    ] = "instance",
    source: Annotated[
        Literal["best", "modules", "annotations"],
        "best is modules where they were recorded, else annotations",
    ] = "best",
    step: StepOption = None,
    window: WindowOption = "steady",
    sort: SortOption = None,
) -> Modules:
    """The module tree with calls, host and device time of the forward and backward pass.

    ``sort`` orders the modules of one parent. Raises TraceError ``unknown_step`` or ``bad_option``.
    """
    sorting = parse_sort(sort, _SORTS)
    time = chosen_window(trace, step, window)
    ranges = named_regions.find_regions(trace, source)
    recorded = np.arange(len(ranges.name)) < ranges.recorded
    chosen = recorded & time.starts(ranges.start_ns)
    by = group if ranges.source == "modules" else "instance"
    labels, label = named_regions.region_labels(trace, ranges.name, by)
    nodes = call_tree.merge_calls(ranges.parent, label, np.ones(len(label), np.bool_))
    return _result(trace, ranges, nodes, labels, chosen, time, sorting)


class _Device(Struct, frozen=True):
    """Sums per node over the device activities of the forward or the backward pass."""

    ns: I64
    kernels: I64


def _result(
    trace: Trace,
    ranges: named_regions.Regions,
    nodes: call_tree.Nodes,
    labels: list[str],
    chosen: Bools,
    time: Window,
    sorting: tuple[str | None, bool],
) -> Modules:
    n = len(nodes)
    duration = ranges.end_ns - ranges.start_ns
    inner = sums(ranges.parent, duration, len(duration))
    of = np.where(chosen, nodes.of, NONE)
    calls = sums(of, np.ones(len(of), np.int64), n)
    total = sums(of, duration, n)
    own = sums(of, np.maximum(duration - inner, 0), n)

    # An operator of the backward pass belongs to the module of its forward operator.
    ops, kernels = trace.ops, trace.kernels.take(time.kernels)
    forward = call_tree.forward_of(trace)
    back_of_op = lookup(lookup(nodes.of, ranges.of_op, NONE), forward, NONE)
    first = (forward >= 0) & (lookup(forward, ops.parent, NONE) < 0) & time.ops
    back_host = sums(np.where(first, back_of_op, NONE), ops.end_ns - ops.start_ns, n)
    some = time.kernels
    regions = named_regions.kernel_regions(trace, ranges)
    ahead, back = (_device(kernels, lookup(nodes.of, region[some], NONE), n) for region in regions)
    node = np.where(some, lookup(nodes.of, np.maximum(*regions), NONE), NONE)

    of_op = np.where(forward >= 0, back_of_op, lookup(nodes.of, ranges.of_op, NONE))
    of_op = np.where(time.ops, of_op, NONE)
    # A module that ran in no chosen step has rows only if something of its backward pass did.
    used = with_descendants(nodes.parent, calls + ahead.kernels + back.kernels + back_host) > 0
    spread = _Figures(
        calls=calls,
        instances=np.maximum(_instances(ranges, of, n), 1),
        host_self=own,
        host_total=total,
        device_self=ahead.ns,
        device_total=with_descendants(nodes.parent, ahead.ns),
        back_host=with_descendants(nodes.parent, back_host),
        back_device=with_descendants(nodes.parent, back.ns),
        kernels=with_descendants(nodes.parent, ahead.kernels + back.kernels),
        bound=_bounds(nodes.parent, node[some], kernels),
        work=_work(trace, node, of_op, nodes),
    )
    whole = int((kernels.end_ns - kernels.start_ns).sum())
    known = device_times.known_sum(trace, whole) if len(trace.kernels) else None
    inside = int(ahead.ns.sum() + back.ns.sum())
    return Modules(
        provenance=provenance(trace, time),
        rows=_rows(trace, nodes, labels, spread, used, known, sorting),
        source=ranges.source if len(ranges.name) else "none",
        device_ns=known,
        outside_device_ns=None if known is None else whole - inside,
        stacks=call_tree.has_functions(trace),
        modeled=modeled_time(trace, some),
    )


def _work(trace: Trace, node: I32, of_op: I32, nodes: call_tree.Nodes) -> list[Figures]:
    """Return the work of each node, by the node of each activity, or on a host alone operator."""
    if device_times.is_on_host_alone(trace):
        return operator_figures(trace, of_op, len(nodes), nodes.parent)
    return group_figures(trace, node.astype(np.int64), len(nodes), nodes.parent)


def _device(kernels: Kernels, node: I32, nodes: int) -> _Device:
    return _Device(
        sums(node, kernels.end_ns - kernels.start_ns, nodes),
        sums(node, np.ones(len(node), np.int64), nodes),
    )


def _bounds(parent: I32, node: I32, kernels: Kernels) -> I64:
    """Return the bound of the device time of each node and those below it."""
    return sum_bounds.tree_bounds(parent, node, kernels.duration_bound_ns, kernels.error_group)


def _instances(ranges: named_regions.Regions, of: I32, nodes: int) -> I64:
    """Return the number of different names of each node's ranges."""
    pairs = np.unique(of.astype(np.int64)[of >= 0] << 32 | ranges.name[of >= 0])
    return np.bincount(pairs >> 32, minlength=nodes).astype(np.int64)


class _Figures(Struct, frozen=True):
    """The figures of each node."""

    calls: I64
    instances: I64
    host_self: I64
    host_total: I64
    device_self: I64
    device_total: I64
    back_host: I64
    back_device: I64
    kernels: I64
    bound: I64
    work: list[Figures]


def _ordered(
    rows: I64,
    nodes: call_tree.Nodes,
    labels: list[str],
    f: _Figures,
    key: str | None,
    descending: bool,
) -> I64:
    """Return nodes in the order of a column; without one as they are, by most time."""
    if key is None or key == "share":
        return rows if descending else rows[::-1]
    if key == "name":
        texts = [labels[name] for name in nodes.name[rows].tolist()]
        return order_by_text(rows, texts, descending=descending)
    if key in COLUMNS:
        work = [f.work[node] for node in rows.tolist()]
        return order_by_work(rows, work, key, descending=descending)
    return order_by_number(rows, getattr(f, _SORTS[key]), descending=descending)


def _known(trace: Trace, value: np.int64) -> int | None:
    """Return a sum over device activities; None if it is not known."""
    return device_times.known_sum(trace, int(value))


def _known_bound(trace: Trace, bound_ns: np.int64) -> int | None:
    known = device_times.all_known(trace) and bound_ns != MISSING
    return int(bound_ns) if known else None


def _share(trace: Trace, weight: int, whole: int) -> float | None:
    """Return the share of all time; None where the device's time is not known."""
    on_device = len(trace.kernels) > 0
    unknown = on_device and device_times.known_sum(trace, weight) is None
    return None if unknown or not whole else weight / whole


def _rows(
    trace: Trace,
    nodes: call_tree.Nodes,
    labels: list[str],
    f: _Figures,
    used: Bools,
    whole: int | None,
    sorting: tuple[str | None, bool],
) -> tuple[ModuleRow, ...]:
    """Return rows depth first, in the order of a column among the modules of one parent."""
    weight = f.device_total + f.back_device if whole is not None else f.host_total
    all_of = whole if whole is not None else int(f.host_total[nodes.parent < 0].sum())
    order = np.lexsort((-f.host_total, -weight))
    below: dict[int, list[int]] = {}
    for node in _ordered(order[used[order]], nodes, labels, f, *sorting).tolist():
        below.setdefault(int(nodes.parent[node]), []).append(node)
    rows: list[ModuleRow] = []
    stack: list[tuple[int, int | None]] = [(node, None) for node in reversed(below.get(NONE, []))]
    while stack:
        node, parent = stack.pop()
        up = None if parent is None else rows[parent]
        name = labels[nodes.name[node]]
        stack += [(child, len(rows)) for child in reversed(below.get(node, []))]
        rows.append(
            ModuleRow(
                path=f"{up.path} / {name}" if up else name,
                name=name,
                parent=parent,
                depth=up.depth + 1 if up else 0,
                instances=int(f.instances[node]),
                calls=int(f.calls[node]),
                host_self_ns=int(f.host_self[node]),
                host_total_ns=int(f.host_total[node]),
                device_self_ns=_known(trace, f.device_self[node]),
                device_total_ns=_known(trace, f.device_total[node]),
                device_bound_ns=_known_bound(trace, f.bound[node]),
                backward_host_ns=int(f.back_host[node]),
                backward_device_ns=_known(trace, f.back_device[node]),
                kernels=_known(trace, f.kernels[node]),
                share=_share(trace, int(weight[node]), all_of),
                **f.work[node].columns(),
            )
        )
    return tuple(rows)
