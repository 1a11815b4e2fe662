"""The ranges and operators around calls in windows: captures, and eager runs like a replay."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.captures import CapturedOps, Captures
from tb_privateuse1.trace.columns import lookup, positions
from tb_privateuse1.trace.groupby import group_rows, with_descendants
from tb_privateuse1.trace.model import FRAME, NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64

_INPUTS = ("shapes", "dtypes", "strides", "concrete")


def inside(windows: I64, start_ns: I64) -> I32:
    """Return the window in which each range starts, or ``NONE``."""
    at = np.searchsorted(windows[:, 0], start_ns, side="right") - 1
    return np.where((at >= 0) & (start_ns <= windows[at, 1]), at, NONE).astype(np.int32)


def nodes(trace: Trace, windows: I64, strings: Strings) -> tuple[Captures, I32]:
    """Return the ranges around the calls in windows, merged by path, and the node of each launch.

    Only ranges that begin within a window count: what is around all of it made the capture, and is
    no part of the graph.
    """
    ops, frames, launches = trace.ops, trace.frames, trace.launches
    captured = inside(windows, launches.start_ns) >= 0
    start = np.concatenate((ops.start_ns, frames.start_ns))
    chosen = inside(windows, start) >= 0
    parent = call_tree.parents_of_all(trace)
    inner = call_tree.inner_range(trace, launches.around, launches.frame)
    holder = call_tree.self_or_nearest(parent, chosen)
    leaf = np.where(captured, lookup(holder, inner, NONE), NONE)
    used = np.zeros(len(start), np.int64)
    used[leaf[leaf >= 0]] = 1
    chosen &= with_descendants(parent, used) > 0
    up = np.where(chosen, lookup(holder, parent, NONE), NONE).astype(np.int32)
    name = np.concatenate((ops.name, frames.name))
    kind = np.concatenate((ops.kind, np.full(len(frames), FRAME, np.int8)))
    merged = call_tree.merge_calls(up, (name * (FRAME + 1) + kind).astype(np.int32), chosen)
    label, kinds = np.divmod(merged.name, FRAME + 1)
    ids = np.array([strings.id(trace.text(one)) for one in label], np.int32)
    return Captures(ids, kinds.astype(np.int8), merged.parent), lookup(merged.of, leaf, NONE)


def operators(trace: Trace, windows: I64, strings: Strings) -> tuple[CapturedOps, I32]:
    """Return the operators around the calls in windows, and that of each launch, or ``NONE``."""
    ops, launches = trace.ops, trace.launches
    wanted = (ops.kind == OPERATOR) & (inside(windows, ops.start_ns) >= 0)
    holder = call_tree.self_or_nearest(ops.parent, wanted)
    captured = inside(windows, launches.start_ns) >= 0
    inner = np.where(captured, lookup(holder, launches.op, NONE), NONE)
    used = np.zeros(len(ops), np.int64)
    used[inner[inner >= 0]] = 1
    rows = np.flatnonzero(wanted & (with_descendants(ops.parent, used) > 0))
    place = positions(rows, len(ops))

    def texts(column: I32) -> I32:
        ids, which = np.unique(column[rows], return_inverse=True)
        known = [strings.id(trace.text(one)) if one >= 0 else NONE for one in ids.tolist()]
        return np.array(known, np.int32)[which]

    up = lookup(holder, ops.parent[rows], NONE)
    columns = {name: texts(getattr(ops, name)) for name in ("name", *_INPUTS)}
    table = CapturedOps(**columns, parent=lookup(place, up, NONE))
    return table, lookup(place, inner.astype(np.int32), NONE)


def input_numbers(table: CapturedOps) -> I64:
    """Return a number for the inputs of each operator and of those around it."""
    _, number = group_rows(table.name, *(getattr(table, name) for name in _INPUTS))
    depth = intervals.depths(table.parent)
    for level in range(1, int(depth.max(initial=0)) + 1):
        rows = depth == level
        around = np.where(rows, lookup(number, table.parent, NONE), NONE)
        _, number = group_rows(number, around)
    return number.astype(np.int64)
