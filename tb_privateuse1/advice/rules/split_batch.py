"""Batches that go through a model in parts although the whole would fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.batched_rounds import saved_in
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.idioms.passes_in_a_row import passes_in_a_row
from tb_privateuse1.analysis.idioms.split_batches import (
    parameter_bytes,
    ranges_of,
    split_batches,
)
from tb_privateuse1.analysis.memory.whole_batches import filled_share
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.steps.training_phases import find_passes
from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals

_HOW = say(
    "All passes but one while the device had nothing to do, and the device's time beyond one "
    "operator for each kind of call, while others waited for it."
)
_MOST = 2.0
"""Units for matrices are filled by larger batches: their time may stay or be divided by the parts.
Of two, up to half goes, beside all that the claim has."""
_ROOM = 0.9
"""Share of the capacity that torch's allocator may fill, as for ``needless_recompute``."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield passes that one batch would be: parts of a batch, and calls of a model in a row."""
    yield from _parts(case)
    yield from _in_a_row(case)


def _in_a_row(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield equal calls of a model that follow each other directly, on inputs of their own."""
    found = passes_in_a_row(case.trace)
    if found is None:
        return
    frames = case.trace.frames
    host_ns = found.ranges.start_ns, found.ranges.end_ns
    claim, removes = saved_in(
        case, found.ranges, host_ns, found.rounds, parameter_bytes(case.trace)
    )
    if claim is None or case.share(intervals.length(claim)) < MANY_PLACES:
        return
    yield RuleFinding(
        title=say("A model is called on inputs one after the other: {share} of the time", share=""),
        explanation=say(
            "{module} is called {calls:,.1f} times in a row, with equal operators and no other one "
            "between. Results have other sizes than inputs, so that no call reads those of "
            "another.",
            module=found.module,
            calls=float(found.calls.mean()),
        ),
        events=int(found.calls.sum()),
        evidence=case.examples("frames", found.first),
        how=_HOW,
        claim=claim,
        removes=removes,
        most=_MOST,
        confidence="medium",
        source=user_functions.of_frame(case.trace, int(frames.parent[found.first[0]])),
        fix=say(
            "Give the model all inputs as one batch, and divide the result: views of a picture, "
            "anchors with what they are compared with, real and made samples."
        ),
        code=Code(
            before="first, second = model(one), model(other)",
            after="first, second = model(torch.cat([one, other])).chunk(2)",
        ),
    )


def _parts(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield equal passes whose gradients are added up for one step of the optimizer."""
    trace, found = case.trace, split_batches(case.trace)
    if not len(found.first):
        return
    filled = filled_share(trace, found)
    if filled is not None and filled > _ROOM:
        return
    passes, (rows, parts) = find_passes(trace), found.passes()
    ranges, _ = ranges_of(trace, found)
    host_ns = passes.forward_ns[rows], passes.end_ns[rows]
    claim, removes = saved_in(case, ranges, host_ns, parts, parameter_bytes(trace))
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
        title=say("A batch is trained in small parts: {share} of the time", share=""),
        explanation=join_sentences([divided, memory]),
        events=len(rows),
        evidence=case.examples("ops", of_nodes),
        how=_HOW,
        claim=claim,
        removes=removes,
        most=_MOST,
        may_vanish=filled is None,
        confidence="low" if filled is None else "medium",
        lacks=case.lacks("memory"),
    )


RULE = Rule(
    name="split_batch",
    title=say("Batches in small parts"),
    cause="launching",
    looks_for=say(
        "Two or more equal calls of a model with no operator between, whose results have other "
        "sizes than their inputs; and equal passes between two steps of the optimizer, whose "
        "gradients add up. Not "
        "where a part reads what an earlier one has made, where gradients are read or scaled "
        "between, in pipelines, or where the whole batch would not fit in the recorded memory."
    ),
    why=say("Each part launches all kernels of the model, and small ones do not fill the device."),
    fix=say(
        "Take as many samples at once as fit in memory, and accumulate gradients over fewer parts. "
        "Batch norm then sees larger batches, and a mean over parts of uneven weight changes."
    ),
    threshold=say("{least} of the step.", least=exact_percent(MANY_PLACES)),
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
