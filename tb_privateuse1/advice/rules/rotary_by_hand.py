"""Rotary position embedding as a chain of operators, which one kernel would do."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.idiom_finding import find_idiom
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.i18n import say


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Return the chains that idioms.rotary recognizes."""
    return find_idiom(
        case,
        "rotary",
        say("Rotary embedding is unfused: {each:,.0f} times {per_step}"),
        say(
            "A negation, a concatenation, two products and a sum are separate operators "
            "over the whole query or key."
        ),
        of_torch=False,
    )


RULE = Rule(
    name="rotary_by_hand",
    title=say("Unfused rotary embedding"),
    cause="device",
    looks_for=say("A negated half that a concatenation joins, and products with sums around it."),
    why=say("One kernel turns each pair of channels in registers, for query and key at once."),
    fix=say(
        "Use a fused kernel (Liger's rotary embedding, vLLM's rotary_embedding, apex's "
        "fused_apply_rotary_pos_emb, npu_rotary_mul on Ascend), or torch.compile."
    ),
    threshold=say(
        "{least} of the step: it is one function of the model.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("Liger Kernel; vLLM's rotary_embedding."),
    code=Code(
        before=("x1, x2 = q.chunk(2, -1)\nq = q * cos + torch.cat((-x2, x1), -1) * sin"),
        after=(
            "@torch.compile  # one kernel\n"
            "def rotate(q, cos, sin):\n"
            "    x1, x2 = q.chunk(2, -1)\n"
            "    return q * cos + torch.cat((-x2, x1), -1) * sin"
        ),
    ),
    remedy="compile",
    check=check,
    needs=("work", "operators", "links", "shapes"),
)
