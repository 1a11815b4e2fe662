"""The memory of a device at its peak: what it is for, and in which phase of training that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_privateuse1.advice.rules.base import RuleContext, join_list, percent, say
from tb_privateuse1.analysis.memory import allocations, categories
from tb_privateuse1.analysis.memory.categories import Category
from tb_privateuse1.analysis.steps.training_phases import find_passes

_MUCH = 0.1
"""A category with a lesser share of the peak is not named."""

_LABELS: dict[Category, str] = {
    "parameters": say("parameters"),
    "optimizer_state": say("states of the optimizer"),
    "gradients": say("gradients"),
    "activations": say("activations"),
    "inputs": say("inputs"),
    "temporaries": say("temporary results"),
}


@dataclass(frozen=True)
class PeakUse:
    """The use of memory at the peak."""

    sentence: str
    """Empty if no category is known."""
    most: Category | None
    """The known category with most of it."""


def peak_use(case: RuleContext, device: tuple[int, int]) -> PeakUse:
    """Return what a device's memory is for at its peak, by the guess of the memory view."""
    trace = case.trace
    events = allocations.device_events(trace.memory, device)
    level, blocks = allocations.memory_level(events), allocations.pair_blocks(events)
    start, end = int(events.ts_ns[0]), int(events.ts_ns[-1]) + 1
    split = categories.categorize(trace, events, level, blocks)
    rows, _ = categories.category_rows(level, events, blocks, split, start, end, 2)
    known = sorted((row for row in rows if row.category in _LABELS), key=lambda row: -row.share)
    named = [row for row in known if row.share >= _MUCH]
    peak = level.peak(start, end)
    if not named or peak is None:
        return PeakUse("", None)
    parts = join_list(
        say("{share} {what}", share=percent(row.share), what=_LABELS[row.category]) for row in named
    )
    at = _phase(case, int(level.at_ns[peak]))
    return PeakUse(
        say(" At the peak{phase} it holds {parts}.", phase=at, parts=parts), named[0].category
    )


def _phase(case: RuleContext, at_ns: int) -> str:
    """Return the words on the pass of training at an instant; empty in none."""
    passes = find_passes(case.trace)
    place = int(np.searchsorted(passes.forward_ns, at_ns, side="right")) - 1
    if place < 0 or at_ns >= passes.end_ns[place]:
        return ""
    if at_ns < passes.backward_ns[place]:
        return say(", in the forward pass,")
    return say(", in the backward pass,")
