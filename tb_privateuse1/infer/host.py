"""The host's side of a trace: operators, frames and launches, nested per thread."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from tb_privateuse1 import intervals
from tb_privateuse1.infer.base import rows_of
from tb_privateuse1.read.base import Group, Raw, Sidecar
from tb_privateuse1.trace import (
    ANNOTATION,
    I32,
    I64,
    MISSING,
    NONE,
    OPERATOR,
    Bools,
    Frames,
    Launches,
    Memory,
    Ops,
)
from tb_privateuse1.vendors.base import Vendor

_OPERATORS = frozenset({"cpu_op", "operator"})
_ANNOTATIONS = frozenset({"user_annotation"})
_FRAMES = frozenset({"python_function"})

_UNCOUNTED = frozenset(
    {
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "aten::is_leaf",
        "aten::output_nr",
        "aten::_version",
    }
)
"""Operators that torch leaves out of every table (torch/autograd/profiler_util.py,
``_filter_name``), so that our figures equal ``prof.key_averages()``."""


@dataclass(frozen=True)
class Host:
    """The tables of the host's side; ``step`` columns are filled later."""

    ops: Ops
    frames: Frames
    launches: Launches
    memory: Memory


def build(raw: Raw, sidecar: Sidecar | None, vendor: Vendor) -> Host:
    """Operators, annotations, frames, launches and memory events with their nesting."""
    uncounted = [i for i, text in enumerate(raw.strings) if text in _UNCOUNTED]
    operators = _of(raw, _OPERATORS)
    operators = operators.take(~np.isin(operators.name, uncounted))
    annotations = _of(raw, _ANNOTATIONS)
    launched = {c.lower() for c in raw.groups if vendor.launch_categories.search(c.lower())}
    parts = [operators, annotations, _of(raw, _FRAMES), _of(raw, frozenset(launched))]
    sizes = [len(p) for p in parts]
    kinds = np.repeat(np.arange(4), sizes)
    ranges = Group.join(parts)
    order = np.lexsort((-ranges.end_ns, ranges.start_ns, ranges.thread))
    ranges, kinds = ranges.take(order), kinds[order]

    parent = intervals.nest(ranges.thread, ranges.start_ns, ranges.end_ns)
    duration = ranges.end_ns - ranges.start_ns
    inside = np.zeros(len(ranges), np.int64)
    np.add.at(inside, parent[parent >= 0], duration[parent >= 0])
    self_ns = np.maximum(duration - inside, 0)

    is_op, is_frame, is_launch = kinds <= 1, kinds == 2, kinds == 3
    op_row, frame_row = _numbered(is_op), _numbered(is_frame)
    ops = _ops(ranges.take(is_op), kinds[is_op], sidecar)
    ops = _with(
        ops,
        self_ns=self_ns[is_op],
        parent=_climb(parent, is_op, op_row)[is_op],
        frame=_climb(parent, is_frame, frame_row)[is_op],
        single=_single(parent, ranges.name)[is_op],
    )
    frames = ranges.take(is_frame)
    calls = ranges.take(is_launch)
    # Only operators launch: an annotation around the call says nothing about who made it.
    operator_row = np.where(kinds == OPERATOR, op_row, NONE)
    return Host(
        ops,
        Frames(
            name=frames.name,
            start_ns=frames.start_ns,
            end_ns=frames.end_ns,
            self_ns=self_ns[is_frame],
            thread=frames.thread,
            parent=_climb(parent, is_frame, frame_row)[is_frame],
            python_id=frames.id("python_id"),
            module_id=frames.id("module_id"),
            event=frames.event,
        ),
        Launches(
            name=calls.name,
            start_ns=calls.start_ns,
            end_ns=calls.end_ns,
            thread=calls.thread,
            correlation=calls.id("correlation"),
            op=_launcher(parent, kinds, operator_row, calls, ops, is_launch),
            event=calls.event,
        ),
        _memory(raw, ops),
    )


