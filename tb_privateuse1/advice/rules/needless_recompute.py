"""Activation checkpointing although the activations fit in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent, percent
from tb_privateuse1.advice.thresholds import USUAL
from tb_privateuse1.analysis.memory import allocations
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING, NONE

_FRAMES = r"torch/utils/checkpoint\.py\(\d+\): (recompute_fn|unpack_hook|backward)$"
_ROOM = 0.6
"""Share of the capacity. With recomputation a transformer layer keeps 2 of the 34 bytes per element
of its activations (Korthikanti et al., 2022), so the rest may hold those of some layers only. The
figure is a choice: no recording at hand has both variants with their peaks."""
_DEEP = 200
"""A bound of the search upwards, far above the depth of nested modules."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the activities of torch.utils.checkpoint's recomputation if memory is free."""
    trace = case.trace
    room = _peak_share(case)
    recomputing = np.append(case.named("frames", _FRAMES), False)
    if room is None or room > _ROOM or not recomputing.any():
        return
    rows = np.flatnonzero(case.judged_kernels & (trace.kernels.op >= 0))
    ops, index = np.unique(trace.kernels.op[rows], return_inverse=True)
    frame = trace.ops.frame[ops]
    is_recomputed = recomputing[frame]
    up = np.append(trace.frames.parent, NONE)
    for _ in range(_DEEP):
        frame = up[frame]
        is_recomputed |= recomputing[frame]
        if (frame < 0).all():
            break
    chosen = rows[is_recomputed[index]]
    claim = case.of_device(case.time(chosen, "kernels"))
    if case.share(intervals.length(claim)) < USUAL:
        return
    yield RuleFinding(
        title=say(
            "Activations are computed twice with {free} of the memory free: {share} of the time",
            free=percent(1 - room),
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{activities:,} activities repeat the forward pass for the backward pass "
            "(activation checkpointing), which saves memory that this run does not need.",
            activities=len(chosen),
        ),
        events=len(chosen),
        evidence=case.examples("kernels", chosen),
        how=say(
            "Their time while others waited for the device. Not all of it may fit into the memory."
        ),
        claim=claim,
        removes=case.without(kernels=chosen),
        confidence="medium",
        source=case.source(ops[is_recomputed].astype(np.int64)),
    )


def _peak_share(case: RuleContext) -> float | None:
    """Return the peak of allocated or reserved memory as a share of the capacity."""
    memory, shares = case.trace.memory, []
    for device in allocations.memory_devices(memory):
        capacity = allocations.capacity_bytes(case.trace, device)
        if capacity is None:
            continue
        events = allocations.device_events(memory, device)
        peak = max(int(events.reserved_bytes.max()), int(events.allocated_bytes.max()))
        if peak != MISSING:
            shares.append(peak / capacity)
    return max(shares, default=None)


RULE = Rule(
    name="needless_recompute",
    title=say("Recomputation without need"),
    cause="device",
    looks_for=say(
        "Frames of torch.utils.checkpoint that recompute, and a peak of memory far below the "
        "capacity."
    ),
    why=say("Recomputing costs a third of a step's arithmetic."),
    fix=say("Checkpoint fewer layers, or none; or use the free memory for a larger batch."),
    threshold=say(
        "Peak below {room} of the capacity, and {least} of the step.",
        room=exact_percent(_ROOM),
        least=exact_percent(USUAL),
    ),
    reference=say("torch.utils.checkpoint."),
    code=Code(
        before="x = checkpoint(layer, x, use_reentrant=False)",
        after="x = layer(x)",
    ),
    check=check,
    needs=("device", "stacks", "memory", "links"),
)
