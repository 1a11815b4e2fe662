"""Attention that writes its whole score matrix to memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Confidence, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.attention import attention_chains
from tb_privateuse1.i18n import join_sentences, plural, say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.trace.vendor import GENERIC

_GENERAL = r"^aten::_scaled_dot_product_attention_math"
_FUSED = r"_scaled_dot_product_(?!attention)"
"""A backend that builds these of others has no faster one to offer."""
_FAST_PATH = r"^aten::_native_multi_head_attention"
"""torch chooses it for layers without gradients: no line of the program has the products."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield products around a softmax: by hand, or by the general path of torch."""
    chains = attention_chains(case.trace)
    table = chains.table
    softmax = chains.graph.nodes.op[table.softmax]
    own = np.append(case.around(softmax, case.named("ops", _FUSED)) < 0, False)
    group = np.where(own[chains.chain], chains.chain, -1)
    found = fusion.fuse(case, chains.graph, group, table.duration_ns, table.fused_ns)
    if found is None or case.share(intervals.length(found.claim)) < ONE_PLACE:
        return
    forward = found.calls[~table.backward[found.calls]]
    if len(forward):
        found = replace(found, calls=forward)  # these have the program's lines
    rows = found.ops()
    general = case.around(softmax, case.named("ops", _GENERAL)) >= 0
    of_torch = (case.around(softmax, case.named("ops", _FAST_PATH)) >= 0)[found.calls]
    count = len(found.calls)
    sized = chains.graph.nodes.known[np.isin(found.group, found.calls)].all()
    # A backend of its own may have no fused attention: nothing that it calls here shows one.
    exists = case.is_host or case.vendor.name != GENERIC.name
    calls = plural(round(count / max(len(case.steps), 1)), "call")
    yield RuleFinding(
        title=(
            say(
                "Attention takes torch's general path: {calls} {per_step}",
                calls=calls,
                per_step=case.per_step,
            )
            if general[found.calls].all()
            else say(
                "Attention is unfused: {calls} {per_step}", calls=calls, per_step=case.per_step
            )
        ),
        explanation=join_sentences(
            [
                say(
                    "A product, a softmax and another product are separate operators, so each of "
                    "them writes the matrix of all scores to memory, or reads it."
                ),
                fusion.describe(case, found),
            ]
        ),
        events=count,
        evidence=fusion.evidence(case, found),
        how=say(
            "The time of these kernels beyond that of a fused one, which takes as long as its "
            "bytes, or as its products at half of the best rate of products here; and the "
            "host's time for all operators but one, while the device had nothing to do."
        ),
        claim=found.claim,
        removes=fusion.removal(case, found),
        least=_least(table.saved_ns[found.calls], of_torch) if exists and sized else 0.0,
        confidence=_confidence(sized=bool(sized), is_sure=exists and not of_torch.any()),
        source=case.source(rows),
        lacks=case.lacks("shapes", "stacks"),
        fix=_OF_FAST_PATH if of_torch.all() else None,
        by_remedy=not of_torch.all(),
    )


def _confidence(*, sized: bool, is_sure: bool) -> Confidence:
    """Return the confidence: without sizes a fused kernel may take as long as all of these."""
    if not sized:
        return "low"
    return "high" if is_sure else "medium"


def _least(saved_ns: I64, of_torch: Bools) -> float:
    """Return the share of the saving that is in lines of the program.

    Without torch's fast path, what else it fuses takes longer: its calls may save nothing.
    """
    return float(saved_ns[~of_torch].sum() / max(saved_ns.sum(), 1)) if of_torch.any() else 1.0


_OF_FAST_PATH = say(
    "torch's fast path of nn.TransformerEncoderLayer and nn.MultiheadAttention has these products. "
    "Write the layer with torch.nn.functional.scaled_dot_product_attention, or turn the path off "
    "(torch.backends.mha.set_fastpath_enabled(False)). Compare the times: the path fuses other "
    "work, which takes longer without it."
)


RULE = Rule(
    name="attention_math",
    title=say("Attention without a fused kernel"),
    cause="device",
    looks_for=say(
        "A product, a softmax of its result, and a product with that, with scaling, masks, casts "
        "and dropout between; forward and backward, as single operators or inside of "
        "aten::_scaled_dot_product_attention_math."
    ),
    why=say("Time and memory grow with the square of the sequence's length."),
    fix=say(
        "Call torch.nn.functional.scaled_dot_product_attention (in transformers: "
        "attn_implementation='sdpa'), in half precision and with masks that the fused kernels "
        "take (is_causal instead of a full matrix); torch.nn.attention.sdpa_kernel says why one "
        "is refused. A backend registers _fused_sdp_choice and a fused attention for "
        "PrivateUse1."
    ),
    threshold=say("{least} of the step.", least=exact_percent(ONE_PLACE)),
    reference=say("torch.nn.functional.scaled_dot_product_attention; FlashAttention-2."),
    code=Code(
        before=(
            "weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(d) + mask, -1)\n"
            "y = weights @ v"
        ),
        after="y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)",
    ),
    remedy="sdpa",
    check=check,
    needs=("work", "operators", "links"),
)
