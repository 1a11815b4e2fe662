"""Sum each step's time by operator, kernel or module, so that two traces can be compared.

An item is identified by its name and a detail: input shapes, or the kind of device activity.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account import bounds as account_bounds
from tb_privateuse1.analysis.account import table as account_table
from tb_privateuse1.analysis.account.classes import NAMES
from tb_privateuse1.analysis.comparison import significance
from tb_privateuse1.analysis.comparison.significance import Sample
from tb_privateuse1.analysis.operators import named_regions
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.roofs.achieved import Figures as Work
from tb_privateuse1.analysis.roofs.rates import group_figures
from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import call_tree, device_times, intervals, sum_bounds
from tb_privateuse1.trace.columns import containing, lookup, positions
from tb_privateuse1.trace.groupby import counted_operators, group_rows, outermost_calls, sums
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import F64, I32, I64, Bools

By = Literal["operators", "shapes", "kernels", "modules", "annotations"]
Name = tuple[str, str | None]

NOWHERE: dict[By, str] = {
    "operators": "(no parent operator)",
    "shapes": "(no parent operator)",
    "modules": "(outside of modules)",
    "annotations": "(outside of annotations)",
}
"""Name of the device time without an item, so that rows sum to all of it. A code, in all
languages."""


class Items(Struct, frozen=True):
    """Means per step. Device times are those of the launched activities, host times are self times.

    For modules and annotations, both include everything inside.
    """

    names: Sequence[Name]
    parent: I64
    """The enclosing item, ``NONE`` for the outermost."""
    calls: F64
    host: Sample | None
    """None for kernels."""
    device: Sample | None
    """None without a device."""
    bound_ns: F64
    """The error bound of the device time; nan where it is not known."""
    device_ns: float
    """All device time, whatever its distribution."""
    work: Sequence[Work]
    """Work of the activities that the device time is of."""
    all_known: bool
    """Whether all device work has times; else a time of 0 is not known."""


def items_per_step(window: Window, by: By) -> Items:
    """Return the items of a window, per step of those that it compares."""
    trace, at = window.trace, _Places(window)
    if by == "kernels":
        return _kernels(trace, at)
    if by in ("modules", "annotations"):
        return _regions(trace, at, by)
    return _operators(trace, at, by)


class _Places:
    """The index among the compared steps of what is in a window; ``NONE`` for the rest."""

    def __init__(self, window: Window) -> None:
        steps = window.compared_steps
        self.count = len(steps)
        self._window = window
        self._place = positions(steps, int(steps.max(initial=NONE)) + 1).astype(np.int64)

    @functools.cached_property
    def kernels(self) -> I64:
        """Return that of each device activity."""
        return self._of(self._window.trace.kernels.step, self._window.kernels)

    @functools.cached_property
    def ops(self) -> I64:
        """Return that of each operator or annotation."""
        return self._of(self._window.trace.ops.step, self._window.ops)

    def starts(self, start_ns: I64) -> I64:
        """Return that of host ranges that begin then."""
        return self._of(step_of(self._window.trace, start_ns), self._window.starts(start_ns))

    def _of(self, step: I32, inside: Bools) -> I64:
        place = lookup(self._place, np.minimum(step, len(self._place)), NONE)
        return np.where(inside, place, NONE)

    def sample(self, item: I64, place: I64, ns: I64, items: int) -> Sample:
        return significance.sample_row(item, place, ns, items, self.count)

    def mean(self, item: I64, place: I64, values: I64, items: int) -> F64:
        inside = np.where(place >= 0, item, NONE)
        return sums(inside, values, items) / max(self.count, 1)


def _named(names: Sequence[Name]) -> tuple[list[Name], I64]:
    """Return the distinct names and the index of each: different strings may have equal text."""
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return list(number), np.array([number[name] for name in names], np.int64)


def _device(
    trace: Trace, at: _Places, item: I64, items: int, activity: I64 | None = None
) -> tuple[Sample | None, F64]:
    """Return device times and their bounds.

    ``activity`` has the row of each item's activity, by default in order.
    """
    kernels = trace.kernels
    if not len(kernels):
        return None, np.zeros(items)
    row = np.arange(len(kernels)) if activity is None else activity
    place = at.kernels[row]
    inside = np.where(place >= 0, item, NONE)
    bounds, alike = kernels.duration_bound_ns[row], kernels.error_group[row]
    bound = device_times.known_bounds(trace, sum_bounds.sum_bounds(inside, bounds, alike, items))
    ns = (kernels.end_ns - kernels.start_ns)[row]
    return at.sample(item, place, ns, items), np.where(
        bound == MISSING, np.nan, bound / max(at.count, 1)
    )


def _work(
    trace: Trace, at: _Places, item: I64, items: int, parent: I64 | None = None
) -> Sequence[Work]:
    """Return the work of each item, of one with a ``parent`` also for those around."""
    group = np.where(at.kernels >= 0, item, NONE)
    up = None if parent is None else parent.astype(np.int32)
    return group_figures(trace, group, items, up)


def _whole(trace: Trace, at: _Places) -> float:
    kernels = trace.kernels
    inside = at.kernels >= 0
    return float((kernels.end_ns - kernels.start_ns)[inside].sum() / max(at.count, 1))


def _kernels(trace: Trace, at: _Places) -> Items:
    kernels = trace.kernels
    kind = breakdown.activity_kinds(kernels)
    first, member = group_rows(kernels.name, kind)
    texts = [(trace.text(kernels.name[i]), breakdown.KINDS[kind[i]]) for i in first]
    names, number = _named(texts)
    item = number[member] if len(names) else member
    device, bound = _device(trace, at, item, len(names))
    count = at.mean(item, at.kernels, np.ones(len(kernels), np.int64), len(names))
    outermost = np.full(len(names), NONE)
    work = _work(trace, at, item, len(names))
    known = device_times.all_known(trace)
    return Items(names, outermost, count, None, device, bound, _whole(trace, at), work, known)


class OperatorItems(Struct, frozen=True):
    """The operators of a trace by name, and what belongs to each; the last name is of no operator.

    ``of_op`` has the item of each row of ``trace.ops``, ``of_kernel`` of each device activity.
    """

    names: Sequence[Name]
    of_op: I64
    own_ns: I64
    """By row of ``trace.ops``, the self time that counts for it."""
    of_kernel: I64


def operator_items(trace: Trace, by: By = "operators") -> OperatorItems:
    """Return operators as items, by name or also by shapes."""
    ops, kernels = trace.ops, trace.kernels
    call = outermost_calls(ops)
    rows = np.flatnonzero(counted_operators(trace))
    shaped = by == "shapes"
    first, member = group_rows(
        *((ops.name[rows], ops.shapes[rows]) if shaped else (ops.name[rows],))
    )
    texts: list[Name] = [
        (trace.text(ops.name[i]), (trace.text(ops.shapes[i]) or None) if shaped else None)
        for i in rows[first]
    ]
    names, number = _named([*texts, (NOWHERE[by], None)])
    item_of = np.full(len(ops), NONE, np.int64)
    item_of[rows] = number[member]
    launcher = lookup(item_of, lookup(call, kernels.op, NONE), NONE).astype(np.int64)
    launcher = np.where(launcher >= 0, launcher, number[-1])
    return OperatorItems(names, item_of, sums(call, ops.self_ns, len(ops)), launcher)


def _operators(trace: Trace, at: _Places, by: By) -> Items:
    """Return operators as items; host time is that of the operator itself."""
    found = operator_items(trace, by)
    n = len(found.names)
    device, bound = _device(trace, at, found.of_kernel, n)
    place = at.ops
    count = at.mean(found.of_op, place, np.ones(len(place), np.int64), n)
    host = at.sample(found.of_op, place, found.own_ns, n)
    work = _work(trace, at, found.of_kernel, n)
    known, outermost = device_times.all_known(trace), np.full(n, NONE)
    whole = _whole(trace, at)
    return Items(found.names, outermost, count, host, device, bound, whole, work, known)


def _regions(trace: Trace, at: _Places, by: By) -> Items:
    """Return modules as items: host time of their calls, device time of both passes."""
    found = named_regions.find_regions(trace, "modules" if by == "modules" else "annotations")
    labels, label = named_regions.region_labels(trace, found.name, "instance")
    nodes = call_tree.merge_calls(found.parent, label, np.ones(len(label), np.bool_))
    names: list[Name] = []
    for node, up in enumerate(nodes.parent.tolist()):
        name = labels[nodes.name[node]]
        names.append((f"{names[up][0]} / {name}" if up >= 0 else name, None))
    names, number = _named([*names, (NOWHERE[by], None)])
    n = len(names)
    parent = np.full(n, NONE, np.int64)
    inner = np.flatnonzero(nodes.parent >= 0)
    parent[number[inner]] = number[nodes.parent[inner]]
    item = number[nodes.of]
    place = at.starts(found.start_ns)
    count = at.mean(item, place, np.ones(len(item), np.int64), n)
    host = at.sample(item, place, found.end_ns - found.start_ns, n)

    ahead, back = named_regions.kernel_regions(trace, found)
    own = lookup(nodes.of, np.maximum(ahead, back), NONE)
    item = np.where(own >= 0, number[own], number[-1])
    device, bound = _inclusive(trace, at, item.astype(np.int64), parent)
    work = _work(trace, at, item.astype(np.int64), n, parent)
    known = device_times.all_known(trace)
    return Items(names, parent, count, host, device, bound, _whole(trace, at), work, known)


def step_of(trace: Trace, start_ns: I64) -> I32:
    """Return the step whose host range contains each start."""
    steps = trace.steps
    return containing(steps.host_start_ns, steps.host_end_ns, start_ns).astype(np.int32)


def _inclusive(trace: Trace, at: _Places, own: I64, parent: I64) -> tuple[Sample | None, F64]:
    """Count each activity for its item and all enclosing ones."""
    kernels, n = trace.kernels, len(parent)
    if not len(kernels):
        return None, np.zeros(n)
    rows, item = np.arange(len(kernels)), own
    all_rows, all_items = [rows], [item]
    while len(item):
        item = parent[item]
        rows, item = rows[item >= 0], item[item >= 0]
        all_rows.append(rows)
        all_items.append(item)
    return _device(trace, at, np.concatenate(all_items), n, np.concatenate(all_rows))


Figures = dict[str, tuple[Sample, float | None]]
"""By name, the figure of each step and its mean error bound; None if that is not known.

