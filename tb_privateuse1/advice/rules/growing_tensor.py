"""A tensor that grows by concatenation, so that every element is copied again each time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import device_time
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.growing_tensors import growing
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield concatenations of an earlier one's result with something new."""
    grown = growing(case.trace)
    found = grown.where(case.judged_kernels[grown.rows])
    claim = device_time.claim_of(case, found)
    if case.share(intervals.length(claim)) < ONE_PLACE:
        return
    ops = np.unique(case.trace.kernels.op[found.rows]).astype(np.int64)
    yield RuleFinding(
        title=say(
            "A tensor grows by concatenation: {each:,.0f} times {per_step}",
            each=len(ops) / max(len(case.steps), 1),
            per_step=case.per_step,
        ),
        explanation=say(
            "{calls:,} concatenations join the result of an earlier one with something new. Each "
            "copies all that is there: on average {copied:.0f} % of its bytes.",
            calls=len(ops),
            copied=100 * float(found.shares.mean()),
        ),
        events=len(ops),
        evidence=case.examples("ops", ops),
        how=say(
            "The part of their time in which they copy what was there, while others waited for "
            "the device."
        ),
        claim=claim,
        removes=device_time.removal_of(case, found),
        confidence="high",
        source=case.source(ops),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="growing_tensor",
    title=say("Tensor that grows by concatenation"),
    cause="device",
    looks_for=say(
        "Concatenations of two tensors, the larger one the result of an earlier one, in three "
        "sizes or more."
    ),
    why=say("The bytes that are copied grow with the square of the length."),
    fix=say(
        "Allocate the final size once and write each part into a slice (a static cache: "
        "cache_implementation='static' in transformers); or keep the parts in a list and "
        "concatenate once, at the end."
    ),
    threshold=say("{least} of the step.", least=exact_percent(ONE_PLACE)),
    reference=say("The static cache of transformers; PagedAttention."),
    code=Code(
        before="cache = torch.cat((cache, key), dim=1)",
        after=(
            "cache = torch.empty(batch, longest, size, device=device)  # once\n"
            "cache[:, position] = key"
        ),
    ),
    check=check,
    needs=("work", "operators", "links", "shapes"),
)