def _launcher(
    parent: I32, kinds: I64, operator_row: I32, calls: Group, ops: Ops, is_launch: Bools
) -> I32:
    """The innermost operator around each launch; by External id where none encloses it."""
    enclosing = _climb(parent, kinds == OPERATOR, operator_row)[is_launch]
    by_id = rows_of(ops.external_id, calls.id("external_id"))
    return np.where(enclosing >= 0, enclosing, by_id).astype(np.int32)


def _ops(ranges: Group, kinds: I64, sidecar: Sidecar | None) -> Ops:
    n = len(ranges)
    external_id = ranges.id("external_id")
    elapsed = np.full(n, MISSING, np.int64)
    if sidecar is not None:
        row = rows_of(sidecar.external_id, external_id)
        elapsed[row >= 0] = sidecar.elapsed_ns[row[row >= 0]]
    none = np.full(n, NONE, np.int32)
    return Ops(
        name=ranges.name,
        kind=np.where(kinds == OPERATOR, OPERATOR, ANNOTATION).astype(np.int8),
        start_ns=ranges.start_ns,
        end_ns=ranges.end_ns,
        self_ns=np.zeros(n, np.int64),
        elapsed_ns=elapsed,
        thread=ranges.thread,
        external_id=external_id,
        parent=none,
        frame=none.copy(),
        step=none.copy(),
        shapes=ranges.text("shapes"),
        dtypes=ranges.text("dtypes"),
        stack=ranges.text("stack"),
        sequence=ranges.id("sequence"),
        forward_thread=ranges.id("forward_thread"),
        single=np.zeros(n, np.bool_),
        event=ranges.event,
    )


def _with(ops: Ops, **columns: I32 | I64 | Bools) -> Ops:
    return Ops(**(dict(ops.columns()) | columns))


def _memory(raw: Raw, ops: Ops) -> Memory:
    order = np.argsort(raw.memory.start_ns, kind="stable")
    instants = raw.memory.take(order)
    is_operator = np.flatnonzero(ops.kind == OPERATOR).astype(np.int32)
    inner = intervals.innermost(
        ops.thread[is_operator],
        ops.start_ns[is_operator],
        ops.end_ns[is_operator],
        instants.thread,
        instants.start_ns,
    )
    row = np.where(inner >= 0, is_operator[inner], NONE) if len(is_operator) else inner
    gap = int(MISSING)
    return Memory(
        ts_ns=instants.start_ns,
        thread=instants.thread,
        op=row.astype(np.int32),
        device_type=instants.id("device_type", gap),
        device=instants.id("device_id", gap),
        address=instants.id("address", gap),
        bytes=instants.id("memory_bytes", gap),
        allocated_bytes=instants.id("allocated_bytes", gap),
        reserved_bytes=instants.id("reserved_bytes", gap),
        event=instants.event,
    )


def _climb(parent: I32, wanted: Bools, number: I32) -> I32:
    """The number of the nearest ancestor that is wanted, for every range."""
    at = intervals.nearest(parent, wanted)
    return np.where(at >= 0, number[at], NONE).astype(np.int32)


def _numbered(mask: Bools) -> I32:
    return (np.cumsum(mask) - 1).astype(np.int32)


def _single(parent: I32, name: I32) -> Bools:
    """Ranges that are the only one inside a parent of their own name."""
    children = np.bincount(parent[parent >= 0], minlength=len(parent))
    up = np.maximum(parent, 0)
    alone: Bools = (parent >= 0) & (children[up] == 1) & (name[up] == name)
    return alone


def _of(raw: Raw, categories: frozenset[str]) -> Group:
    return Group.join([g for c, g in raw.groups.items() if c.lower() in categories])


def shift(host: Host, start: int) -> Host:
    """The same tables with times counted from ``start``."""

    def ranges(table: Any) -> Any:
        return dataclasses.replace(
            table, start_ns=table.start_ns - start, end_ns=table.end_ns - start
        )

    memory = dataclasses.replace(host.memory, ts_ns=host.memory.ts_ns - start)
    return Host(ranges(host.ops), ranges(host.frames), ranges(host.launches), memory)
