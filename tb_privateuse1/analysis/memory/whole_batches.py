"""Estimate the memory that batches would need which a run divides into parts."""

from __future__ import annotations

from tb_privateuse1.analysis.idioms.split_batches import SplitBatches
from tb_privateuse1.analysis.memory import allocations
from tb_privateuse1.analysis.steps.training_phases import find_passes
from tb_privateuse1.trace.model import Trace


def filled_share(trace: Trace, found: SplitBatches) -> float | None:
    """Return the share of a device's capacity that whole batches would fill; None if unknown.

    A part allocates its activations; the whole batch has those of all parts at once.
    """
    passes = find_passes(trace)
    shares: list[float] = []
    for device in allocations.memory_devices(trace.memory):
        capacity = allocations.capacity_bytes(trace, device)
        level = allocations.memory_level(allocations.device_events(trace.memory, device))
        if device[0] == allocations.CPU or capacity is None or not level.has_totals:
            continue
        more = 0
        for first, parts in zip(found.first.tolist(), found.parts.tolist(), strict=True):
            start, end = int(passes.forward_ns[first]), int(passes.end_ns[first])
            top = level.peak(start, end)
            if top is not None:
                more = max(more, (parts - 1) * (int(level.allocated[top]) - level.at(start)))
        peak = max(int(level.allocated.max()), int(level.reserved.max()))
        shares.append((peak + more) / capacity)
    return max(shares, default=None)
