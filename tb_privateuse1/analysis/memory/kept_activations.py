"""Estimate the memory that a run would need if it kept the activations that it recomputes."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.memory import allocations
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import Bools


def peak_if_kept_bytes(trace: Trace, device: tuple[int, int], recomputing: Bools) -> int | None:
    """Return the most bytes that a device would reserve; None if unknown.

    ``recomputing``: a flag per row of ``trace.frames``. A part of the model that is computed again
    allocates its activations anew, so the level rises by them. Without recomputation all parts of
    a step are kept at once. This is an upper bound: the rise counts temporary tensors too, the peak
    has one part already, a step may run several batches one after the other, and no part is placed
    in bytes that the allocator had reserved before.
    """
    events = allocations.device_events(trace.memory, device)
    level = allocations.memory_level(events)
    added = _rise_bytes(trace, level, recomputing) if level.has_totals else 0
    if not added:
        return None
    return max(int(level.allocated.max()), int(level.reserved.max())) + added


def _rise_bytes(trace: Trace, level: allocations.AllocationLevel, recomputing: Bools) -> int:
    """Return by how much the level rises in all recomputed parts of a step; the most of a step."""
    frames, steps = trace.frames, trace.steps
    outer = np.flatnonzero(recomputing & (intervals.nearest(frames.parent, recomputing) == NONE))
    step = np.searchsorted(steps.host_start_ns, frames.start_ns[outer], side="right") - 1
    rise = np.zeros(len(steps), np.int64)
    for row, of_step in zip(outer[step >= 0], step[step >= 0], strict=True):
        start, end = int(frames.start_ns[row]), int(frames.end_ns[row])
        top = level.peak(start, end)
        if top is not None:
            rise[of_step] += max(int(level.allocated[top]) - level.at(start), 0)
    return int(rise.max(initial=0))
