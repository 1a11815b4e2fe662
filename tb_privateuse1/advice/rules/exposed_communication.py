"""Exposed communication: no computation runs beside it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.collectives import (
    OTHER,
    ExposedCollectives,
    Use,
    exposed_collectives,
    slow_link,
)
from tb_privateuse1.advice.rules.base import (
    Code,
    Rule,
    RuleContext,
    RuleFinding,
    join_list,
    percent,
    say,
)
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64

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
    found = exposed_collectives(case, rows, exposed)
    # Overlap leaves no step shorter than its communication: it hides as much as it runs beside.
    hidden = min(intervals.length(intervals.subtract(case.in_classes("kernel"), talk)), bare)
    yield RuleFinding(
        title=say("Exposed communication: {share} of the time", share=percent(case.share(bare))),
        explanation=say(
            "{share} of the time in which this rank communicates, it computes nothing "
            "meanwhile. A part of it may be waiting for slower ranks: the distributed view "
            "tells.{kinds}{use}{most}{link}",
            share=percent(bare / total_ns),
            kinds=_kinds(found, bare),
            use=_SENTENCES.get(found.use, ""),
            most=_most(case, bare - hidden),
            link=_link(case, rows),
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
        fix=_FIXES.get(found.use),
        source=case.source(kernels.op[rows].astype(np.int64)),
        lacks=case.lacks("stacks", "collectives"),
    )


_SENTENCES: dict[Use | None, str] = {
    "gradients": say(
        " Most of it is launched in the backward pass, which goes on behind it and reads no "
        "gradient that the ranks sum: its kernels could run beside the collectives."
    ),
    "tensor_parallel": say(
        " Most of it is in the forward pass, where the next product waits for the sum over the "
        "ranks: parts of the model are split over them."
    ),
    "experts": say(" Most of it exchanges data between all ranks, as experts do with tokens."),
}

_FIXES: dict[Use | None, str] = {
    "gradients": say(
        "Start the collectives on a stream of their own while the backward pass runs: "
        "DistributedDataParallel with smaller buckets (bucket_cap_mb), FSDP with prefetching; by "
        "hand with async_op=True, waited for before the optimizer. Send less: bf16 gradients, or "
        "accumulation over several steps."
    ),
    "tensor_parallel": say(
        "Split a product so that parts of its sum are sent while the rest is computed "
        "(torch's async tensor parallelism), use sequence parallelism, split over fewer ranks that "
        "have the fastest links, or use a fused all_reduce for small batches."
    ),
    "experts": say(
        "Let the exchange overlap: a second micro-batch or the shared expert computes meanwhile "
        "(DeepEP, two-batch overlap). Send less: tokens in fp8, experts near their tokens."
    ),
}


def _most(case: RuleContext, left_ns: int) -> str:
    """Return the sentence on communication that no computation can hide; empty for none."""
    if case.share(left_ns) < _LEAST:
        return ""
    return say(
        " Overlap alone leaves {left} of the time, since there is no computation beside which to "
        "run: only less data, faster links, or ranks that arrive earlier shorten that.",
        left=percent(case.share(left_ns)),
    )


def _kinds(found: ExposedCollectives, bare: int) -> str:
    """Return the sentence on the kinds of collectives; empty if none is recorded."""
    known = sorted(
        ((ns, name) for name, ns in found.by_kind.items() if name != OTHER), reverse=True
    )
    parts = [f"{percent(min(ns / bare, 1.0))} {name}" for ns, name in known[:3] if ns]
    return say(" Of that time: {parts}.", parts=join_list(parts)) if parts else ""


def _link(case: RuleContext, rows: I64) -> str:
    """Return the sentence on links that are hardly used; empty if they are, or it is not known."""
    slow = slow_link(case, rows)
    if slow is None:
        return ""
    return say(
        " The fastest of the large ones moves {rate:,.3g} GB/s, while {link} between the devices "
        "of a node carries {printed:,.3g} GB/s: the library's log says which way it takes "
        "(NCCL_DEBUG=INFO and the like).",
        rate=slow.rate / 1e9,
        printed=slow.printed / 1e9,
        link=slow.name,
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
