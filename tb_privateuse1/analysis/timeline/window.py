"""Cut activities and host ranges to a window of time, with the error bound of what lies inside."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace import call_tree, groupby, kernel_context, sum_bounds, uncertainty
from tb_privateuse1.trace.groupby import without_children
from tb_privateuse1.trace.model import MISSING, Kernels, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

_FARTHEST_NS = 1 << 61
"""Windows are computed with in int64."""


class Window(Struct, frozen=True):
    """The times in [start_ns, stop_ns)."""

    start_ns: int
    stop_ns: int

    def overlap(self, start_ns: I64, end_ns: I64) -> I64:
        """Return how much of each range lies inside; 0 for the others."""
        inside = np.minimum(end_ns, self.stop_ns) - np.maximum(start_ns, self.start_ns)
        found: I64 = np.maximum(inside, 0)
        return found

    def touches(self, start_ns: I64, end_ns: I64) -> Bools:
        """Return which ranges have a part inside; empty ranges have one if they lie inside."""
        found: Bools = (start_ns < self.stop_ns) & (
            (end_ns > self.start_ns) | ((end_ns == start_ns) & (start_ns >= self.start_ns))
        )
        return found


def recording_end(trace: Trace) -> int:
    """Return the end of all ranges; without any, that of memory events and counters."""
    if trace.end_ns:
        return trace.end_ns
    instants = (trace.memory.ts_ns, trace.counter_samples.ts_ns)
    return max(int(at_ns.max(initial=0)) for at_ns in instants)


def window_of(trace: Trace, start_ns: int, stop_ns: int | None) -> Window:
    """Return a window, without one's end up to that of the recording; empty if it ends early."""
    stop = recording_end(trace) if stop_ns is None else stop_ns
    start = min(max(start_ns, -_FARTHEST_NS), _FARTHEST_NS)
    return Window(start, min(max(start, stop), _FARTHEST_NS))


class Activities(Struct, frozen=True):
    """Device activities that lie inside, or that may lie inside within their bounds."""

    rows: I64
    """Of ``trace.kernels``, by start."""
    shown: Bools
    """Whether any part is inside as shown."""
    ns: I64
    bound_ns: I64
    """How far off ``ns`` may be for what surely lies inside as a whole; 0 for the others, and
    ``MISSING`` if it is not known."""
    edge_ns: I64
    """The same for the others, at the edges of the window."""
    error_group: I32


def activities(kernels: Kernels, rows: I64, window: Window | None) -> Activities:
    """Return the part of these rows in the window; without one their whole durations."""
    some = kernels.take(rows)
    if window is None:
        every, none = np.ones(len(rows), np.bool_), np.zeros(len(rows), np.int64)
        length = some.end_ns - some.start_ns
        return Activities(rows, every, length, some.duration_bound_ns, none, some.error_group)
    start, stop = window.start_ns, window.stop_ns
    least, most = uncertainty.length_inside(some, start, stop)
    near = np.flatnonzero((most > 0) | window.touches(some.start_ns, some.end_ns))
    some, least, most, rows = some.take(near), least[near], most[near], rows[near]
    known = uncertainty.limited(some)
    early = np.where(known, some.start_bound_ns, 0)
    late = early + np.where(known, some.duration_bound_ns, 0)
    whole = (some.start_ns - early >= start) & (some.end_ns + late <= stop)
    shown = window.overlap(some.start_ns, some.end_ns)
    edge = np.where(known & ~whole, np.maximum(shown - least, most - shown), 0)
    sure = np.where(whole, some.duration_bound_ns, 0)
    return Activities(
        rows,
        window.touches(some.start_ns, some.end_ns),
        shown,
        np.where(known, sure, MISSING),
        edge,
        some.error_group,
    )


def tree_bounds(parent: I32, node: I32 | I64, part: Activities) -> I64:
    """Return by node of a tree the bound of the time inside of its activities and of those below.

    ``node`` is each activity's.
    """
    bound = sum_bounds.tree_bounds(parent, node, part.bound_ns, part.error_group)
    return with_edges(bound, parent, node, part.edge_ns)


def with_edges(bound_ns: I64, parent: I32, node: I32 | I64, edge_ns: I64) -> I64:
    """Return the bounds of a tree's nodes with the errors at the edges of a window.

    These may all have one direction. ``node`` is that of each of ``edge_ns``.
    """
    edges = groupby.with_descendants(parent, groupby.sums(node, edge_ns, len(parent)))
    return np.where(bound_ns == MISSING, MISSING, bound_ns + edges)


def holders(trace: Trace, around: I32, part: Activities) -> Bools:
    """Return which ranges launched some of these activities, themselves or inside them.

    Ranges are all of ``trace.ops``, then all of ``trace.frames``; ``around`` is each one's parent.
    """
    parents = kernel_context.kernel_parents(trace)[part.rows]
    held = groupby.sums(parents, np.ones(len(parents), np.int64), len(around))
    found: Bools = groupby.with_descendants(around, held) > 0
    return found


def calls_inside(parent: I32, ns: I64, window: Window | None) -> I64:
    """Return 1 for each row of a tree that is a call: in a window, if it or one below has time."""
    if window is None:
        return np.ones(len(ns), np.int64)
    return (groupby.with_descendants(parent, ns) > 0).astype(np.int64)


def host_self_ns(trace: Trace, window: Window) -> I64:
    """Return each operator's own time inside: its part less the parts of the operators in it.

    Annotations are operators here. Where two ranges of a thread cross, the later one ends the
    earlier, so the own times of a thread sum to the time that its operators cover.
    """
    ops = trace.ops
    end = call_tree.clip_ends(ops.thread, ops.parent, ops.start_ns, ops.end_ns)
    inside = window.overlap(ops.start_ns, end)
    return without_children(ops.parent, inside)
