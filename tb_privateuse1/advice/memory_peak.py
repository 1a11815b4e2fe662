"""The memory of a device at its peak: what it is for, and in which phase of training that is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.analysis.memory import allocations, by_module, by_operator, categories
from tb_privateuse1.analysis.memory.allocations import AllocationLevel, Blocks
from tb_privateuse1.analysis.memory.categories import Category, Split
from tb_privateuse1.analysis.steps.training_phases import STEPPING, find_passes, phase_kinds
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Memory
from tb_privateuse1.trace.table import I64

_MUCH = 0.1
"""A category with a lesser share of the peak is not named."""

_ROOMY, _SMALL = 0.5, 1 << 30
"""A device that is never fuller has no want of memory; one of unknown size not below a GiB."""

_LABELS: dict[Category, str] = {
    "parameters": say("parameters"),
    "optimizer_state": say("states of the optimizer"),
    "gradients": say("gradients"),
    "activations": say("activations"),
    "inputs": say("inputs"),
    "temporaries": say("temporary results"),
}


class PeakUse(Struct, frozen=True):
    """The use of memory at the peak."""

    sentence: str
    """Empty if no category is known."""
    most: Category | None
    """The known category with most of it."""
    in_optimizer: bool = False
    """The peak is within a step of the optimizer."""


class DeviceMemory(Struct, frozen=True):
    """The memory of one accelerator; ``events`` are its instants in order of time."""

    device: tuple[int, int]
    rows: I64
    """Rows of ``trace.memory``."""
    events: Memory
    level: AllocationLevel
    blocks: Blocks
    split: Split


def devices(case: RuleContext) -> Iterator[DeviceMemory]:
    """Yield the memory of each accelerator that has totals and may run out of it."""
    for device in allocations.memory_devices(case.trace.memory):
        found = device_memory(case, device)
        capacity = allocations.capacity_bytes(case.trace, device)
        most = max(int(found.level.allocated.max(initial=0)), int(found.level.reserved.max()))
        least = _SMALL if capacity is None else _ROOMY * capacity
        if device[0] != allocations.CPU and found.level.has_totals and most >= least:
            yield found


def device_memory(case: RuleContext, device: tuple[int, int]) -> DeviceMemory:
    """Return the memory of one device, with its blocks and their purposes."""
    trace = case.trace
    memory = trace.memory
    rows = np.flatnonzero((memory.device_type == device[0]) & (memory.device == device[1]))
    events = memory.take(rows)
    level, blocks = allocations.memory_level(events), allocations.pair_blocks(events)
    split = categories.categorize(trace, events, level, blocks)
    return DeviceMemory(device, rows, events, level, blocks, split)


def peak_use(case: RuleContext, device: tuple[int, int]) -> PeakUse:
    """Return what a device's memory is for at its peak, by the guess of the memory view."""
    found = device_memory(case, device)
    level, events = found.level, found.events
    start, end = int(events.ts_ns[0]), int(events.ts_ns[-1]) + 1
    rows, _ = categories.category_rows(level, events, found.blocks, found.split, start, end, 2)
    known = sorted((row for row in rows if row.category in _LABELS), key=lambda row: -row.share)
    named = [row for row in known if row.share >= _MUCH]
    peak = level.peak(start, end)
    if not named or peak is None:
        return PeakUse("", None)
    parts = join_list(
        say("{share} {what}", share=percent(row.share), what=_LABELS[row.category]) for row in named
    )
    at_ns = int(level.at_ns[peak])
    sentence = say(
        " At the peak{phase} it holds {parts}.{modules}",
        phase=_phase(case, at_ns),
        parts=parts,
        modules=_modules(case, found, peak) if named[0].category == "activations" else "",
    )
    return PeakUse(sentence, named[0].category, _in_optimizer(case, at_ns))


def _modules(case: RuleContext, found: DeviceMemory, peak: int) -> str:
    """Return the sentence on the modules with most activations, and the cost to recompute them."""
    trace, blocks, row = case.trace, found.blocks, found.level.rows[peak]
    alive = (blocks.allocation >= 0) & (blocks.allocation <= row) & (blocks.gone > row)
    own = np.flatnonzero(alive & (found.split.of == categories.ACTIVATIONS))
    owner = by_operator.owning_operators(trace, found.events.op[blocks.allocation[own]])
    own, owner = own[owner >= 0], owner[owner >= 0]
    most = by_module.repeated_class(trace, owner, blocks.bytes[own])
    whole = int(found.level.allocated[peak])
    if most is None or most.bytes < _MUCH * whole:
        return ""
    cost = intervals.length(intervals.intersect(most.forward, case.window))
    figures = {
        "share": percent(most.bytes / whole),
        "count": most.instances,
        "module": most.name,
    }
    if not cost:
        return say(" {share} of it were made in the {count} instances of {module}.", **figures)
    return say(
        " {share} of it were made in the {count} instances of {module}. To recompute that would "
        "take about {cost} of the time.",
        **figures,
        cost=percent(case.share(cost)),
    )


def _in_optimizer(case: RuleContext, at_ns: int) -> bool:
    ops = case.trace.ops
    steps = phase_kinds(case.trace) == STEPPING
    return bool((steps & (ops.start_ns <= at_ns) & (ops.end_ns > at_ns)).any())


def _phase(case: RuleContext, at_ns: int) -> str:
    """Return the words on the phase of training at an instant; empty in none."""
    if _in_optimizer(case, at_ns):
        return say(", in the optimizer's step,")
    passes = find_passes(case.trace)
    place = int(np.searchsorted(passes.forward_ns, at_ns, side="right")) - 1
    if place < 0 or at_ns >= passes.end_ns[place]:
        return ""
    if at_ns < passes.backward_ns[place]:
        return say(", in the forward pass,")
    return say(", in the backward pass,")
