"""The outermost operators with shapes, by thread and time: who may read what one of them makes."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.work.arguments import Arguments
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

NEAR = 64
"""Operators behind one that may read its result."""


class LaterCalls:
    """The outermost operators with shapes by thread and start, with their inputs.

    It takes 4 ms of a million events, so that no analysis keeps it: kept arrays made the allocator
    return memory of later ones, which took 0.2 s.
    """

    def __init__(self, trace: Trace) -> None:
        ops = trace.ops
        # The table is by thread and start.
        self.rows: I64 = np.flatnonzero(groupby.outermost_operators(ops) & (ops.shapes >= 0))
        self._trace = trace
        self._name = ops.name[self.rows]
        self._words = {
            name: reduced_name(trace.text(name))
            for name in groupby.distinct_values(self._name).tolist()
        }

    def named(self, *words: str) -> I64:
        """Return the places among ``rows`` of operators with one of these reduced names."""
        names = [name for name, word in self._words.items() if word in words]
        if not names:
            return np.empty(0, np.int64)
        return np.flatnonzero(np.isin(self._name, names))

    def distinct(self, places: I64) -> tuple[I64, I64]:
        """Return one place of each distinct call among places, and each place's number of it."""
        ops, rows = self._trace.ops, self.rows[places]
        first, call = groupby.group_rows(ops.name[rows], ops.shapes[rows], ops.dtypes[rows])
        return places[first], call

    def call(self, at: int) -> Arguments | None:
        """Return the inputs of the operator at a place among ``rows``; None if unknown."""
        return read_call(self._trace, int(self.rows[at]))

    def behind(self, at: int) -> range:
        """Return the places of the operators behind one of the same thread."""
        last = min(at + 1 + NEAR, len(self.rows))
        thread = self._trace.ops.thread[self.rows[at:last]]
        return range(at + 1, at + int(np.argmin(np.append(thread == thread[0], False))))
