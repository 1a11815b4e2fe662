"""Matrix products in full precision on a device with a faster mode."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import device_time, fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent, percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.idioms import slow_products
from tb_privateuse1.analysis.idioms.fused_kernel_rates import reachable
from tb_privateuse1.analysis.idioms.slow_products import Slow
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.vendor import GENERIC

_SAVED = 0.5
"""Half precision moves half of the bytes, where nothing is known of the device's units."""
_MUCH = 0.1
"""Of the judged time, for a note without a saving."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield float32 products: by names of kernels, by the data sheet, or by their measured rate."""
    for slow, explanation, how in (_by_name(case), _by_data_sheet(case), _by_rate(case)):
        judged = case.judged_kernels[slow.rows] & ~fusion.in_chains(case)[slow.rows]
        found = slow.where(judged)
        claim = device_time.claim_of(case, found)
        spent = case.share(intervals.length(case.time(found.rows, "kernels")))
        is_known = bool(found.shares.any())
        if (case.share(intervals.length(claim)) < MANY_PLACES) if is_known else spent < _MUCH:
            continue
        yield RuleFinding(
            title=say(
                "Products in float32 keep the device busy {busy} of the time", busy=percent(spent)
            ),
            explanation=explanation,
            events=len(found.rows),
            evidence=case.examples("kernels", found.rows),
            how=how,
            claim=claim if is_known else None,
            removes=device_time.removal_of(case, found),
            confidence="medium" if is_known else "low",
            source=case.source(case.trace.kernels.op[found.rows].astype(np.int64)),
            lacks=case.lacks("shapes"),
        )
        return


def _by_name(case: RuleContext) -> tuple[Slow, str, str]:
    pattern = case.vendor.slow_products
    named = case.kernels(pattern.pattern) if pattern else np.empty(0, np.int64)
    return (
        Slow(named, np.full(len(named), _SAVED)),
        say(
            "{kernels:,} kernels multiply in float32 on the general units. The matrix units of "
            "this device take TF32, several times as fast, with the exponents of float32 and "
            "fewer digits.",
            kernels=len(named),
        ),
        say(
            "Half of their time while others waited for the device: the units are eight times "
            "as fast, but memory is not."
        ),
    )


def _by_data_sheet(case: RuleContext) -> tuple[Slow, str, str]:
    slow = slow_products.full_precision(case.trace)
    return (
        slow,
        say(
            "{kernels:,} kernels multiply in float32. By the data sheet, the matrix units of this "
            "device are several times as fast with bfloat16 or float16.",
            kernels=len(slow.rows),
        ),
        say(
            "Their time less what it would be at the same share of the peak for half precision, "
            "and at least half of their bytes, while others waited for the device."
        ),
    )


def _by_rate(case: RuleContext) -> tuple[Slow, str, str]:
    slow, rates = slow_products.without_units(case.trace), reachable(case.trace)
    if case.vendor.name == GENERIC.name:
        slow = slow.where(np.zeros(len(slow.rows), np.bool_))  # it may have no matrix unit at all
    return (
        slow,
        say(
            "{kernels:,} products in float32 reach at most {rate:,.3g} TFLOP/s, where element-wise "
            "work moves {memory:,.3g} GB/s, and they wait for memory as little. No matrix unit "
            "is that slow, so none computes them.",
            kernels=len(slow.rows),
            rate=rates.products.get("fp32", 0.0) / 1e12,
            memory=(rates.memory or 0.0) / 1e9,
        ),
        say(
            "Not known: the data sheet of this device is not, so half precision may be as slow "
            "here. The backend's author knows whether there is a matrix unit."
        ),
    )


RULE = Rule(
    name="slow_products",
    title=say("Products in full precision"),
    cause="device",
    looks_for=say(
        "Products in float32: by kernels that do not use the matrix units (vendor data "
        "slow_products), by the data sheet's rates, or by a rate like that of element-wise work."
    ),
    why=say("Most of the device's arithmetic lies idle."),
    fix=say(
        "Mixed precision (torch.autocast), or torch.set_float32_matmul_precision('high') where "
        "the device has TF32. A backend whose products are slow in every type lacks a kernel for "
        "its matrix unit."
    ),
    threshold=say(
        "{least} of the step: fewer digits are a decision.", least=exact_percent(MANY_PLACES)
    ),
    reference=say("torch's FP32MatMulPattern; torch-tb-profiler's tensor core rule."),
    code=Code(
        before="loss = model(x)",
        after=(
            'torch.set_float32_matmul_precision("high")  # TF32\n'
            "with torch.autocast(x.device.type, torch.bfloat16):\n"
            "    loss = model(x)"
        ),
    ),
    check=check,
    needs=("work",),
)
