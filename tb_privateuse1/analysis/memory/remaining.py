"""Sum memory by function: what is alive at a peak, and what was not released."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.memory import by_module, by_operator
from tb_privateuse1.analysis.memory.allocations import UNKNOWN, AllocationLevel, Blocks
from tb_privateuse1.analysis.memory.by_operator import Source
from tb_privateuse1.analysis.operators import module_of, user_functions
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import group_rows, sums
from tb_privateuse1.trace.model import NONE, Memory, Trace
from tb_privateuse1.trace.renamed import renamed
from tb_privateuse1.trace.table import I32, I64

Label = Callable[[int], str | None]
"""The text of a row, by which rows are grouped."""


class RemainingMemory(Struct, frozen=True):
    """Blocks of one function or class of module that were not released in the part."""

    name: str | None
    """The function of the program, or the class of the innermost module; null without one."""
    operator: str | None
    """The operator with most of these bytes; null outside of operators."""
    allocations: int
    bytes: int
    share: float
    """Of all such bytes."""


class AliveFunction(Struct, frozen=True):
    """Memory that is alive at a peak, by function; the rows sum to the peak."""

    source: Source
    function: str | None
    """The function of the program, of a memory snapshot with the line of the call; null without
    stacks."""
    operator: str | None
    """The operator with most of these bytes; null outside of operators."""
    allocations: int | None
    bytes: int
    share: float
    """Of the peak."""

    line = renamed("line", "function")


def alive_functions(
    trace: Trace, events: Memory, level: AllocationLevel, blocks: Blocks, peak: int
) -> tuple[AliveFunction, ...]:
    """Return what is alive at entry ``peak`` of ``level``, most bytes first.

    ``events`` are those of one device in order of time.
    """
    whole = int(level.allocated[peak])
    found, earlier, rest = by_operator.alive_at(level, blocks, peak)
    operator = allocating_operators(trace, events.op[found.allocation])
    label, *columns = allocating_functions(trace, events, found.allocation)
    rows = [
        AliveFunction("operator", one.name, one.operator, one.allocations, one.bytes, 0.0)
        for one in _rows(trace, operator, found.bytes, label, *columns)
    ]
    others: tuple[tuple[Source, int], ...] = (("earlier", earlier), ("unexplained", rest))
    rows += [AliveFunction(source, None, None, None, size, 0.0) for source, size in others if size]
    shared = (replace(row, share=row.bytes / whole if whole else 0.0) for row in rows)
    return tuple(sorted(shared, key=lambda row: -row.bytes))


def remaining_memory(
    trace: Trace, events: Memory, blocks: Blocks, start_ns: int, end_ns: int
) -> tuple[tuple[RemainingMemory, ...], tuple[RemainingMemory, ...]]:
    """Return the blocks allocated in [start_ns, end_ns) that are alive at its end.

    They come by class of module and by function, most bytes first. Blocks without such a name
    are grouped by operator. ``events`` are those of one device in order of time.
    """
    made = np.flatnonzero((blocks.allocation >= 0) & (blocks.fate != UNKNOWN))
    at_ns = events.ts_ns[blocks.allocation[made]]
    gone_ns = lookup(events.ts_ns, blocks.gone[made], np.iinfo(np.int64).max)
    alive = made[(at_ns >= start_ns) & (at_ns < end_ns) & (gone_ns >= end_ns)]
    made_at = blocks.allocation[alive]
    op, size = events.op[made_at], blocks.bytes[alive]
    operator = allocating_operators(trace, op)
    module = module_of.operator_modules(trace, op)
    function, *columns = allocating_functions(trace, events, made_at)
    return (
        _rows(trace, operator, size, lambda i: by_module.class_text(trace, int(module[i])), module),
        _rows(trace, operator, size, function, *columns),
    )


def allocating_operators(trace: Trace, op: I32) -> I32:
    """Return the name of the operator that owns each allocation, ``NONE`` outside of all."""
    owner = by_operator.owning_operators(trace, op).astype(np.int32)
    return lookup(trace.ops.name, owner, NONE)


def allocating_functions(trace: Trace, events: Memory, rows: I64) -> tuple[Label, I32, I32]:
    """Return the function of each of these allocations, and the two columns that decide it."""
    op = events.op[rows]
    found = user_functions.operator_functions(trace)
    stack, function = (lookup(column, op, NONE) for column in found)
    stack = np.where(events.stack[rows] >= 0, events.stack[rows], stack).astype(np.int32)

    def label(i: int) -> str | None:
        return user_functions.listed_of(trace, stack[i], function[i])

    return label, stack, function


def _rows(
    trace: Trace, operator: I32, size: I64, label: Label, *columns: I32
) -> tuple[RemainingMemory, ...]:
    """Return rows by a label that depends on some columns, or without one by operator."""
    first, group = group_rows(operator, *columns)
    numbers: dict[tuple[str | None, int], int] = {}
    texts = [label(i) for i in first.tolist()]
    keys = [(t, int(operator[i]) if t is None else NONE) for t, i in zip(texts, first, strict=True)]
    number = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    own, part = sums(group, size, len(first)), number
    total = sums(part, own, len(numbers))
    count = sums(part, np.bincount(group, minlength=len(first)), len(numbers))
    # The last one of each label is the operator with most bytes.
    most = np.full(len(numbers), NONE, np.int64)
    order = np.argsort(own, kind="stable")
    most[part[order]] = operator[first[order]]
    whole = int(total.sum())
    return tuple(
        RemainingMemory(
            name=name,
            operator=trace.text(int(most[i])) or None,
            allocations=int(count[i]),
            bytes=int(total[i]),
            share=int(total[i]) / whole if whole else 0.0,
        )
        for (name, _), i in sorted(numbers.items(), key=lambda one: -int(total[one[1]]))
    )
