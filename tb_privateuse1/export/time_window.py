"""Time window of an export: a range of time, or the whole trace."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.collective_calls import Collectives
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Memory, Tensors, Trace
from tb_privateuse1.trace.recorded_counters import CounterSamples
from tb_privateuse1.trace.table import I64, Bools, Table


class Window(Struct, frozen=True):
    """[start_ns, end_ns) since the trace's start; None: no limit.

    A range belongs to the window if it overlaps it. It is exported whole, so no duration changes.
    """

    start_ns: int | None = None
    end_ns: int | None = None

    def __post_init__(self) -> None:
        start, end = self.start_ns, self.end_ns
        if start is not None and end is not None and start >= end:
            message = say("The range from {start} to {end} ns is empty.", start=start, end=end)
            raise TraceError("bad_option", message, say("Its end must be after its start."))

    @property
    def whole(self) -> bool:
        """Return whether the window has no limits."""
        return self.start_ns is None and self.end_ns is None

    def touches(self, start_ns: I64, end_ns: I64) -> Bools:
        """Return a flag per range: it overlaps the window; one of length 0 must start inside."""
        overlaps = np.ones(len(start_ns), np.bool_)
        if self.end_ns is not None:
            overlaps &= start_ns < self.end_ns
        if self.start_ns is not None:
            overlaps &= (end_ns > self.start_ns) | (start_ns == self.start_ns)
        return overlaps

    def rows(self, trace: Trace, table: Table) -> I64:
        """Return the rows of a table in the window; rows without time belong to every window."""
        if self.whole:
            return np.arange(len(table))
        if isinstance(table, Memory | CounterSamples):
            return np.flatnonzero(self.touches(table.ts_ns, table.ts_ns))
        if isinstance(table, Tensors):
            ops = trace.ops
            return np.flatnonzero(self.touches(ops.start_ns[table.op], ops.end_ns[table.op]))
        if isinstance(table, Collectives):
            return np.flatnonzero(self.touches(*_of_collectives(trace)))
        start, end = getattr(table, "start_ns", None), getattr(table, "end_ns", None)
        if start is None or end is None:
            return np.arange(len(table))
        return np.flatnonzero(self.touches(start, end))


EVERYTHING = Window()


def _of_collectives(trace: Trace) -> tuple[I64, I64]:
    talk = trace.collectives
    device = talk.kernel >= 0
    columns = [
        np.where(
            device,
            lookup(getattr(trace.kernels, name), talk.kernel, 0),
            lookup(getattr(trace.ops, name), talk.op, 0),
        )
        for name in ("start_ns", "end_ns")
    ]
    return columns[0], columns[1]
