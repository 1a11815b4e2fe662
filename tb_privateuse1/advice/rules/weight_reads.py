"""Products with few rows: their time is that of reading the weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import device_time, fusion
from tb_privateuse1.advice.rules.base import Code, Rule, RuleContext, RuleFinding, percent, say
from tb_privateuse1.analysis.idioms import products
from tb_privateuse1.analysis.idioms.rates import printed_memory
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.trace import intervals

_LEAST, _MUCH = 0.03, 0.1


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield products that wait for one operand, with their time above the memory's roof."""
    slow = products.weight_reads(case.trace)
    found = slow.where((case.judged_kernels & ~fusion.in_chains(case))[slow.rows])
    spent = device_time.of_device(case, case.time(found.rows, "kernels"))
    if case.share(intervals.length(spent)) < _MUCH:
        return
    kernels, rows = case.trace.kernels, device_rates(case.trace).rows
    claim = device_time.claim_of(case, found)
    saves = case.share(intervals.length(claim)) >= _LEAST
    size = float(rows.bytes[found.rows].sum())
    rate = size / max(float(rows.duration_ns[found.rows].sum()), 1.0)
    yield RuleFinding(
        title=say(
            "Products wait for their weights: {rate:,.4g} GB/s, {part} of what memory reaches",
            rate=rate,
            part=percent(rate * 1e9 / printed_memory(case.trace)),
        ),
        explanation=say(
            "{products:,} products have so few rows that reading one operand takes longer than "
            "the arithmetic: {size:,.3g} GB a step. More rows at a time cost next to nothing.",
            products=len(found.rows),
            size=size / 1e9 / max(len(case.steps), 1),
        ),
        events=len(found.rows),
        evidence=case.examples("kernels", found.rows),
        how=(
            say(
                "Their time beyond that of their bytes at the rate that memory reaches, float32 "
                "with half of them, while others waited for the device. Fewer bytes save more."
            )
            if saves
            else say("None without fewer bytes: they read at the rate that memory reaches.")
        ),
        claim=claim if saves else None,
        removes=device_time.removal_of(case, found),
        confidence="medium",
        source=case.source(kernels.op[found.rows].astype(np.int64)),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="weight_reads",
    title=say("Products that wait for their weights"),
    cause="device",
    looks_for=say(
        "Products whose bytes, three quarters of them one operand, take twice as long as their "
        "arithmetic; in a graph's replay with the operands of its capture."
    ),
    why=say("Each step of decoding reads all weights for a few rows of activations."),
    fix=say(
        "Batch more requests; keep float32 weights in bf16, others in fp8 or int8 (half of the "
        "bytes); use kernels for few rows (split over the inner size), or speculative decoding."
    ),
    threshold=say("10 % of the step is in such products."),
    reference=say("Roofline model; vLLM and SGLang on quantized weights."),
    code=Code(
        before="model.generate(prompt)  # one sequence",
        after="model.generate(prompts)  # many: the weights are read once for all of them",
    ),
    check=check,
    needs=("device", "shapes"),
)
