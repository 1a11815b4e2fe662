"""Find what was allocated in a part of the recording and is still alive at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.memory import by_module, by_operator
from tb_privateuse1.analysis.memory.allocations import UNKNOWN, Blocks
from tb_privateuse1.analysis.operators import module_of, source_lines
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.groupby import group_rows, sums
from tb_privateuse1.trace.model import NONE, Memory, Trace
from tb_privateuse1.trace.table import I32, I64


@dataclass(frozen=True)
class RemainingMemory:
    """Blocks of one source line or class of module that were not released in the part."""

    name: str | None
    """The line of the user's program, or the class of the innermost module; null without one."""
    operator: str | None
    """The operator with most of these bytes; null outside of operators."""
    allocations: int
    bytes: int
    share: float
    """Of all such bytes."""


def remaining_memory(
    trace: Trace, events: Memory, blocks: Blocks, start_ns: int, end_ns: int
) -> tuple[tuple[RemainingMemory, ...], tuple[RemainingMemory, ...]]:
    """Return the blocks allocated in [start_ns, end_ns) that are alive at its end.

    They come by class of module and by source line, most bytes first. Blocks without such a name
    are grouped by operator. ``events`` are those of one device in order of time.
    """
    until = np.append(events.ts_ns, np.iinfo(np.int64).max)
    made = np.flatnonzero((blocks.allocation >= 0) & (blocks.fate != UNKNOWN))
    at_ns = events.ts_ns[blocks.allocation[made]]
    alive = made[(at_ns >= start_ns) & (at_ns < end_ns) & (until[blocks.gone[made]] >= end_ns)]
    op, size = events.op[blocks.allocation[alive]], blocks.bytes[alive]
    owner = by_operator.owning_operators(trace, op).astype(np.int32)
    operator = call_tree.take(trace.ops.name, owner)
    module = module_of.operator_modules(trace, op)
    stack, line = (call_tree.take(column, op) for column in source_lines.operator_lines(trace))
    recorded = events.stack[blocks.allocation[alive]]
    stack = np.where(recorded >= 0, recorded, stack).astype(np.int32)

    def line_text(i: int) -> str | None:
        text = trace.text(stack[i])
        return source_lines.user_line(text) if text else trace.text(line[i]) or None

    return (
        _rows(trace, operator, size, lambda i: by_module.class_text(trace, int(module[i])), module),
        _rows(trace, operator, size, line_text, stack, line),
    )


def _rows(
    trace: Trace, operator: I32, size: I64, label: Callable[[int], str | None], *columns: I32
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
