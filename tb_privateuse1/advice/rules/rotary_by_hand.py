"""Rotary embedding as a chain of operators."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.rules.base import Rule, RuleContext, RuleFinding, join_sentences, say
from tb_privateuse1.trace import intervals

_LEAST = 0.01


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the chains that idioms.rotary recognizes."""
    found = fusion.fuse_chains(case, "rotary")
    if found is None or case.share(intervals.length(found.claim)) < _LEAST:
        return
    yield RuleFinding(
        title=say(
            "Rotary embedding is written by hand: {each:,.0f} times a step",
            each=fusion.per_step(case, found),
        ),
        explanation=join_sentences(
            [
                say(
                    "A negation, a concatenation, two products and a sum are separate operators "
                    "over the whole query or key."
                ),
                fusion.describe(case, found),
            ]
        ),
        events=len(found.calls),
        evidence=fusion.evidence(case, found),
        how=fusion.how(),
        claim=found.claim,
        removes=fusion.removal(case, found),
        confidence="high",
        source=case.source(found.ops()),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="rotary_by_hand",
    title=say("Rotary embedding by hand"),
    cause="device",
    looks_for=say("A negated half that a concatenation joins, and products with sums around it."),
    why=say("One kernel turns each pair of channels in registers, for query and key at once."),
    fix=say(
        "Use a fused kernel (Liger's rotary embedding, vLLM's rotary_embedding, apex's "
        "fused_apply_rotary_pos_emb, npu_rotary_mul on Ascend), or torch.compile."
    ),
    threshold=say("1 % of the step: it is one function of the model."),
    reference=say("Liger Kernel; vLLM's rotary_embedding."),
    check=check,
    needs=("device", "operators", "links", "shapes"),
)
