"""Matrix products with few rows in inference: their time is that of reading the weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import device_time, fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.idioms import slow_products
from tb_privateuse1.analysis.idioms.adjacent_passes import AdjacentPasses, adjacent_passes
from tb_privateuse1.analysis.idioms.fused_kernel_rates import printed_memory
from tb_privateuse1.analysis.idioms.paired_passes import paired_passes
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.analysis.steps.training_phases import find_passes
from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals

_MUCH = 0.1
"""Share of the step: a tenth is worth a day's work (``engine``), as the fix changes the model."""


_PASSES = Code(
    before="given, free = model(x, label), model(x, none)",
    after="given, free = model(x.repeat(2, 1), torch.cat((label, none))).chunk(2)",
)


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield products of inference that wait for one operand, else passes that fit one batch."""
    if len(find_passes(case.trace).backward_ns):
        return
    found = [*_on_weights(case)]
    yield from found or _on_passes(case)


def _on_passes(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield two passes in a row whose results are compared."""
    passes = paired_passes(case.trace)
    if passes is None:
        return
    known = "shapes" in case.has
    slow = passes.most.where(case.judged_kernels[passes.most.rows])
    claim = device_time.claim_of(case, slow)
    if case.share(intervals.length(claim)) < MANY_PLACES:
        return
    yield RuleFinding(
        title=say(
            "Two passes of {module} in a row may fit into one batch: {share} of the time",
            module=passes.module,
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{calls:,} calls of {module} directly follow one of equal shapes, and the first "
            "operator behind them reads both results. One batch reads the weights once and starts "
            "each kernel once.",
            calls=passes.calls,
            module=passes.module,
        )
        if known
        else say(
            "{calls:,} calls of {module} directly follow one with equal operators, and behind them "
            "two tensors are compared or joined. Which tensors they are was not recorded.",
            calls=passes.calls,
            module=passes.module,
        ),
        events=passes.calls,
        evidence=case.examples("kernels", slow.rows),
        how=say(
            "The start-up of each kernel of the second passes, and what reading their weights "
            "takes at most: the time that products of equal weights with more and fewer rows leave "
            "for no rows. Where reading is hidden behind arithmetic, it is nothing."
        )
        if known
        else say(
            "The device's time of the second passes. A batch of both takes as long as one pass "
            "where launches or weights take the time, and as long as two where arithmetic does."
        ),
        claim=claim,
        removes=device_time.removal_of(case, slow),
        may_vanish=True,
        confidence="low",
        source=case.source(case.trace.kernels.op[slow.rows].astype(np.int64)),
        lacks=case.lacks("stacks"),
        fix=say(
            "If the second pass does not read the first one's result, run both as one batch: "
            "torch.cat of their inputs, then chunk."
        ),
        code=_PASSES,
    )


def _on_weights(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield products that wait for one operand, with what is known to be saved."""
    slow = slow_products.weight_reads(case.trace)
    found = slow.where((case.judged_kernels & ~fusion.in_chains(case))[slow.rows])
    spent = device_time.of_device(case, case.time(found.rows, "kernels"))
    if case.share(intervals.length(spent)) < _MUCH:
        return
    kernels, rows = case.trace.kernels, device_rates(case.trace).rows
    claim = device_time.claim_of(case, found)
    saves = case.share(intervals.length(claim)) >= MANY_PLACES
    size = float(rows.bytes[found.rows].sum())
    passes = adjacent_passes(case.trace, kernels.op[found.rows].astype(np.int64))
    rate = size / max(float(rows.duration_ns[found.rows].sum()), 1.0)
    yield RuleFinding(
        title=say(
            "Products with few rows read their weights at {rate:,.4g} GB/s, {part} of what memory "
            "reaches",
            rate=rate,
            part=percent(rate * 1e9 / printed_memory(case.trace)),
        ),
        explanation=_explanation(case, len(found.rows), size, passes),
        events=len(found.rows),
        evidence=case.examples("kernels", found.rows),
        how=(
            say(
                "Half of the time in which float32 weights are read, and time beyond the best rate "
                "of products with no more bytes, while others waited for the device."
            )
            if saves
            else say(
                "None is known without fewer bytes: no product of as few bytes reads much faster."
            )
        ),
        claim=claim if saves else None,
        removes=device_time.removal_of(case, found),
        confidence="medium",
        source=case.source(kernels.op[found.rows].astype(np.int64)),
        lacks=case.lacks("stacks"),
        fix=say(
            "If the second of two passes does not read the first one's result, run both as one "
            "batch (torch.cat, then chunk): they share one reading of the weights. Else keep "
            "float32 weights in bf16, others in fp8 or int8 (half of the bytes)."
        )
        if passes
        else None,
        code=_PASSES if passes else None,
    )


def _explanation(
    case: RuleContext, products: int, size: float, passes: AdjacentPasses | None
) -> str:
    """Return what the products of ``size`` bytes wait for, and the passes that share it."""
    reading = say(
        "{products:,} products have so few rows that reading one operand takes longer than "
        "the arithmetic: {size:,.3g} GB {per_step}.",
        products=products,
        size=size / 1e9 / max(len(case.steps), 1),
        per_step=case.per_step,
    )
    if passes is None:
        return reading
    again = say(
        "{calls:,} calls of {module} directly follow one of equal shapes, and read the same "
        "weights again.",
        calls=passes.calls,
        module=passes.module,
    )
    return join_sentences([reading, again])


RULE = Rule(
    name="weight_reads",
    title=say("Products that wait for their weights"),
    cause="device",
    looks_for=say(
        "Products without a backward pass whose bytes, three quarters of them one operand, take "
        "twice as long as their arithmetic, or read at the rate of memory; in a graph's replay "
        "with the operands of its capture. Else two calls of a module with equal products in a "
        "row, whose results the next operator reads both and does not add up."
    ),
    why=say("Each step of decoding reads all weights for a few rows of activations."),
    fix=say(
        "Keep float32 weights in bf16, others in fp8 or int8 (half of the bytes); use kernels for "
        "few rows (split over the inner size). If this serves requests, batch more of them, or "
        "decode speculatively: all rows of a call share one reading."
    ),
    threshold=say(
        "{much} of the step is in such products; a saving from {least} of the step on, else a "
        "note.",
        much=exact_percent(_MUCH),
        least=exact_percent(MANY_PLACES),
    ),
    reference=say("Roofline model; vLLM and SGLang on quantized weights."),
    code=Code(
        before="model = Model().eval()  # weights in float32",
        after="model = Model().eval().to(torch.bfloat16)  # half of the bytes to read",
    ),
    check=check,
    needs=("device",),
    partly=("shapes",),
)
