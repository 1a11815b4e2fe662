"""Activation checkpointing although the activations fit in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent, percent
from tb_privateuse1.advice.thresholds import USUAL
from tb_privateuse1.analysis.memory import allocations, kept_activations
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import Bools

_FRAMES = r"torch/utils/checkpoint\.py\(\d+\): (recompute_fn|unpack_hook|backward)$"
_ROOM = 0.9
"""Share of the capacity that torch's allocator may fill: vLLM plans with as much
(gpu_memory_utilization). The rest is the driver's, of libraries and of other processes, which
recordings lack."""
_DEEP = 200
"""A bound of the search upwards, far above the depth of nested modules."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the activities of torch.utils.checkpoint's recomputation if memory is free."""
    trace = case.trace
    is_recomputing = case.named("frames", _FRAMES)
    if not is_recomputing.any():
        return
    filled = _filled_share(case, is_recomputing)
    if filled is None or filled > _ROOM:
        return
    recomputing = np.append(is_recomputing, False)
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
            "Activations are computed twice although they fit: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{activities:,} activities repeat the forward pass for the backward pass "
            "(activation checkpointing), which saves memory that this run does not need: with all "
            "activations kept, at most {filled} of the capacity would be reserved.",
            activities=len(chosen),
            filled=percent(filled),
        ),
        events=len(chosen),
        evidence=case.examples("kernels", chosen),
        how=say("Their time while others waited for the device."),
        claim=claim,
        removes=case.without(kernels=chosen),
        confidence="medium",
        source=case.source(ops[is_recomputed].astype(np.int64)),
    )


def _filled_share(case: RuleContext, recomputing: Bools) -> float | None:
    """Return the share of the capacity that kept activations fill on the fullest device."""
    shares = []
    for device in allocations.memory_devices(case.trace.memory):
        capacity = allocations.capacity_bytes(case.trace, device)
        peak = kept_activations.peak_if_kept_bytes(case.trace, device, recomputing)
        if capacity is not None and peak is not None:
            shares.append(peak / capacity)
    return max(shares, default=None)


RULE = Rule(
    name="needless_recompute",
    title=say("Recomputation without need"),
    cause="device",
    looks_for=say(
        "Frames of torch.utils.checkpoint that recompute, and memory that would hold what they "
        "allocate in a whole step beside the peak."
    ),
    why=say("Recomputing costs a third of a step's arithmetic."),
    fix=say("Checkpoint fewer layers, or none; or use the free memory for a larger batch."),
    threshold=say(
        "At most {room} of the capacity with all activations kept, and {least} of the step.",
        room=exact_percent(_ROOM),
        least=exact_percent(USUAL),
    ),
    reference=say("torch.utils.checkpoint."),
    code=Code(
        before="x = checkpoint(layer, x, use_reentrant=False)",
        after="x = layer(x)",
    ),
    check=check,
    needs=("work", "stacks", "memory", "links"),
)
