"""Build the merged call tree of Python frames, modules, operators and device activities."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import numpy as np
from msgspec import Struct, field

from tb_privateuse1.analysis.comparison import items_per_step
from tb_privateuse1.analysis.flame.ignored import Ignored, ignored_rows
from tb_privateuse1.analysis.recording.window import Window as Part
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.analysis.timeline import window as windows
from tb_privateuse1.analysis.timeline.window import Activities, Window
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import (
    call_tree,
    captured_ranges,
    intervals,
    kernel_context,
)
from tb_privateuse1.trace.columns import lookup
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
_OPERATOR, _ANNOTATION, FRAME, _MODULE, DEVICE = range(5)
NOWHERE, IGNORED = len(KINDS) - 2, len(KINDS) - 1


class Scope(Struct, frozen=True):
    """The part of a trace in a tree, and what its nodes are."""

    on_device: bool
    """By the time of device activities, else by that of ranges of the host."""
    levels: Levels = "all"
    group: Group = "instance"
    ignored: Ignored = field(default_factory=Ignored)
    part: Part | None = None
    """The part of the recording; None is all of it."""
    window: Window | None = None
    """Ranges and activities count with their part inside; None is all of the recording."""


class Events(Struct, frozen=True):
    """The ranges of the host or device activities that the times are of."""

    node: I32
    """``NONE`` for one that is in no node."""
    own_ns: I64
    """Of a range: without the ranges inside."""
    step: I32
    """Row of ``trace.steps``, or ``NONE``."""
    activities: Activities | None
    """With their error bounds; None by host."""
    first: int
    """The row of the first activity."""

    def bounds(self, parent: I32) -> I64:
        """Return the error bound of each node's time; that of the host is exact."""
        if self.activities is None:
            return np.zeros(len(parent), np.int64)
        node = self.node[self.first : self.first + len(self.activities.rows)]
        return windows.tree_bounds(parent, node, self.activities)


class Tree(Struct, frozen=True):
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
    some = np.arange(len(trace.kernels))
    if scope.part is not None:
        some = np.flatnonzero(scope.part.kernels)
    some = some[: len(some) if scope.on_device else 0]
    activities = windows.activities(trace.kernels, some, scope.window)
    rows, holder = _host_rows(trace, scope, activities)
    if scope.on_device:
        rows = _with_activities(trace, scope, activities, rows, holder)
    labels, label = _labels(trace, rows, scope.group)
    nodes = call_tree.merge_calls(rows.parent, label, rows.shown)
    node = lookup(nodes.of, rows.holder, NONE) if scope.ignored else nodes.of
    time = rows.own_ns
    if scope.window is not None:
        time = sums(rows.holder, rows.own_ns, len(rows.holder))
    calls = sums(nodes.of, windows.calls_inside(rows.parent, time, scope.window), len(nodes))
    part = activities if scope.on_device else None
    events = Events(node, rows.own_ns, rows.step, part, rows.first)
    return assemble(nodes.parent, nodes.name, labels, calls, events)


def assemble(parent: I32, label: I32, labels: list[Label], calls: I64, events: Events) -> Tree:
    """Return a tree with the sums of its events at each node."""
    own = sums(events.node, events.own_ns, len(parent))
    in_steps = own
    if (events.step < 0).any():
        in_steps = sums(np.where(events.step >= 0, events.node, NONE), events.own_ns, len(parent))
    return Tree(
        parent=parent,
        label=label,
        labels=labels,
        calls=calls,
        total=with_descendants(parent, own),
        own=own,
        in_steps=with_descendants(parent, in_steps),
        bound=events.bounds(parent),
        events=events,
    )


class _Rows(Struct, frozen=True):
    """Ranges and activities before they are merged."""

    parent: I32
    """The shown row around it, or ``NONE``."""
    name: I32
    kind: I8
    shown: Bools
    holder: I32
    """The row whose node has its time: itself or the nearest shown one around."""
    own_ns: I64
    step: I32
    first: int = 0
    """The row of the first activity."""


