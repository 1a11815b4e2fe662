"""Build the merged call tree of Python frames, modules, operators and device activities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np

from tb_privateuse1.analysis.comparison import items_per_step
from tb_privateuse1.analysis.flame.ignored import Ignored, ignored_rows
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.analysis.timeline.window import (
    Window,
    activities,
    calls_inside,
    holders,
    with_edges,
)
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import (
    call_tree,
    captured_ranges,
    intervals,
    kernel_context,
    sum_bounds,
)
from tb_privateuse1.trace.groupby import sums, with_descendants
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I8, I32, I64, Bools

Column = TypeVar("Column", I8, I32, I64, Bools)

Levels = Literal["all", "operators", "modules"]
Group = Literal["instance", "class"]
Label = tuple[int, str]
"""Kind, as an index into ``KINDS``, and text."""

KINDS = ("operator", "annotation", "frame", "module", *breakdown.KINDS, "none", "ignored")
"""What a node is; ``none`` holds the device activities that no operator launched, ``ignored`` the
time of ignored ranges that no shown one encloses."""
_OPERATOR, _ANNOTATION, _FRAME, _MODULE, DEVICE = range(5)
NOWHERE, IGNORED = len(KINDS) - 2, len(KINDS) - 1


@dataclass(frozen=True)
class Scope:
    """What the tree is of."""

    on_device: bool
    """By the time of device activities, else by that of ranges of the host."""
    levels: Levels = "all"
    group: Group = "instance"
    ignored: Ignored = field(default_factory=Ignored)
    steps: I64 | None = None
    """Rows of ``trace.steps``; None is all of the recording."""
    window: Window | None = None
    """Only the time inside counts, and all of it as time in steps; None is no window."""


@dataclass(frozen=True)
class Events:
    """The ranges of the host or device activities that the times are of."""

    node: I32
    """``NONE`` for one that is in no node."""
    own_ns: I64
    """Of a range: without the ranges inside."""
    bound_ns: I64
    edge_ns: I64
    """The error at the edges of a window, beside ``bound_ns``."""
    error_group: I32
    step: I32
    """Row of ``trace.steps``, or ``NONE``."""


@dataclass(frozen=True)
class Tree:
    """Merged nodes with their figures; parents come before children."""

    parent: I32
    label: I32
    labels: list[Label]
    calls: I64
    total: I64
    own: I64
    in_steps: I64
    """The part of ``total`` in steps."""
    bound: I64
    """The error bound of ``total``; ``MISSING`` if it is not known."""
    events: Events

    def __len__(self) -> int:
        return len(self.parent)


def build(trace: Trace, scope: Scope) -> Tree:
    """Return the tree of a trace from the outermost callers down."""
    rows, holder = _host_rows(trace, scope)
    if scope.on_device:
        rows = _with_activities(trace, scope, rows, holder)
    labels, label = _labels(trace, rows, scope.group)
    nodes = call_tree.merge_calls(rows.parent, label, rows.shown)
    calls = sums(nodes.of, calls_inside(rows.parent, rows.own_ns, scope.window), len(nodes))
    node = call_tree.take(nodes.of, rows.holder) if scope.ignored else nodes.of
    events = Events(node, rows.own_ns, rows.bound_ns, rows.edge_ns, rows.error_group, rows.step)
    return assemble(nodes.parent, nodes.name, labels, calls, events)


def assemble(parent: I32, label: I32, labels: list[Label], calls: I64, events: Events) -> Tree:
    """Return a tree with the sums of its events at each node."""
    own = sums(events.node, events.own_ns, len(parent))
    in_steps = own
    if (events.step < 0).any():
        in_steps = sums(np.where(events.step >= 0, events.node, NONE), events.own_ns, len(parent))
    bound = sum_bounds.tree_bounds(parent, events.node, events.bound_ns, events.error_group)
    bound = with_edges(bound, parent, events.node, events.edge_ns)
    return Tree(
        parent=parent,
        label=label,
        labels=labels,
        calls=calls,
        total=with_descendants(parent, own),
        own=own,
        in_steps=with_descendants(parent, in_steps),
        bound=bound,
        events=events,
    )


@dataclass(frozen=True)
class _Rows:
    """Ranges and activities before they are merged."""

    parent: I32
    """The shown row around it, or ``NONE``."""
    name: I32
    kind: I8
    shown: Bools
    holder: I32
    """The row whose node has its time: itself or the nearest shown one around."""
    own_ns: I64
    bound_ns: I64
    edge_ns: I64
    error_group: I32
    step: I32


def _host_rows(trace: Trace, scope: Scope) -> tuple[_Rows, I32]:
    """Return operators, annotations and frames, and the innermost row that has the time of each.

    Ignored ranges that no shown one encloses are all one node.
    """
    ops, frames = trace.ops, trace.frames
    start = np.concatenate((ops.start_ns, frames.start_ns))
    kind = _host_kinds(trace)
    name = np.concatenate((ops.name, frames.name))
    # Steps would keep the calls of each apart.
    keep = (
        ~np.isin(kind, _left_out(kind, scope.levels))
        & ~call_tree.starts_with(trace, call_tree.STEP)[name]
    )
    step = items_per_step.step_of(trace, start)
    around = call_tree.parents_of_all(trace)
    inside = keep & _chosen(step, scope.steps) & _near(trace, scope, around, start)
    shown = inside & ~ignored_rows(trace, scope.ignored, name, kind, _FRAME)
    parent = np.where(shown, intervals.nearest(around, shown), NONE).astype(np.int32)
    holder = call_tree.self_or_nearest(around, shown)
    if scope.ignored:
        lone = inside & (holder < 0)
        kind = np.where(lone, np.int8(IGNORED), kind)
        shown = shown | lone
        holder = np.where(holder < 0, call_tree.self_or_nearest(around, lone), holder)
    own = np.zeros(len(start), np.int64)
    if not scope.on_device:
        own = _own_times(trace, around, inside, scope.window)
    none = np.zeros(len(start), np.int64)
    rows = _Rows(
        parent=parent,
        name=name,
        kind=kind,
        shown=shown,
        holder=np.where(inside, holder, NONE).astype(np.int32),
        own_ns=own,
        bound_ns=none,
        edge_ns=none,
        error_group=(none - 1).astype(np.int32),
        step=step if scope.window is None else np.zeros_like(step),
    )
    return rows, holder.astype(np.int32)


def _near(trace: Trace, scope: Scope, around: I32, start: I64) -> Bools:
    """Return which ranges lie in the window, or launched what runs in it; without one all."""
    if scope.window is None:
        return np.ones(len(start), np.bool_)
    if scope.on_device:
        every = np.arange(len(trace.kernels))
        return holders(trace, around, activities(trace.kernels, every, scope.window))
    return scope.window.touches(start, np.concatenate((trace.ops.end_ns, trace.frames.end_ns)))


def _host_kinds(trace: Trace) -> I8:
    called = np.where(trace.ops.kind == OPERATOR, _OPERATOR, _ANNOTATION)
    framed = np.where(call_tree.is_module(trace), _MODULE, _FRAME)
    return np.concatenate((called, framed)).astype(np.int8)


def _own_times(trace: Trace, around: I32, inside: Bools, window: Window | None) -> I64:
    """Return the time of each chosen range without the chosen ranges inside."""
    ops, frames = trace.ops, trace.frames
    start = np.concatenate((ops.start_ns, frames.start_ns))
    end = np.concatenate((ops.end_ns, frames.end_ns))
    thread = np.concatenate((ops.thread, frames.thread))
    end = call_tree.clip_ends(thread, around, start, end)
    length = end - start if window is None else window.overlap(start, end)
    whole = np.where(inside, length, 0)
    above = np.where(inside, intervals.nearest(around, inside), NONE)
    # Siblings never overlap: what is inside is never longer than what is around it.
    own: I64 = whole - sums(above, whole, len(whole))
    return own


def _chosen(step: I32, steps: I64 | None) -> Bools:
    """Return which entries of a column of steps are of the chosen ones."""
    if steps is None:
        return np.ones(len(step), np.bool_)
    chosen: Bools = np.isin(step, steps)
    return chosen


def _left_out(kind: I8, levels: Levels) -> tuple[int, ...]:
    if levels == "modules":
        # As in the modules' view: annotations take their place where there are none.
        others = (_ANNOTATION,) if (kind == _MODULE).any() else ()
        return (_FRAME, _OPERATOR, *others)
    return (_FRAME,) if levels == "operators" else ()


def _with_activities(trace: Trace, scope: Scope, host: _Rows, holder: I32) -> _Rows:
    """Return the rows of the host and behind them ranges of captures and device activities.

    The last row is around the activities from nowhere known.
    """
    shared = np.arange(len(host.parent), dtype=np.int32)
    if len(trace.captures):
        key = (host.name * len(KINDS) + host.kind).astype(np.int32)
        merged = call_tree.merge_calls(host.parent, key, host.shown)
        shared = captured_ranges.first_of_same_path(merged)
    some = np.flatnonzero(_chosen(trace.kernels.step, scope.steps))
    part = activities(trace.kernels, some, scope.window)
    kernels, captures, rows = trace.kernels.take(part.rows), trace.captures, len(holder)
    around = call_tree.take(holder, kernel_context.kernel_parents(trace)[part.rows])
    kind = np.choose(captures.kind, (_OPERATOR, _ANNOTATION, _FRAME))
    kind = np.where(kernel_context.is_captured_module(trace), _MODULE, kind).astype(np.int8)
    wanted = ~np.isin(kind, _left_out(kind, scope.levels))
    wanted &= ~ignored_rows(trace, scope.ignored, captures.name, kind, _FRAME)
    placed = captured_ranges.place_captures(
        captures, wanted, call_tree.take(shared, around), kernels.capture
    )
    m, n = len(placed.node), len(kernels)
    nowhere = rows + m + n
    above = np.where(placed.parent >= 0, placed.parent + rows, placed.holder)
    parent = np.where(placed.of >= 0, placed.of + rows, around)
    lost = bool((parent < 0).any())
    parent = np.where(parent >= 0, parent, nowhere)
    zeros, none = np.zeros(m, np.int64), np.full(m, NONE)
    activity = breakdown.activity_kinds(kernels) + DEVICE
    step = kernels.step if scope.window is None else np.zeros_like(kernels.step)

    def behind(column: Column, *more: Any) -> Column:
        return np.concatenate((column, *more)).astype(column.dtype)

    return _Rows(
        parent=behind(host.parent, above, parent, [NONE]),
        name=behind(host.name, captures.name[placed.node], kernels.name, [0]),
        kind=behind(host.kind, kind[placed.node], activity, [NOWHERE]),
        shown=behind(host.shown, np.ones(m + n, np.bool_), [lost]),
        holder=behind(host.holder, np.arange(rows, nowhere), [NONE]),
        own_ns=behind(host.own_ns, zeros, part.ns, [0]),
        bound_ns=behind(host.bound_ns, zeros, part.bound_ns, [0]),
        edge_ns=behind(host.edge_ns, zeros, part.edge_ns, [0]),
        error_group=behind(host.error_group, none, part.error_group, [NONE]),
        step=behind(host.step, none, step, [NONE]),
    )


def _labels(trace: Trace, rows: _Rows, group: Group) -> tuple[list[Label], I32]:
    """Return kind and text of each label, and the label of each row."""
    key = rows.name.astype(np.int64) * len(KINDS) + rows.kind
    found, code = call_tree.number_keys(key[rows.shown])
    number: dict[Label, int] = {}
    of = [number.setdefault(_label(trace, int(k), group), len(number)) for k in found]
    label = np.zeros(len(key), np.int32)
    label[rows.shown] = np.array(of, np.int32)[code]
    return list(number), label


def _label(trace: Trace, key: int, group: Group) -> Label:
    kind = key % len(KINDS)
    if kind == NOWHERE:
        return kind, say("no parent operator")
    if kind == IGNORED:
        return kind, say("ignored")
    text = trace.text(key // len(KINDS))
    if kind == _MODULE:
        text = text.removeprefix(call_tree.MODULE)
        text = call_tree.class_of(text) if group == "class" else text
    return kind, text
