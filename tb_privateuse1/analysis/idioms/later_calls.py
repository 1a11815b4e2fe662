"""The outermost operators with shapes, by thread and time: who may read what one of them makes."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.idioms.nodes import operators_named
from tb_privateuse1.analysis.work.arguments import Arguments
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

NEAR = 64
"""Operators behind one that may read its result."""


class LaterCalls:
    """The outermost operators with shapes by thread and start, with their inputs."""

    def __init__(self, trace: Trace) -> None:
        ops = trace.ops
        rows = np.flatnonzero(groupby.outermost_operators(ops) & (ops.shapes >= 0))
        self.rows: I64 = rows[np.lexsort((ops.start_ns[rows], ops.thread[rows]))]
        self._trace = trace

    def named(self, *words: str) -> I64:
        """Return the places among ``rows`` of operators with one of these reduced names."""
        return np.flatnonzero(operators_named(self._trace, *words)[self.rows])

    def call(self, at: int) -> Arguments | None:
        """Return the inputs of the operator at a place among ``rows``; None if unknown."""
        return read_call(self._trace, int(self.rows[at]))

    def behind(self, at: int) -> range:
        """Return the places of the operators behind one of the same thread."""
        last = min(at + 1 + NEAR, len(self.rows))
        thread = self._trace.ops.thread[self.rows[at:last]]
        return range(at + 1, at + int(np.argmin(np.append(thread == thread[0], False))))


@memoize
def later_calls(trace: Trace) -> LaterCalls:
    """Return the outermost operators of a trace."""
    return LaterCalls(trace)
