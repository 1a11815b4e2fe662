"""Fused attention far below the best rate of attention in the same recording."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.distance import LEAST, TILE, CallContext, Words, check_family
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.base import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.analysis.idioms.far_calls import FAR_APART
from tb_privateuse1.analysis.work.models.attention import sizes_of_attention
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.i18n import say

_MULTIPLE = 32
"""Kernels of fused attention are made for heads of such sizes; others are padded."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield fused attention of a shape whose siblings of the same kind and type are faster."""
    yield from check_family(case, ("attention",), _WORDS, _reason)


def _reason(context: CallContext) -> str:
    sizes = sizes_of_attention(context.call, reduced_name(context.call.name))
    if sizes.size % _MULTIPLE:
        return say(
            "Its heads have {size} elements, no multiple of {multiple}: the kernel pads them.",
            size=sizes.size,
            multiple=_MULTIPLE,
        )
    tiles = sizes.batch * sizes.heads * -(-sizes.queries // TILE)
    if context.units is not None and tiles < context.units:
        return say(
            "It has {tiles} blocks of queries for {units} units of the device: take a kernel that "
            "splits the keys as well (flash decoding), or larger batches.",
            tiles=tiles,
            units=context.units,
        )
    if context.kind.reads:
        return say(
            "With {queries} queries a head it reads keys and values, and computes little: its rate "
            "is that of memory.",
            queries=sizes.queries,
        )
    if _has_mask(context):
        return say("It has a mask as a tensor, which keeps it from the fastest kernels.")
    return ""


def _has_mask(context: CallContext) -> bool:
    """Return whether a call reads a fourth tensor of scores: for each query and key."""
    keys = context.call.tensor(1).shape[-2]
    found = [one.shape for one in context.call.tensors() if len(one.shape) >= 2][3:]
    return context.kind.part == "forward" and any(shape[-1] == keys for shape in found)


_WORDS = Words(
    title=lambda shapes: say("Attention far below the best rate here: {shapes}", shapes=shapes),
    fix=say(
        "Give heads 64 or 128 elements; say is_causal=True instead of a mask, or compile "
        "flex_attention; sort sequences by length. For few queries: fewer key heads, a cache in "
        "8 bits, a kernel that splits the keys."
    ),
    tuning="tune_attention",
    on_host=say("On the host, attention with a mask as a tensor reads it for each head."),
)

RULE = Rule(
    name="attention_rates",
    title=say("Attention below the best rate"),
    cause="device",
    looks_for=say(
        "Fused attention of more than 20 µs below {far_apart} of the best sustained rate of its "
        "pass and type. Few queries are compared by bytes. A faster one must have no more work, "
        "and no more for each byte.",
        far_apart=exact_percent(FAR_APART),
    ),
    why=say("The device, or the host, has shown in this recording that it can do better."),
    fix=_WORDS.fix,
    threshold=say(
        "{least} of the step. Kernels of attention suit some shapes better than others.",
        least=exact_percent(LEAST),
    ),
    reference=say("FlashAttention's benchmarks; roofline model."),
    code=Code(
        before="attended = F.scaled_dot_product_attention(q, k, v, attn_mask=lower_triangle)",
        after="attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)",
    ),
    check=check,
    needs=("operators", "shapes"),
)
