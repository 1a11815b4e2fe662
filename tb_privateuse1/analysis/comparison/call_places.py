"""Match the operators of two traces by their place in the call tree.

A place is a path of operators, from the outermost to the one that launches. The *unit* of work is
its deepest place that both traces have; work of one trace alone has the first place that the other
one lacks. So a fused operator inside ``scaled_dot_product_attention`` stands beside the operators
that it replaced.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from tb_privateuse1.analysis.kernel_names import display_name
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.model import KERNEL, NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

ENGINE = "autograd::engine::evaluate_function: "
"""Before the name of a backward function; places have the name without it."""


class PlacedWork(Struct, frozen=True):
    """The work of one trace: device activities, or without a device the outermost operators.

    All columns have one entry per row of ``trace.kernels``, or of ``trace.ops``. Copies,
    communication and inner operators have ``NONE`` in ``place`` and ``unit``.
    """

    place: I64
    unit: I64
    call: I64
    """The call of the unit: a row of ``trace.ops``, or behind these one of ``trace.kernels``."""
    order_ns: I64
    """When that call began."""
    step: I64
    """The row of ``trace.steps``."""


class Places(Struct, frozen=True):
    """The places of two traces; a parent has a smaller number than its children."""

    names: list[str]
    parent: list[int]
    base: PlacedWork
    now: PlacedWork
    on_device: bool
    """Whether the work is that of device activities: one of the traces has some."""

    def path(self, place: int) -> list[str]:
        """Return the names from the outermost operator to this place."""
        found: list[str] = []
        while place >= 0:
            found.append(self.names[place])
            place = self.parent[place]
        return found[::-1]


class _Tree(Struct):
    names: list[str] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    number: dict[tuple[int, str], int] = field(default_factory=dict)

    def add(self, parent: int, name: str) -> int:
        found = self.number.setdefault((parent, name), len(self.names))
        if found == len(self.names):
            self.names.append(name)
            self.parent.append(parent)
        return found


class _Calls(Struct, frozen=True):
    """Where each row of work is: ``parent`` and ``place`` are by row of ``trace.ops``."""

    place: I64
    op: I64
    """The operator of each row of work, ``NONE`` without one."""
    parent: I32
    of_op: I64
    start_ns: I64
    step: I64


def place_work(base: Trace, now: Trace, base_steps: I64, now_steps: I64) -> Places:
    """Return the work of both traces in one tree; steps are rows of each trace's ``steps``."""
    tree = _Tree()
    on_device = bool(len(base.kernels) or len(now.kernels))
    sides = [_calls(trace, tree, on_device) for trace in (base, now)]
    ran = [
        _ran(tree, side, steps) for side, steps in zip(sides, (base_steps, now_steps), strict=True)
    ]
    unit = _units(tree, ran[0] & ran[1])
    old, new = (_work(trace, side, unit) for trace, side in zip((base, now), sides, strict=True))
    return Places(tree.names, tree.parent, old, new, on_device)


def _calls(trace: Trace, tree: _Tree, on_device: bool) -> _Calls:
    counted = groupby.counted_operators(trace)
    counted &= ~call_tree.starts_with(trace, call_tree.STEP)[trace.ops.name]
    parent = intervals.nearest(trace.ops.parent, counted)
    nodes = call_tree.merge_calls(parent, trace.ops.name, counted)
    if not on_device:
        outer = counted & (parent < 0)
        of_op = _numbers(trace, tree, nodes, nodes.of[outer])[nodes.of]
        rows = np.where(outer, np.arange(len(outer)), NONE)
        place = np.where(outer, of_op, NONE)
        return _Calls(place, rows, parent, of_op, trace.ops.start_ns, trace.ops.step.astype(int))
    kernels = trace.kernels
    op = lookup(call_tree.self_or_nearest(trace.ops.parent, counted), kernels.op, NONE)
    work = (kernels.kind == KERNEL) & ~kernels.communication
    of_op = _numbers(trace, tree, nodes, lookup(nodes.of, op, NONE)[work])[nodes.of]
    place = lookup(of_op, op, NONE)
    alone = work & (op < 0)
    place[alone] = _without_operator(trace, tree, np.flatnonzero(alone))
    return _Calls(
        np.where(work, place, NONE), op.astype(np.int64), parent, of_op, kernels.start_ns,
        kernels.step.astype(np.int64),
    )  # fmt: skip


def _numbers(trace: Trace, tree: _Tree, nodes: call_tree.Nodes, used: I32) -> I64:
    """Return the place of each node that is used, or around one; others are ``NONE``."""
    wanted = mask_of(used, len(nodes))
    wanted |= intervals.enclosing(nodes.parent, wanted)
    place = np.full(len(nodes) + 1, NONE, np.int64)
    for node in np.flatnonzero(wanted).tolist():
        name = trace.text(nodes.name[node]).removeprefix(ENGINE)
        place[node] = tree.add(int(place[nodes.parent[node]]), name)
    return place


def _without_operator(trace: Trace, tree: _Tree, rows: I64) -> I64:
    """Return the place of activities without an operator: of a graph's, that of its capture.

    Others are known by their own names.
    """
    captured, kernels = trace.captured_ops, trace.kernels
    nodes = call_tree.merge_calls(captured.parent, captured.name, np.ones(len(captured), np.bool_))
    of_call = _numbers(trace, tree, nodes, nodes.of)[nodes.of]
    place = lookup(of_call, kernels.captured_op[rows], NONE)
    for name, some in groupby.split_by_value(kernels.name[rows]):
        own = some[place[some] < 0]
        if len(own):
            place[own] = tree.add(NONE, display_name(trace.text(name)))
    return place


def _ran(tree: _Tree, calls: _Calls, steps: I64) -> Bools:
    """Return the places with work in the chosen steps, in them or below."""
    there = np.zeros(len(tree.names) + 1, np.bool_)
    there[calls.place[np.isin(calls.step, steps) & (calls.place >= 0)]] = True
    for place in range(len(tree.names) - 1, -1, -1):
        if there[place] and tree.parent[place] >= 0:
            there[tree.parent[place]] = True
    return there[:-1]


def _units(tree: _Tree, shared: Bools) -> I64:
    unit = np.arange(len(tree.names) + 1)
    unit[-1] = NONE
    for place, parent in enumerate(tree.parent):
        if not shared[place] and parent >= 0 and not shared[parent]:
            unit[place] = unit[parent]
    return unit


def _work(trace: Trace, calls: _Calls, unit: I64) -> PlacedWork:
    own = unit[calls.place]
    row = calls.op.copy()
    of_op = np.append(calls.of_op, NONE)  # not copied in each round
    while True:
        inner = np.flatnonzero((row >= 0) & (own >= 0) & (of_op[row] != own))
        if not len(inner):
            break
        row[inner] = calls.parent[row[inner]]
    start = lookup(trace.ops.start_ns, row, 0)
    alone = len(trace.ops) + np.arange(len(row))
    return PlacedWork(
        place=calls.place,
        unit=own,
        call=np.where(row >= 0, row, alone),
        order_ns=np.where(row >= 0, start, calls.start_ns),
        step=calls.step,
    )
