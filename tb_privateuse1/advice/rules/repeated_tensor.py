"""Tensors that are repeated in memory instead of broadcast."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import device_time
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent, percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.expanded_copies import repeated
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield copies of expanded tensors, with the operators that read them."""
    work = repeated(case.trace)
    found = work.where(case.judged_kernels[work.rows])
    claim = device_time.claim_of(case, found)
    if case.share(intervals.length(claim)) < ONE_PLACE:
        return
    ops = np.unique(case.trace.kernels.op[found.rows[found.shares == 1]]).astype(np.int64)
    yield RuleFinding(
        title=say(
            "Tensors are repeated in memory: {copies} {per_step}, {share} of the time",
            copies=plural(round(len(ops) / max(len(case.steps), 1)), "copy"),
            share=percent(case.share(intervals.length(claim))),
            per_step=case.per_step,
        ),
        explanation=say(
            "An expanded tensor is copied, so that each of its elements is there several times, "
            "and the operator behind reads all of them. It could read the one that is there."
        ),
        events=len(ops),
        evidence=case.examples("ops", ops),
        how=say(
            "The time of the copies, and of operators that wait for memory the share of their "
            "bytes that are repeated, while others waited for the device."
        ),
        claim=claim,
        removes=device_time.removal_of(case, found),
        confidence="medium",
        source=case.source(ops),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="repeated_tensor",
    title=say("Repeated tensors"),
    cause="device",
    looks_for=say(
        "A copy of a tensor that expand has just made larger, as repeat_interleave, repeat "
        "and reshape make it, before attention, a product or an elementwise operator."
    ),
    why=say(
        "The copy writes each element several times, and what reads it moves as much: for a cache "
        "of keys and values this is most of the work of decoding."
    ),
    fix=say(
        "Let the operator broadcast: scaled_dot_product_attention(…, enable_gqa=True), query heads "
        "in a dimension of their own, einsum; elementwise operators take the expanded tensor."
    ),
    threshold=say("{least} of the step.", least=exact_percent(ONE_PLACE)),
    reference=say("torch.nn.functional.scaled_dot_product_attention (enable_gqa)."),
    code=Code(
        before=(
            "keys = keys.repeat_interleave(groups, dim=1)\n"
            "values = values.repeat_interleave(groups, dim=1)\n"
            "y = F.scaled_dot_product_attention(q, keys, values)"
        ),
        after="y = F.scaled_dot_product_attention(q, keys, values, enable_gqa=True)",
    ),
    check=check,
    needs=("work", "operators", "links", "shapes"),
)
