"""Attention that writes its whole score matrix to memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import Rule, RuleContext, RuleFinding, percent, say
from tb_privateuse1.trace import intervals

_NAMES = r"^aten::_scaled_dot_product_attention_math$"
_PRODUCTS = r"^aten::(mm|bmm|matmul|baddbmm|addmm)$"
_LEAST = 0.01


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the kernels of attention's general path besides its two products."""
    is_attention = case.named("ops", _NAMES)
    rows = case.launched_by(is_attention)
    launcher = case.trace.kernels.op[rows]
    product = case.around(launcher, case.named("ops", _PRODUCTS)) >= 0
    claim = case.of_device(case.time(rows[~product], "kernels"))
    host = case.of_host(case.time(case.ops(_NAMES)))
    claim = intervals.merge(claim, host or intervals.EMPTY)
    if case.share(intervals.length(claim)) < _LEAST:
        return
    calls = np.unique(case.around(launcher, is_attention))
    yield RuleFinding(
        title=say(
            "Attention is computed step by step: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{calls:,} calls took torch's general path: it writes the matrix of all scores to "
            "memory, scales, masks and normalises it there, and reads it again.",
            calls=len(calls),
        ),
        events=len(calls),
        evidence=case.examples("ops", calls),
        how=say(
            "Activities of these calls beside the two products, while others waited for the "
            "device, and the host's time while the device had nothing to do. The fused kernel "
            "does that on the way."
        ),
        claim=claim,
        removes=case.without(ops=case.ops(_NAMES), kernels=rows[~product]),
        confidence="high",
        source=case.source(calls),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="attention_math",
    title=say("Attention without a fused kernel"),
    cause="device",
    looks_for=say("`aten::_scaled_dot_product_attention_math`."),
    why=say("Time and memory grow with the square of the sequence's length."),
    fix=say(
        "Use half precision and a mask that the fused kernels take (is_causal instead of a full "
        "matrix); torch.nn.attention.sdpa_kernel says why one is refused. A backend registers "
        "`_fused_sdp_choice` and a fused attention for PrivateUse1."
    ),
    threshold=say("1 % of the step."),
    reference=say("torch.nn.functional.scaled_dot_product_attention."),
    check=check,
    needs=("device", "operators", "links"),
)
