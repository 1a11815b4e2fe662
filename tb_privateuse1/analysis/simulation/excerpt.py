"""Cut a few steps out of a trace as a smaller trace, to read or replay a very long one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.simulation.scopes import Scope, Waiters
from tb_privateuse1.analysis.steps import judged_window
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.collective_calls import Collectives
from tb_privateuse1.trace.event_waits import EventWaits
from tb_privateuse1.trace.findings import TableName
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.row_selection import take_rows
from tb_privateuse1.trace.table import I64


class Excerpt(Struct, frozen=True):
    """The excerpt, its rows of the judged steps, and its rows in the whole trace."""

    trace: Trace
    steps: I64
    ops: I64
    launches: I64
    kernels: I64
    frames: I64
    memory: I64
    window: intervals.Set
    """The time of those steps, on the clock of the whole trace."""
    chosen: I64
    """Those steps, as rows of the whole trace."""

    def scope(self, whole: Scope) -> Scope:
        """Return the part in the excerpt of what a change affects in the whole trace."""
        waiters = whole.waiters
        if waiters is not None:
            waiters = Waiters(
                np.flatnonzero(np.isin(self.ops, waiters.ops)),
                np.flatnonzero(np.isin(self.launches, waiters.launches)),
            )
        return replace(whole, kernels=whole.kernels[self.kernels], waiters=waiters)

    def whole_scope(self, own: Scope, kernels: int) -> Scope:
        """Return what a change affects here in the whole trace of ``kernels`` activities."""
        waiters, shares = own.waiters, np.zeros(kernels)
        if waiters is not None:
            waiters = Waiters(self.ops[waiters.ops], self.launches[waiters.launches])
        shares[self.kernels] = own.kernels
        return replace(own, kernels=shares, waiters=waiters)

    def whole_rows(self, table: TableName) -> I64 | None:
        """Return by row of a table the one of the whole trace; None if the table is not cut."""
        rows: Mapping[TableName, I64] = {
            "ops": self.ops, "frames": self.frames, "launches": self.launches,
            "kernels": self.kernels, "memory": self.memory,
        }  # fmt: skip
        return rows.get(table)


def uncut(trace: Trace, steps: I64) -> Excerpt:
    """Return the trace itself as an excerpt."""
    ops, launches, kernels, frames, memory = (
        np.arange(len(table))
        for table in (trace.ops, trace.launches, trace.kernels, trace.frames, trace.memory)
    )
    window = judged_window.judged_window(trace, steps)
    return Excerpt(trace, steps, ops, launches, kernels, frames, memory, window, steps)


def cut_excerpt(trace: Trace, steps: I64, most: int) -> Excerpt | None:
    """Return the middle ones of ``steps`` and one before them, with at most ``most`` events.

    It is the trace itself if that has no more. None if a single step has more.
    """
    size = len(trace.ops) + len(trace.launches) + len(trace.kernels)
    table = trace.steps
    if size <= most:
        return uncut(trace, steps)
    count = int(most // (size / max(len(table), 1)))
    if not count or not len(steps):
        return None
    first = (len(steps) - min(count, len(steps))) // 2
    # Steps in between that are not judged are replayed, too.
    chosen = steps[first : first + count]
    chosen = chosen[chosen < chosen[0] + count]
    low, chosen = _with_lead(chosen, count)
    return _cut(trace, low, int(chosen[-1]) + 1, chosen)


BEFORE, BEHIND = 2, 1
"""Steps around a block: the one before it leads in, and what a device waits for at the edges of
these is known by their neighbors."""


def cut_steps(trace: Trace, chosen: I64) -> Excerpt:
    """Return these steps with those around them, which must exist."""
    return _cut(trace, int(chosen[0]) - BEFORE, int(chosen[-1]) + 1 + BEHIND, chosen)


def _cut(trace: Trace, low: int, high: int, chosen: I64) -> Excerpt:
    """Return the steps from ``low`` to before ``high``; the chosen ones count."""
    table = trace.steps
    start = int(min(table.host_start_ns[low], table.start_ns[low]))
    stop = int(max(table.host_end_ns[high - 1], table.end_ns[high - 1]))
    ops, launches, kernels, frames = (
        np.flatnonzero((t.end_ns > start) & (t.start_ns < stop))
        for t in (trace.ops, trace.launches, trace.kernels, trace.frames)
    )
    memory = np.flatnonzero((trace.memory.ts_ns >= start) & (trace.memory.ts_ns < stop))
    part = take_rows(
        trace,
        {
            "ops": ops,
            "launches": launches,
            "kernels": kernels,
            "steps": np.arange(low, high),
            "event_waits": _event_waits(trace.event_waits, launches),
            "collectives": _collectives(trace.collectives, ops, kernels),
            "frames": frames,
            "memory": memory,
        },
    )
    window = judged_window.judged_window(trace, chosen)
    return Excerpt(part, chosen - low, ops, launches, kernels, frames, memory, window, chosen)


def _with_lead(chosen: I64, count: int) -> tuple[int, I64]:
    """Return the first step of the excerpt, and the chosen steps behind it.

    What the host gains in the first replayed step it gains once: the device has not caught up
    with it yet. So that step is replayed and does not count, as the steps before it do in the whole
    trace. Where the trace has no step before, or a single one fits, the first one counts.
    """
    low = int(chosen[0])
    if low and int(chosen[-1]) - low + 1 < count:
        return low - 1, chosen
    if low and len(chosen) > 1:
        return low, chosen[1:]
    return low, chosen


def _event_waits(waits: EventWaits, launches: I64) -> I64:
    # An event that was recorded before the excerpt has nothing in it to wait for.
    return np.flatnonzero(np.isin(waits.record, launches) | (waits.record < 0))


def _collectives(calls: Collectives, ops: I64, kernels: I64) -> I64:
    return np.flatnonzero(np.isin(calls.op, ops) | np.isin(calls.kernel, kernels))
