"""Matrix products in full precision on a device with a faster mode."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import Rule, RuleContext, RuleFinding, percent, say
from tb_privateuse1.analysis.idle import bottleneck
from tb_privateuse1.trace import intervals

_LEAST = 0.02
_SAVED = 0.5


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the kernels that the vendor's data recognize by name."""
    pattern = case.vendor.slow_products
    if pattern is None:
        return
    rows = case.kernels(pattern.pattern)
    claim = bottleneck.shorten(case.of_device(case.time(rows, "kernels")), _SAVED)
    if case.share(intervals.length(claim)) < _LEAST:
        return
    yield RuleFinding(
        title=say(
            "Matrix products in full float32: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{kernels:,} kernels multiply in float32 on the general units. The matrix units of "
            "this device take TF32, several times as fast, with the exponents of float32 and "
            "fewer digits.",
            kernels=len(rows),
        ),
        events=len(rows),
        evidence=case.examples("kernels", rows),
        how=say(
            "Half of their time while others waited for the device: the units are eight times "
            "as fast, but memory is not."
        ),
        claim=claim,
        removes=case.without(kernels=rows, share=_SAVED),
        confidence="medium",
        source=case.source(case.trace.kernels.op[rows].astype(np.int64)),
    )


RULE = Rule(
    name="slow_products",
    title=say("Products in full precision"),
    cause="device",
    looks_for=say(
        "Kernels of products that do not use the matrix units, on devices that have a faster "
        "mode (vendor data `slow_products`)."
    ),
    why=say("Most of the device's arithmetic lies idle."),
    fix=say("torch.set_float32_matmul_precision('high'), or mixed precision (torch.autocast)."),
    threshold=say("2 % of the step: fewer digits are a decision."),
    reference=say("torch's FP32MatMulPattern; torch-tb-profiler's tensor core rule."),
    check=check,
    needs=("device",),
)
