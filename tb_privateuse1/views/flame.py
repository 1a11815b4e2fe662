"""Flame graph: the merged call tree of Python frames, modules, operators and device activities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from tb_privateuse1.analysis.kernel_names import name_fields
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.analysis.timeline import window as windows
from tb_privateuse1.i18n import all_languages, say
from tb_privateuse1.trace import (
    call_tree,
    captured_ranges,
    device_times,
    intervals,
    kernel_context,
    uncertainty,
)
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I8, I32, I64, Bools
from tb_privateuse1.views.base import (
    Provenance,
    StepOption,
    in_step,
    provenance,
    step_row,
    sums,
    with_descendants,
)
from tb_privateuse1.views.result import Result

By = Literal["best", "device", "host"]
Levels = Literal["all", "operators", "modules"]
Group = Literal["instance", "class"]

KINDS = ("operator", "annotation", "frame", "module", *breakdown.KINDS, "none")
"""What a node is; ``none`` holds the device activities that no operator launched."""
_OPERATOR, _ANNOTATION, _FRAME, _MODULE, _DEVICE = range(5)
_NOWHERE = len(KINDS) - 1

_LEAST_SHARE = 1 / 4000
"""Of the root: less is no pixel of any screen."""


@dataclass(frozen=True)
class FlameNode:
    """All ranges with the same names from the root down."""

    name: str
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
    kind: str
    """``module``, ``frame``, ``operator``, ``annotation``, a kind of device activity, or
    ``none``: what no operator launched."""
    parent: int | None
    """The row around it; null for the outermost."""
    calls: int
    total_ns: int
    self_ns: int
    """Without the nodes inside."""
    bound_ns: int | None
    """How far off ``total_ns`` may be; 0 for measured times."""
    merged: int
    """Nodes directly inside that are too small to be rows."""
    merged_ns: int
    """Their time: ``total_ns`` is that of the rows inside, ``self_ns`` and this."""


@dataclass(frozen=True)
class Flame(Result):
    """The result of the view: rows depth first, the most time first among those of one parent."""

    provenance: Provenance
    rows: tuple[FlameNode, ...]
    by: Literal["device", "host"]
    total_ns: int | None
    """Of the outermost rows and what was merged beside them. Null by device without its times; a
    lower bound if a stream is missing."""
    nodes: int
    """How many nodes there are below the root, shown or not."""
    merged: int
    """Outermost nodes that are too small to be rows."""
    merged_ns: int
    has_frames: bool
    """Whether Python frames were recorded (``with_stack``)."""
    has_modules: bool


def flame(
    trace: Trace,
    *,
    by: Annotated[By, "best is device time where there is any, else host time"] = "best",
    levels: Annotated[Levels, "operators: no Python frames; modules: no operators either"] = "all",
    group: Annotated[Group, "class merges the modules of one class"] = "instance",
    root: Annotated[str | None, "the first node: names from the outermost on, with ;"] = None,
    limit: Annotated[int, "at most this many rows, the largest first"] = 2000,
    start_ns: Annotated[int | None, "start of a window: only the time inside counts"] = None,
    stop_ns: Annotated[int | None, "end of the window; by default that of the recording"] = None,
    step: StepOption = None,
) -> Flame:
    """The call tree by device time (where there is any) or by host time.

    With a window, ranges and activities count with their part inside, on whatever step they are.
    Raises TraceError ``unknown_step``, ``unknown_node`` or ``bad_option``.
    """
    if limit < 1:
        raise TraceError("bad_option", say("limit must be at least 1, not {limit}.", limit=limit))
    row = step_row(trace, step)
    whole = start_ns is None and stop_ns is None
    window = None if whole else windows.window_of(trace, start_ns or 0, stop_ns)
    unit = ("device" if len(trace.kernels) else "host") if by == "best" else by
    tree = _tree(trace, levels, group, row, window, on_device=unit == "device")
    top = NONE if root is None else _find(tree, root)
    return _result(trace, tree, top, limit, unit)


@dataclass(frozen=True)
class _Tree:
    """Merged nodes with their figures; parents come before children."""

    parent: I32
    label: I32
    labels: list[tuple[int, str]]
    """Kind and text."""
    calls: I64
    total: I64
    own: I64
    bound: I64
    """The error bound of ``total``; ``MISSING`` if it is not known."""


@dataclass(frozen=True)
class _Ranges:
    """All operators and annotations of the host, then all Python frames; a row each."""

    start: I64
    end: I64
    thread: I32
    kind: I8
    name: I32
    shown: Bools
    """Whether it may be a node: of a level that is shown, and no step."""


def _ranges(trace: Trace, levels: Levels) -> _Ranges:
    ops, frames = trace.ops, trace.frames
    called = np.where(ops.kind == OPERATOR, _OPERATOR, _ANNOTATION)
    framed = np.where(call_tree.is_module(trace), _MODULE, _FRAME)
    kind = np.concatenate((called, framed)).astype(np.int8)
    name = np.concatenate((ops.name, frames.name))
    # Steps would keep the calls of each apart.
    is_step = call_tree.starts_with(trace, call_tree.STEP)[name]
    return _Ranges(
        np.concatenate((ops.start_ns, frames.start_ns)),
        np.concatenate((ops.end_ns, frames.end_ns)),
        np.concatenate((ops.thread, frames.thread)),
        kind,
        name,
        ~np.isin(kind, _left_out(kind, levels)) & ~is_step,
    )


def _tree(
    trace: Trace,
    levels: Levels,
    group: str,
    row: int | None,
    window: windows.Window | None,
    *,
    on_device: bool,
) -> _Tree:
    ranges = _ranges(trace, levels)
    start, kind, name = ranges.start, ranges.kind, ranges.name
    around = call_tree.parents_of_all(trace)
    inside = ranges.shown & call_tree.started_in(trace, start, row)
    some = np.flatnonzero(in_step(trace.kernels.step, row))
    part = windows.activities(trace.kernels, some[: len(some) if on_device else 0], window)
    if window is not None:
        # Few ranges lie in a window, or launched what runs in it.
        inside &= (
            windows.holders(trace, around, part) if on_device else window.touches(start, ranges.end)
        )
    parent = np.where(inside, intervals.nearest(around, inside), NONE).astype(np.int32)
    value = np.zeros(len(start), np.int64)
    if not on_device:
        end = call_tree.clip_ends(ranges.thread, around, start, ranges.end)
        length = end - start if window is None else window.overlap(start, end)
        value = np.where(inside, length, 0)
    leaves: _Leaves | None = None
    if on_device:
        holder = call_tree.self_or_nearest(around, inside)
        shared = np.arange(len(start), dtype=np.int32)
        if len(trace.captures):
            key = (name * len(KINDS) + kind).astype(np.int32)
            shared = captured_ranges.first_of_same_path(call_tree.merge_calls(parent, key, inside))
        leaves = _leaves(trace, holder, shared, levels, part)
        parent = np.concatenate((parent, leaves.parent))
        name = np.concatenate((name, leaves.name))
        kind = np.concatenate((kind, leaves.kind))
        inside = np.concatenate((inside, leaves.shown))
        value = np.concatenate((value, leaves.value))
    labels, label = _labels(trace, kind, name, inside, group)
    nodes = call_tree.merge_calls(parent, label, inside)
    n = len(nodes)
    summed = sums(nodes.of, value, n)
    if on_device:
        own, total = summed, with_descendants(nodes.parent, summed)
    else:
        own, total = summed - sums(nodes.parent, summed, n), summed
    return _Tree(
        nodes.parent,
        nodes.name,
        labels,
        sums(nodes.of, windows.calls_inside(parent, value, window), n),
        total,
        np.maximum(own, 0),
        np.zeros(n, np.int64) if leaves is None else leaves.bounds(nodes),
    )


def _left_out(kind: I8, levels: Levels) -> tuple[int, ...]:
    if levels == "modules":
        # As in the modules' view: annotations take their place where there are none.
        others = (_ANNOTATION,) if (kind == _MODULE).any() else ()
        return (_FRAME, _OPERATOR, *others)
    return (_FRAME,) if levels == "operators" else ()


@dataclass(frozen=True)
class _Leaves:
    """Ranges of captures, device activities as the innermost rows, and one row around those from
    nowhere known.
    """

    parent: I32
    name: I32
    kind: I8
    shown: Bools
    value: I64
    part: windows.Activities
    first: int
    """The place of the first activity among all rows."""

    def bounds(self, nodes: call_tree.Nodes) -> I64:
        """Return the error bound of each node's time."""
        of = nodes.of[self.first : self.first + len(self.part.rows)]
        return windows.tree_bounds(nodes.parent, of, self.part)


