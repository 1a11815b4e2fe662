"""Batches that go through a model in parts although the whole would fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import batched_rounds
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.idioms.split_batches import (
    SplitBatches,
    parameter_bytes,
    ranges_of,
    split_batches,
)
from tb_privateuse1.analysis.memory import allocations
from tb_privateuse1.analysis.steps.training_phases import find_passes
from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace

_ROOM = 0.9
"""Share of the capacity that torch's allocator may fill, as for ``needless_recompute``."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield equal passes whose gradients are added up for one step of the optimizer."""
    trace, found = case.trace, split_batches(case.trace)
    if not len(found.first):
        return
    filled = _filled_share(trace, found)
    if filled is not None and filled > _ROOM:
        return
    passes, (rows, parts) = find_passes(trace), found.passes()
    looping = batched_rounds.all_but_one((passes.forward_ns[rows], passes.end_ns[rows]), parts)
    claim, removes = batched_rounds.saved_in(
        case, ranges_of(trace, found), looping, parameter_bytes(trace)
    )
    if claim is None or case.share(intervals.length(claim)) < MANY_PLACES:
        return
    of_nodes = np.flatnonzero(np.isin(trace.ops.start_ns, passes.backward_ns[rows]))
    divided = say(
        "{count:,} times a batch goes forward and backward in {parts:,.0f} equal parts, and the "
        "optimizer takes the sum of their gradients. No part reads what an earlier one has made.",
        count=len(found.first),
        parts=float(found.parts.mean()),
    )
    memory = (
        say("Whether the whole batch fits is not recorded.")
        if filled is None
        else say("With the whole batch at most {filled} of the memory is full.",
                 filled=percent(filled))
    )  # fmt: skip
    yield RuleFinding(
        title=say("A batch is trained in small parts")
        if filled is None
        else say("A batch is trained in small parts: {share} of the time", share=""),
        explanation=join_sentences([divided, memory]),
        events=len(rows),
        evidence=case.examples("ops", of_nodes),
        how=say("None is known: parts are right where the whole batch does not fit.")
        if filled is None
        else batched_rounds.how(case),
        claim=None if filled is None else claim,
        removes=removes,
        most=batched_rounds.MOST_ON_DEVICE,
        confidence="low" if filled is None else "medium",
        lacks=case.lacks("memory"),
    )


def _filled_share(trace: Trace, found: SplitBatches) -> float | None:
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


RULE = Rule(
    name="split_batch",
    title=say("Batches in small parts"),
    cause="launching",
    looks_for=say(
        "Equal passes between two steps of the optimizer, whose gradients add up. Not where a part "
        "reads what an earlier one has made, where gradients are read or scaled between, in "
        "pipelines, or where the whole batch would not fit in the recorded memory."
    ),
    why=say("Each part launches all kernels of the model, and small ones do not fill the device."),
    fix=say(
        "Take as many samples at once as fit in memory, and accumulate gradients over fewer parts. "
        "Batch norm then sees larger batches, and a mean over parts of uneven weight changes."
    ),
    threshold=say(
        "{least} of the step; a note where use and capacity of memory are not recorded.",
        least=exact_percent(MANY_PLACES),
    ),
    reference=say("PyTorch performance tuning guide; Hugging Face, training on one GPU."),
    code=Code(
        before=(
            "for part in batch.chunk(8):\n    (criterion(model(part)) / 8).backward()\n"
            "optimizer.step()"
        ),
        after="criterion(model(batch)).backward()\noptimizer.step()",
    ),
    check=check,
    needs=("operators", "shapes"),
    sees_work=True,
)
