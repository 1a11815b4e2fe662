"""Find tensors that torch makes from lists of Python, one number after the other."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.later_calls import LaterCalls
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

_SEQUENCE = ("empty", "to", "lift_fresh")
"""``torch.tensor`` of a list: memory, which it fills between these two; its type; and no tape. That
of an array has no first one: its numbers are copied as a block."""


class ListedTensors(Struct, frozen=True, eq=False):
    """The ``aten::lift_fresh`` of each tensor from a list, and when torch read the list."""

    rows: I64
    start_ns: I64
    end_ns: I64

    def reading(self) -> intervals.Set:
        """Return the time in which torch reads lists."""
        return intervals.union(self.start_ns, self.end_ns)


@memoize
def listed_tensors(trace: Trace) -> ListedTensors:
    """Return tensors made from lists, by the operators that ``torch.tensor`` calls in turn."""
    ops, later = trace.ops, LaterCalls(trace)
    first, second, third = (later.named(word) for word in _SEQUENCE)
    at = np.intersect1d(np.intersect1d(first + 2, second + 1), third)
    makes, ends, last = (later.rows[at - back] for back in (2, 1, 0))
    same = (ops.thread[makes] == ops.thread[last]) & (ops.start_ns[ends] > ops.end_ns[makes])
    return ListedTensors(last[same], ops.end_ns[makes[same]], ops.start_ns[ends[same]])