def _leaves(
    trace: Trace,
    holder: I32,
    shared: I32,
    levels: Levels,
    part: windows.Activities,
) -> _Leaves:
    """Return the rows behind the ranges of the recording.

    ``holder`` is the range that shows each range, ``shared`` the first one of its path.
    """
    kernels, captures, rows = trace.kernels.take(part.rows), trace.captures, len(holder)
    around = call_tree.take(holder, kernel_context.kernel_parents(trace)[part.rows])
    kind = np.choose(captures.kind, (_OPERATOR, _ANNOTATION, _FRAME))
    kind = np.where(kernel_context.is_captured_module(trace), _MODULE, kind)
    wanted = ~np.isin(kind, _left_out(kind.astype(np.int8), levels))
    placed = captured_ranges.place_captures(
        captures, wanted, call_tree.take(shared, around), kernels.capture
    )
    m, n = len(placed.node), len(kernels)
    nowhere = rows + m + n
    above = np.where(placed.parent >= 0, placed.parent + rows, placed.holder)
    parent = np.where(placed.of >= 0, placed.of + rows, around)
    lost = bool((parent < 0).any())
    parent = np.where(parent >= 0, parent, nowhere)
    zeros, shown = np.zeros(m, np.int64), np.ones(m + n, np.bool_)
    activity = breakdown.activity_kinds(kernels) + _DEVICE
    return _Leaves(
        np.concatenate((above, parent, [NONE])).astype(np.int32),
        np.concatenate((captures.name[placed.node], kernels.name, [0])).astype(np.int32),
        np.concatenate((kind[placed.node], activity, [_NOWHERE])).astype(np.int8),
        np.append(shown, lost),
        np.concatenate((zeros, part.ns, [0])),
        part,
        rows + m,
    )


