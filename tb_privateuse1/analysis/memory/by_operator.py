"""Attribute memory events to operators, shapes and Python frames.

As in ``allocations``, the events are those of one device in order of time.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.memory.allocations import (
    EARLIER,
    FATES,
    UNKNOWN,
    AllocationLevel,
    Blocks,
    Fate,
)
from tb_privateuse1.analysis.memory.categories import CATEGORIES, Category
from tb_privateuse1.analysis.operators import groups as operators_groups
from tb_privateuse1.trace.columns import lookup, zero_if_missing
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import MISSING, NONE, OPERATOR, Memory, Trace
from tb_privateuse1.trace.table import I8, I32, I64

_ALLOCATORS = ("aten::empty", "aten::new_empty", "aten::resize_")
"""Prefixes of operators that only allocate for the enclosing one."""

Source = Literal["operator", "earlier", "unexplained"]
"""``operator``: allocated in the recording; ``earlier``: before it; ``unexplained``: the rest,
negative if releases were not reported."""


class AliveRow(Struct, frozen=True):
    """Blocks that are alive at a peak; the rows sum to the peak."""

    source: Source
    operator: str | None
    """The innermost operator that does more than allocate; null outside of all."""
    input_shapes: str | None
    allocations: int | None
    bytes: int
    share: float
    """Of the peak."""


class Allocation(Struct, frozen=True):
    """A block of memory. A time outside of the recording is null; ``fate`` has the reason."""

    operator: str | None
    """The innermost operator that does more than allocate."""
    allocator: str | None
    """The innermost operator, if it is another one."""
    input_shapes: str | None
    bytes: int
    allocated_ns: int | None
    freed_ns: int | None
    lifetime_ns: int | None
    fate: Fate
    category: Category
    """Its purpose, by the rules of docs/reference/definitions.md."""
    stack: str | None
    """Python frames, innermost first, separated by ``;``."""


class MemoryOperator(Struct, frozen=True):
    """The memory events inside an operator. ``self`` figures exclude inner operators."""

    operator: str | None
    """Null outside of all operators, where most releases are."""
    calls: int | None
    allocations: int
    self_allocations: int
    allocated_bytes: int
    self_allocated_bytes: int
    increase_bytes: int
    """Allocated less released."""
    self_increase_bytes: int


def live_blocks(
    trace: Trace, events: Memory, level: AllocationLevel, blocks: Blocks, peak: int
) -> list[AliveRow]:
    """Return the blocks alive at entry ``peak`` of ``level`` by operator, most bytes first."""
    whole = int(level.allocated[peak])
    found, earlier, rest = alive_at(level, blocks, peak)
    owner = owning_operators(trace, events.op[found.allocation])
    keys = np.stack((lookup(trace.ops.name, owner, NONE), lookup(trace.ops.shapes, owner, NONE)))
    groups, member = np.unique(keys, axis=1, return_inverse=True)
    size, count = sums(member, found.bytes, len(groups.T)), np.bincount(member)

    def share(size: int) -> float:
        return size / whole if whole else 0.0

    rows = [
        AliveRow("operator", _text(trace, name), _text(trace, shapes), n, b, share(b))
        for (name, shapes), n, b in zip(groups.T, count.tolist(), size.tolist(), strict=True)
    ]
    if earlier:
        rows.append(AliveRow("earlier", None, None, None, earlier, share(earlier)))
    if rest:
        rows.append(AliveRow("unexplained", None, None, None, rest, share(rest)))
    return sorted(rows, key=lambda r: -r.bytes)


def alive_at(level: AllocationLevel, blocks: Blocks, peak: int) -> tuple[Blocks, int, int]:
    """Return the blocks alive at entry ``peak``, and bytes from earlier and without explanation."""
    row = level.rows[peak]
    alive = (blocks.allocation >= 0) & (blocks.allocation <= row) & (blocks.gone > row)
    found = blocks.take(alive & (blocks.fate != UNKNOWN))
    freed = blocks.bytes[(blocks.fate == EARLIER) & (blocks.release <= row)]
    earlier = max(level.before - int(freed.sum()), 0)
    return found, earlier, int(level.allocated[peak]) - int(found.bytes.sum()) - earlier


def allocation_rows(trace: Trace, events: Memory, blocks: Blocks, category: I8) -> list[Allocation]:
    """Return the blocks as rows for people, in their order."""
    at, freed = blocks.allocation, blocks.release
    op = lookup(events.op, at, NONE)
    owner = owning_operators(trace, op)
    allocated_ns, freed_ns = (lookup(events.ts_ns, row, MISSING) for row in (at, freed))
    lifetime = np.where((at >= 0) & (freed >= 0), freed_ns - allocated_ns, MISSING)
    name, shapes = lookup(trace.ops.name, owner, NONE), lookup(trace.ops.shapes, owner, NONE)
    inner = np.where(owner == op, NONE, lookup(trace.ops.name, op, NONE))
    stacks = {int(one): operators_groups.python_stack(trace, int(one)) for one in np.unique(owner)}
    recorded = lookup(events.stack, at, NONE)
    return [
        Allocation(
            operator=_text(trace, name[i]),
            allocator=_text(trace, inner[i]),
            input_shapes=_text(trace, shapes[i]),
            bytes=int(blocks.bytes[i]),
            allocated_ns=_none_if_missing(allocated_ns[i]),
            freed_ns=_none_if_missing(freed_ns[i]),
            lifetime_ns=_none_if_missing(lifetime[i]),
            fate=FATES[blocks.fate[i]],
            category=CATEGORIES[category[i]],
            stack=_text(trace, recorded[i]) or stacks[int(owner[i])],
        )
        for i in range(len(blocks))
    ]


def memory_operators(
    trace: Trace, events: Memory, start_ns: int, end_ns: int
) -> list[MemoryOperator]:
    """Return a row per operator with memory events, most self allocated first.

    Figures of an operator include inner operators, ``self`` figures do not. Calls are those that
    begin in [start, end).
    """
    ops, size, outside = trace.ops, zero_if_missing(events.bytes), len(trace.strings)
    figures = np.stack(((size > 0).astype(np.int64), np.maximum(size, 0), size))
    call = events.op.astype(np.int64)
    while (inner := (call >= 0) & lookup(ops.single, call, False)).any():
        call[inner] = ops.parent[call[inner]]
    # A column per string; ``NONE`` reads the last one, for events outside of all operators.
    own = np.zeros((3, outside + 1), np.int64)
    for i in range(3):
        np.add.at(own[i], lookup(ops.name, call, NONE), figures[i])
    total = np.zeros_like(own)
    total[:, outside] = own[:, outside]
    at, left = call, np.arange(len(call))
    while (above := at >= 0).any():
        at, left = at[above], left[above]
        counts = (ops.kind[at] == OPERATOR) & ~ops.single[at]
        for i in range(3):
            np.add.at(total[i], ops.name[at[counts]], figures[i, left[counts]])
        at = ops.parent[at].astype(np.int64)
    began = (ops.start_ns >= start_ns) & (ops.start_ns < end_ns) & (ops.kind == OPERATOR)
    calls = np.bincount(ops.name[began & ~ops.single], minlength=outside + 1)
    some = np.flatnonzero(total.any(axis=0) | own.any(axis=0))
    some = some[np.lexsort((-total[1, some], -own[1, some]))]
    return [
        MemoryOperator(
            operator=None if i == outside else trace.strings[i],
            calls=None if i == outside else int(calls[i]),
            allocations=int(total[0, i]),
            self_allocations=int(own[0, i]),
            allocated_bytes=int(total[1, i]),
            self_allocated_bytes=int(own[1, i]),
            increase_bytes=int(total[2, i]),
            self_increase_bytes=int(own[2, i]),
        )
        for i in some
    ]


def owning_operators(trace: Trace, op: I32 | I64) -> I64:
    """Return the operator that each allocation was for: the innermost that does more than allocate.

    ``op`` are rows of ``trace.ops`` or ``NONE``. If all enclosing operators only allocate, it is
    the innermost one.
    """
    ops = trace.ops
    owner = op.astype(np.int64)
    if not len(ops):
        return owner
    names = [i for i in np.unique(ops.name) if trace.text(i).startswith(_ALLOCATORS)]
    allocates = np.isin(ops.name, names)
    moving = np.flatnonzero((owner >= 0) & allocates[owner])
    at = owner[moving]
    while len(moving):
        at = ops.parent[at].astype(np.int64)
        found = (at >= 0) & (ops.kind[at] == OPERATOR) & ~allocates[at]
        owner[moving[found]] = at[found]
        on = (at >= 0) & ~found
        moving, at = moving[on], at[on]
    return owner


def _text(trace: Trace, string: Any) -> str | None:
    return trace.text(string) or None


def _none_if_missing(value: Any) -> int | None:
    return None if value == MISSING else int(value)
