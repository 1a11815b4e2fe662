"""Exposed communication: no computation runs beside it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import Code, Rule, RuleContext, RuleFinding, percent, say
from tb_privateuse1.trace import intervals

_LEAST = 0.05


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the time in which the device communicates and computes nothing."""
    kernels = case.trace.kernels
    rows = np.flatnonzero(kernels.communication & case.judged_kernels)
    if not len(rows):
        return
    talk = intervals.intersect(case.time(rows, "kernels"), case.window)
    exposed = case.in_classes("exposed_communication")
    bare = intervals.length(exposed)
    if case.share(bare) < _LEAST:
        return
    total_ns = max(intervals.length(talk), 1)
    yield RuleFinding(
        title=say(
            "Communication that nothing hides: {share} of the time", share=percent(case.share(bare))
        ),
        explanation=say(
            "{share} of the time in which this rank communicates, it computes nothing "
            "meanwhile. A part of it may be waiting for slower ranks: the distributed view "
            "tells.",
            share=percent(bare / total_ns),
        ),
        events=len(rows),
        evidence=case.examples("kernels", rows),
        how=say(
            "Exposed communication of the account: a communication kernel runs, and no other "
            "activity."
        ),
        claim=exposed,
        removes=case.without(kernels=rows),
        confidence="medium",
        source=case.source(kernels.op[rows].astype(np.int64)),
        lacks=case.lacks("stacks", "collectives"),
    )


RULE = Rule(
    name="exposed_communication",
    title=say("Exposed communication"),
    cause="communication",
    looks_for=say("Communication kernels without a compute kernel beside them."),
    why=say("Ranks that only talk compute nothing."),
    fix=say(
        "Let it overlap: DDP with smaller buckets (bucket_cap_mb) and gradient_as_bucket_view, "
        "FSDP with prefetching; send less (bf16 gradients, accumulation over several steps)."
    ),
    threshold=say(
        "5 % of the step (TraceLens); torch-tb-profiler speaks at 10 % with or without overlap."
    ),
    reference=say("TraceLens exposed communication; torch-tb-profiler communication rule."),
    code=Code(
        before=("loss.backward()\nfor p in model.parameters():\n    dist.all_reduce(p.grad)"),
        after=(
            "model = DistributedDataParallel(model, gradient_as_bucket_view=True)\n"
            "loss.backward()  # buckets are sent while the rest is computed"
        ),
    ),
    check=check,
    needs=("device",),
    precedence="symptom",
)
