"""Blocking launches: each launch returns after its kernel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ANY_PROGRAM
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import KERNEL

_MOST, _MANY = 0.9, 50
"""Share of the launches that block, and launches: a few end after a short kernel by chance."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield launching calls or operators if nearly all end after their kernel."""
    trace = case.trace
    kernels, launches = trace.kernels, trace.launches
    is_linked = (kernels.kind == KERNEL) & ~kernels.communication & (kernels.launch >= 0)
    rows = np.flatnonzero(is_linked & case.judged_kernels)
    if len(rows) < _MANY:
        return
    call = kernels.launch[rows]
    blocks = launches.end_ns[call] >= kernels.end_ns[rows]
    claim = case.idle
    if blocks.mean() < _MOST or case.share(intervals.length(claim)) < ANY_PROGRAM:
        return
    yield RuleFinding(
        title=say(
            "Every launch waits for its kernel: the device idles {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{share} of {launches:,} launches returned only after their kernel had ended. Host "
            "and device take turns: neither runs ahead.",
            share=percent(float(blocks.mean())),
            launches=len(rows),
        ),
        events=int(blocks.sum()),
        evidence=case.examples("launches", call[blocks].astype(np.int64)),
        how=say(
            "All time in which the device had nothing to do because the next launch came late."
        ),
        claim=claim,
        confidence="high",
    )


RULE = Rule(
    name="launch_blocking",
    title=say("Blocking launches"),
    cause="waiting",
    looks_for=say("Launching calls of which nine in ten end after the kernel that they started."),
    why=say("A debugging mode of the runtime; nothing overlaps."),
    fix=say(
        "Unset CUDA_LAUNCH_BLOCKING (AMD_SERIALIZE_KERNEL, ASCEND_LAUNCH_BLOCKING); on an own "
        "backend, return from a launch when it is queued."
    ),
    threshold=say(
        "Nine in ten of {many} launches, and {least} of the step to gain: single ones are chance.",
        many=_MANY,
        least=exact_percent(ANY_PROGRAM),
    ),
    reference=say("msprof-analyze environment rules."),
    remedy="queued_launches",
    check=check,
    needs=("device", "links"),
)
