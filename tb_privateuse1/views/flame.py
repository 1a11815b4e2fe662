"""Flame graph: the merged call tree of Python frames, modules, operators and device activities."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.flame import inverted
from tb_privateuse1.analysis.flame.ignored import Ignored, parse_patterns
from tb_privateuse1.analysis.flame.tree import DEVICE, KINDS, NOWHERE, Group, Levels, Scope, build
from tb_privateuse1.analysis.flame.tree import Tree as CallTree
from tb_privateuse1.analysis.kernel_names import name_fields
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.timeline import window as windows
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import call_tree, device_times, intervals, uncertainty
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import StepOption, WindowOption, chosen_window

By = Literal["best", "device", "host"]
Direction = Literal["top_down", "bottom_up"]

ByOption = Annotated[By, "best is device time where there is any, else host time"]
LevelsOption = Annotated[Levels, "operators: no Python frames; modules: no operators either"]
GroupOption = Annotated[Group, "class merges the modules of one class"]
LibrariesOption = Annotated[bool, "true: no Python frames of torch, of packages and of Python"]
IgnoreOption = Annotated[str | None, "no ranges with these parts of names, with ; and * for any"]


class FlameNode(Struct, frozen=True):
    """All ranges with the same names from the root down."""

    name: str
    full_name: str | None
    """Of a kernel: as its compiler wrote it; null if that is ``name``."""
    kind: str
    """``module``, ``frame``, ``operator``, ``annotation``, a kind of device activity, ``none``:
    what no operator launched, or ``ignored``: what no shown range encloses."""
    parent: int | None
    """The row around it; null for the outermost. Turned: the row that it calls."""
    calls: int
    total_ns: int
    self_ns: int
    """Without the nodes inside."""
    window_share: float | None
    """The part of ``total_ns`` in steps, or in the window, as a share of ``window_ns``; of several
    streams or threads more than 1 is possible. Null for steps without a length."""
    bound_ns: int | None
    """How far off ``total_ns`` may be; 0 for measured times."""
    merged: int
    """Nodes directly inside that are too small to be rows."""
    merged_ns: int
    """Their time: ``total_ns`` is that of the rows inside, ``self_ns`` and this."""


class Flame(Result, frozen=True):
    """The result of the view: rows depth first, the most time first among those of one parent."""

    provenance: Provenance
    rows: tuple[FlameNode, ...]
    callers: tuple[FlameNode, ...]
    """With ``frame``: the same time by what calls it; ``rows`` have what it calls."""
    by: Literal["device", "host"]
    window_ns: int
    """The steps' time: the length of their windows, or of the selected one's, or of the window."""
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
    by: ByOption = "best",
    levels: LevelsOption = "all",
    group: GroupOption = "instance",
    direction: Annotated[Direction, "bottom_up: own time outermost, callers inside"] = "top_down",
    frame: Annotated[str | None, "a name: its callers and callees, merged over all places"] = None,
    ignore_libraries: LibrariesOption = False,
    ignore: IgnoreOption = None,
    root: Annotated[str | None, "the first node: names from the outermost on, with ;"] = None,
    limit: Annotated[int, "at most this many rows, the largest first"] = 2000,
    start_ns: Annotated[int | None, "start of a window: only the time inside counts"] = None,
    stop_ns: Annotated[int | None, "end of the window; by default that of the recording"] = None,
    step: StepOption = None,
    window: WindowOption = "steady",
) -> Flame:
    """The call tree by device time (where there is any) or by host time.

    With ``start_ns`` or ``stop_ns``, ranges and activities count with their part inside, on
    whatever step they are. Raises TraceError ``unknown_step``, ``unknown_node`` or ``bad_option``.
    """
    check_limit(limit)
    if frame is not None and (root is not None or direction != "top_down"):
        raise TraceError("bad_option", say("frame goes without root and direction."))
    unit: Literal["device", "host"] = "host"
    if by == "device" or (by == "best" and len(trace.kernels)):
        unit = "device"
    ignored = Ignored(ignore_libraries, parse_patterns(ignore))
    inside = None
    if start_ns is not None or stop_ns is not None:
        inside = windows.window_of(trace, start_ns or 0, stop_ns)
    part = chosen_window(trace, step, window if inside is None or step is not None else "all")
    tree = build(trace, Scope(unit == "device", levels, group, ignored, part, inside))
    path = [] if root is None else call_tree.split_path(root)
    shown = _Shown(trace, unit, limit, part, inside)
    if frame is not None:
        return _sandwich(shown, tree, frame)
    if direction == "bottom_up":
        tree = inverted.bottom_up(tree, path)
    return shown.result(tree, find(tree, path))


def check_limit(limit: int) -> None:
    """Raise TraceError ``bad_option`` for a limit below 1."""
    if limit < 1:
        raise TraceError("bad_option", say("limit must be at least 1, not {limit}.", limit=limit))


def find(tree: CallTree, path: list[str]) -> int:
    """Return the node of a path of names, ``NONE`` of an empty one.

    Raises TraceError ``unknown_node``.
    """
    at = NONE
    for name in path:
        inside = np.flatnonzero(tree.parent == at)
        found = [n for n in inside.tolist() if inverted.of_name(tree.labels[tree.label[n]], name)]
        if not found:
            message = say("There is no {name!r} at this place of the tree.", name=name)
            raise TraceError("unknown_node", message)
        at = max(found, key=lambda n: int(tree.total[n]))
    return at


def largest(size: I64, below: Bools, whole: int, limit: int) -> Bools:
    """Return at most ``limit`` nodes that are large enough to be seen, the largest first.

    With a node the one around it is chosen: it is as large, and stands before it.
    """
    shown = below & (size > 0) & (size >= whole * inverted.LEAST_SHARE)
    first = np.lexsort((np.arange(len(shown)), -size, ~shown))[: int(shown.sum())][:limit]
    return mask_of(first, len(shown))


def ordered(parent: I32, size: I64, chosen: Bools, above: int) -> tuple[list[int], dict[int, int]]:
    """Return chosen nodes depth first, the largest first among siblings; the row of each node.

    ``above`` is the node around the outermost ones.
    """
    nodes = np.flatnonzero(chosen)
    inside: dict[int, list[int]] = {}
    for node in nodes[np.argsort(-size[nodes], kind="stable")].tolist():
        inside.setdefault(int(parent[node]), []).append(node)
    rows: list[int] = []
    stack = inside.get(above, [])[::-1]
    while stack:
        rows.append(node := stack.pop())
        stack += inside.get(node, [])[::-1]
    return rows, {node: i for i, node in enumerate(rows)}


def _sandwich(shown: _Shown, tree: CallTree, name: str) -> Flame:
    """Return callees and callers of a frame. Raises TraceError ``unknown_node``."""
    frame = inverted.outermost(tree, name)
    if not (tree.total[frame] > 0).any():
        message = say("There is no {name!r} with any time in the tree.", name=name)
        raise TraceError("unknown_node", message)
    around = shown.result(inverted.callers(tree, frame), NONE)
    return replace(shown.result(inverted.callees(tree, frame), NONE), callers=around.rows)


class _Shown(Struct, frozen=True):
    """The trace, the time and the limit that rows are made with."""

    trace: Trace
    unit: Literal["device", "host"]
    limit: int
    part: Window
    inside: windows.Window | None
    """A selection on the timeline."""

    @property
    def window_ns(self) -> int:
        """Return the time that shares are of."""
        return self.part.ns if self.inside is None else self.inside.stop_ns - self.inside.start_ns

    def result(self, tree: CallTree, top: int) -> Flame:
        """Return the rows from a node on; of the whole tree for ``NONE``."""
        below = nodes_below(tree.parent, top)
        outer = below & (tree.parent == (NONE if top == NONE else tree.parent[top]))
        whole = int(tree.total[outer].sum())
        chosen = largest(tree.total, below, whole, self.limit)
        above = int(tree.parent[top]) if top >= 0 else NONE
        rows, at = ordered(tree.parent, tree.total, chosen, above)
        inside = tree.in_steps if self.inside is None else tree.total
        small = below & ~chosen & (tree.total > 0)
        holder = np.where(small, tree.parent, NONE)
        merged_ns = sums(holder, tree.total, len(tree))
        merged = sums(holder, small.astype(np.int64), len(tree))
        known = device_times.known_sum(self.trace, whole) if self.unit == "device" else whole
        return Flame(
            provenance=provenance(self.trace, self.part),
            rows=tuple(
                FlameNode(
                    **names(*tree.labels[tree.label[n]]),
                    parent=at.get(int(tree.parent[n])),
                    calls=int(tree.calls[n]),
                    total_ns=int(tree.total[n]),
                    self_ns=int(tree.own[n]),
                    window_share=int(inside[n]) / self.window_ns if self.window_ns else None,
                    bound_ns=self._bound(tree, n),
                    merged=int(merged[n]),
                    merged_ns=int(merged_ns[n]),
                )
                for n in rows
            ),
            callers=(),
            by=self.unit,
            window_ns=self.window_ns,
            total_ns=known,
            nodes=int((below & (tree.total > 0)).sum()),
            merged=int((small & outer).sum()),
            merged_ns=int(tree.total[small & outer].sum()),
            has_frames=len(self.trace.frames) > 0,
            has_modules=bool(call_tree.is_module(self.trace).any()),
        )

    def _bound(self, tree: CallTree, node: int) -> int | None:
        """Return the bound of a node's time; that of the host is exact."""
        bound = uncertainty.known_bound(tree.bound[node])
        return device_times.known_bound(self.trace, bound) if self.unit == "device" else bound


def names(kind: int, text: str) -> dict[str, Any]:
    """Return the fields of a node's names and of its kind."""
    return {**name_fields(text, kernel=DEVICE <= kind < NOWHERE), "kind": KINDS[kind]}


def nodes_below(parent: I32, top: int) -> Bools:
    """Return the node and its descendants; all nodes for ``NONE``."""
    if top == NONE:
        return np.ones(len(parent), np.bool_)
    this = np.arange(len(parent)) == top
    found: Bools = this | (intervals.nearest(parent, this) >= 0)
    return found