The sample of a figure that is not known is empty."""


def step_parts(window: Window) -> Figures:
    """Return the length of a window's compared steps, and the parts that sum to it."""
    trace, time = window.trace, window.time
    parts = breakdown.step_breakdown(trace)
    length = intervals.covered_length(time, trace.steps.start_ns, trace.steps.end_ns)
    bounds = steps_bounds.part_bounds(trace, parts)
    bounds["step"] = steps_bounds.step_windows(trace).bound(trace.steps)
    known = breakdown.known_parts_within(trace, time)
    return _figures({"step": length, **known}, bounds, window.compared_steps)


def step_classes(trace: Trace, steps: I64, time: intervals.Set) -> Figures:
    """Return the time of each class of the account in these steps; it is 0 for absent ones.

    Only ``time`` counts, as in the account of a window.
    """
    bounds = account_bounds.step_bounds(trace)
    times = account_table.class_times(trace, trace.steps.start_ns, trace.steps.end_ns, time)
    nothing = np.zeros(len(trace.steps), np.int64)
    return _figures({name: times.get(name, nothing) for name in NAMES}, bounds, steps)


def _figures(values: Mapping[str, I64], bounds: Mapping[str, I64], steps: I64) -> Figures:
    known = {name: not (ns[steps] == MISSING).any() for name, ns in values.items()}
    nothing = np.empty(0, np.int64)
    return {
        name: (
            significance.sample_steps(ns[steps] if known[name] else nothing),
            _mean_bound(bounds[name][steps]),
        )
        for name, ns in values.items()
    }


def _mean_bound(bounds_ns: I64) -> float | None:
    if (bounds_ns == MISSING).any():
        return None
    return float(bounds_ns.mean()) if len(bounds_ns) else 0.0
