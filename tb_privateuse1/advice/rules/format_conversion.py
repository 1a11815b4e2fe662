"""Kernels that convert tensors from or to a memory format of the device's own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.advice import device_time
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import USUAL
from tb_privateuse1.i18n import join_list, plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.table import I64

_NOTED = 0.05
"""Share of the device's work: a few conversions are in every model."""
_TOP = 4
"""Names in the sentence."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the conversions, by the vendor's names of kernels."""
    pattern = case.vendor.conversion_names
    if pattern is None or not len(rows := case.kernels(pattern.pattern)):
        return
    spent = case.time(rows, "kernels")
    work, claim = device_time.busy_share(case, spent), device_time.of_device(case, spent)
    kernels = plural(len(rows), "kernel")
    note = RuleFinding(
        title=say(
            "{kernels} only convert formats: {work} of the device's work",
            kernels=kernels,
            work=percent(work),
        ),
        explanation=say(
            "{kernels} convert tensors between the plain format and one of the device's own, "
            "most in {operators}: {work} of the device's work.",
            kernels=kernels,
            operators=_operators(case, rows),
            work=percent(work),
        ),
        events=len(rows),
        evidence=case.examples("kernels", rows),
        how=say("Nothing waits for them now: they count once the host keeps ahead."),
        confidence="medium",
        source=case.source(np.unique(case.trace.kernels.op[rows]).astype(np.int64)),
    )
    is_much = work >= _NOTED
    share = case.share(intervals.length(claim))
    if share >= USUAL:
        yield replace(
            note,
            title=say(
                "Converting tensors between formats takes {share} of the time",
                share=percent(share),
            ),
            how=say("Their time while others waited for the device. Some conversions are needed."),
            claim=claim,
            removes=case.without(kernels=rows),
            note=note if is_much else None,
        )
    elif is_much:
        yield note


def _operators(case: RuleContext, rows: I64) -> str:
    """Return the operators with most of the conversions' time."""
    kernels, ops = case.trace.kernels, case.trace.ops
    known = rows[kernels.op[rows] >= 0]
    names, group = np.unique(ops.name[kernels.op[known]], return_inverse=True)
    total = groupby.sums(group, kernels.end_ns[known] - kernels.start_ns[known], len(names))
    order = np.argsort(-total, kind="stable")[:_TOP]
    return join_list(case.trace.text(names[i]) for i in order) or say("no known operator")


RULE = Rule(
    name="format_conversion",
    title=say("Conversions between memory formats"),
    cause="fallback",
    looks_for=say(
        "Kernels that the vendor's libraries put around operators of another memory format "
        "(TransData on Ascend)."
    ),
    why=say("They read and write all of a tensor and compute nothing."),
    fix=say(
        "In the backend: let neighboring operators take and return the same format, and choose "
        "the plain one where a product is small. In the program: convert weights once "
        "(torch_npu.npu_format_cast), or allow no formats of its own "
        "(torch.npu.config.allow_internal_format = False)."
    ),
    threshold=say(
        "{least} of the step: a few are in every model. If nothing waits for them: a note from "
        "{noted} of the device's work.",
        least=exact_percent(USUAL),
        noted=exact_percent(_NOTED),
    ),
    reference=say("msprof-analyze's TransData rule."),
    code=Code(
        before="// convolution: convert to its own format, compute, convert back",
        after="// convolution: result in its own format, which add, relu and pool take, too",
    ),
    check=check,
    needs=("device",),
)