def _host_rows(trace: Trace, scope: Scope, activities: Activities) -> tuple[_Rows, I32]:
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
    inside = keep if scope.part is None else keep & scope.part.starts(start)
    around = call_tree.parents_of_all(trace)
    if scope.window is not None:
        # Few ranges lie in a window, or launched what runs in it.
        end = np.concatenate((ops.end_ns, frames.end_ns))
        inside &= (
            windows.holders(trace, around, activities)
            if scope.on_device
            else scope.window.touches(start, end)
        )
    shown = inside & ~ignored_rows(trace, scope.ignored, name, kind, FRAME)
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
    rows = _Rows(
        parent=parent,
        name=name,
        kind=kind,
        shown=shown,
        holder=np.where(inside, holder, NONE).astype(np.int32),
        own_ns=own,
        step=step,
    )
    return rows, holder.astype(np.int32)


def _host_kinds(trace: Trace) -> I8:
    called = np.where(trace.ops.kind == OPERATOR, _OPERATOR, _ANNOTATION)
    framed = np.where(call_tree.is_module(trace), _MODULE, FRAME)
    return np.concatenate((called, framed)).astype(np.int8)


def _own_times(trace: Trace, around: I32, inside: Bools, window: Window | None) -> I64:
    """Return the time of each chosen range without the chosen ranges inside."""
    ops, frames = trace.ops, trace.frames
    start = np.concatenate((ops.start_ns, frames.start_ns))
    end = np.concatenate((ops.end_ns, frames.end_ns))
    thread = np.concatenate((ops.thread, frames.thread))
    end = call_tree.clip_ends(thread, around, start, end)
    whole = np.where(inside, end - start if window is None else window.overlap(start, end), 0)
    above = np.where(inside, intervals.nearest(around, inside), NONE)
    # Siblings never overlap: what is inside is never longer than what is around it.
    own: I64 = whole - sums(above, whole, len(whole))
    return own


def _left_out(kind: I8, levels: Levels) -> tuple[int, ...]:
    if levels == "modules":
        # As in the modules' view: annotations take their place where there are none.
        others = (_ANNOTATION,) if (kind == _MODULE).any() else ()
        return (FRAME, _OPERATOR, *others)
    return (FRAME,) if levels == "operators" else ()


def _with_activities(
    trace: Trace, scope: Scope, part: Activities, host: _Rows, holder: I32
) -> _Rows:
    """Return the rows of the host and behind them ranges of captures and device activities.

    The last row is around the activities from nowhere known.
    """
    shared = np.arange(len(host.parent), dtype=np.int32)
    if len(trace.captures):
        key = (host.name * len(KINDS) + host.kind).astype(np.int32)
        merged = call_tree.merge_calls(host.parent, key, host.shown)
        shared = captured_ranges.first_of_same_path(merged)
    kernels, captures, rows = trace.kernels.take(part.rows), trace.captures, len(holder)
    around = lookup(holder, kernel_context.kernel_parents(trace)[part.rows], NONE)
    kind = np.choose(captures.kind, (_OPERATOR, _ANNOTATION, FRAME))
    kind = np.where(kernel_context.is_captured_module(trace), _MODULE, kind).astype(np.int8)
    wanted = ~np.isin(kind, _left_out(kind, scope.levels))
    wanted &= ~ignored_rows(trace, scope.ignored, captures.name, kind, FRAME)
    placed = captured_ranges.place_captures(
        captures, wanted, lookup(shared, around, NONE), kernels.capture
    )
    m, n = len(placed.node), len(kernels)
    nowhere = rows + m + n
    above = np.where(placed.parent >= 0, placed.parent + rows, placed.holder)
    parent = np.where(placed.of >= 0, placed.of + rows, around)
    lost = bool((parent < 0).any())
    parent = np.where(parent >= 0, parent, nowhere)
    zeros, none = np.zeros(m, np.int64), np.full(m, NONE)
    activity = breakdown.activity_kinds(kernels) + DEVICE

    def behind(column: Column, *more: Any) -> Column:
        return np.concatenate((column, *more)).astype(column.dtype)

    return _Rows(
        parent=behind(host.parent, above, parent, [NONE]),
        name=behind(host.name, captures.name[placed.node], kernels.name, [0]),
        kind=behind(host.kind, kind[placed.node], activity, [NOWHERE]),
        shown=behind(host.shown, np.ones(m + n, np.bool_), [lost]),
        holder=behind(host.holder, np.arange(rows, nowhere), [NONE]),
        own_ns=behind(host.own_ns, zeros, part.ns, [0]),
        step=behind(host.step, none, kernels.step, [NONE]),
        first=rows + m,
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