def _labels(
    trace: Trace, kind: I8, name: I32, rows: Bools, group: str
) -> tuple[list[tuple[int, str]], I32]:
    """Return kind and text of each label, and the label of each row."""
    key = name.astype(np.int64) * len(KINDS) + kind
    found, code = call_tree.number_keys(key[rows])
    number: dict[tuple[int, str], int] = {}
    of = [number.setdefault(_label(trace, int(k), group), len(number)) for k in found]
    label = np.zeros(len(key), np.int32)
    label[rows] = np.array(of, np.int32)[code]
    return list(number), label


def _label(trace: Trace, key: int, group: str) -> tuple[int, str]:
    kind, text = key % len(KINDS), trace.text(key // len(KINDS))
    if kind == _NOWHERE:
        return kind, say("no parent operator")
    if kind == _MODULE:
        text = text.removeprefix(call_tree.MODULE)
        text = call_tree.class_of(text) if group == "class" else text
    return kind, text


def _named(kind: int, text: str) -> dict[str, Any]:
    """Return the fields of a node's names and of its kind."""
    return {**name_fields(text, kernel=_DEVICE <= kind < _NOWHERE), "kind": KINDS[kind]}


def _find(tree: _Tree, root: str) -> int:
    """Return the node of a path of names. Raises TraceError ``unknown_node``."""
    at = NONE
    for name in call_tree.split_path(root):
        inside = np.flatnonzero(tree.parent == at)
        found = [n for n in inside.tolist() if name in all_languages(tree.labels[tree.label[n]][1])]
        if not found:
            message = say("There is no {name!r} at this place of the tree.", name=name)
            raise TraceError("unknown_node", message)
        at = max(found, key=lambda n: int(tree.total[n]))
    return at


def _result(
    trace: Trace, tree: _Tree, top: int, limit: int, unit: Literal["device", "host"]
) -> Flame:
    below = _below(tree.parent, top)
    outer = below & (tree.parent == (NONE if top == NONE else tree.parent[top]))
    whole = int(tree.total[outer].sum())
    shown = below & (tree.total > 0) & (tree.total >= whole * _LEAST_SHARE)
    # The largest ones; a parent is as large as its children and stands before them.
    largest = np.lexsort((np.arange(len(shown)), -tree.total, ~shown))[: int(shown.sum())][:limit]
    chosen = np.zeros(len(shown), np.bool_)
    chosen[largest] = True
    rows, at = _ordered(tree, chosen, int(tree.parent[top]) if top >= 0 else NONE)
    small = below & ~chosen & (tree.total > 0)
    small_ns = sums(np.where(small, tree.parent, NONE), tree.total, len(shown))
    smalls = sums(np.where(small, tree.parent, NONE), small.astype(np.int64), len(shown))
    return Flame(
        provenance=provenance(trace),
        rows=tuple(
            FlameNode(
                **_named(*tree.labels[tree.label[n]]),
                parent=at.get(int(tree.parent[n])),
                calls=int(tree.calls[n]),
                total_ns=int(tree.total[n]),
                self_ns=int(tree.own[n]),
                bound_ns=_bound(trace, tree, n, unit),
                merged=int(smalls[n]),
                merged_ns=int(small_ns[n]),
            )
            for n in rows
        ),
        by=unit,
        total_ns=device_times.known_sum(trace, whole) if unit == "device" else whole,
        nodes=int((below & (tree.total > 0)).sum()),
        merged=int((small & outer).sum()),
        merged_ns=int(tree.total[small & outer].sum()),
        has_frames=len(trace.frames) > 0,
        has_modules=bool(call_tree.is_module(trace).any()),
    )


def _bound(trace: Trace, tree: _Tree, node: int, unit: Literal["device", "host"]) -> int | None:
    """Return the bound of a node's time; that of the host is exact."""
    bound = uncertainty.known_bound(tree.bound[node])
    return device_times.known_bound(trace, bound) if unit == "device" else bound


def _below(parent: I32, top: int) -> Bools:
    """Return the node and its descendants; all nodes for ``NONE``."""
    if top == NONE:
        return np.ones(len(parent), np.bool_)
    this = np.arange(len(parent)) == top
    found: Bools = this | (intervals.nearest(parent, this) >= 0)
    return found


def _ordered(tree: _Tree, chosen: Bools, above: int) -> tuple[list[int], dict[int, int]]:
    """Chosen nodes depth first, the largest first among siblings; the row of each node."""
    nodes = np.flatnonzero(chosen)
    inside: dict[int, list[int]] = {}
    for node in nodes[np.argsort(-tree.total[nodes], kind="stable")].tolist():
        inside.setdefault(int(tree.parent[node]), []).append(node)
    rows: list[int] = []
    stack = inside.get(above, [])[::-1]
    while stack:
        rows.append(node := stack.pop())
        stack += inside.get(node, [])[::-1]
    return rows, {node: i for i, node in enumerate(rows)}
