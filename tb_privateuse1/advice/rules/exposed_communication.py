"""Exposed communication: no computation runs beside it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import collectives_without_device
from tb_privateuse1.advice.collectives import (
    OTHER,
    ExposedCollectives,
    Use,
    exposed_collectives,
    slow_link,
)
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ANY_PROGRAM
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64

_EVEN = 0.5
"""Share of a rank's waiting that even work saves. Of two ranks it is a half."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield time in which the device communicates only, or a host without one waits for ranks."""
    if case.limits.known == "host":
        yield from _on_host(case)
        return
    kernels = case.trace.kernels
    rows = np.flatnonzero(kernels.communication & case.judged_kernels)
    if not len(rows):
        return
    talk = intervals.intersect(case.time(rows, "kernels"), case.window)
    exposed = case.in_classes("exposed_communication")
    bare = intervals.length(exposed)
    if case.share(bare) < ANY_PROGRAM:
        return
    total_ns = max(intervals.length(talk), 1)
    found = exposed_collectives(case, rows, exposed)
    # Overlap leaves no step shorter than its communication: it hides as much as it runs beside.
    hidden = min(intervals.length(intervals.subtract(case.in_classes("kernel"), talk)), bare)
    yield RuleFinding(
        title=say("Exposed communication: {share} of the time", share=percent(case.share(bare))),
        explanation=say(
            "It is {account} of the analyzed time. {share} of the time in which this rank "
            "communicates, it computes nothing meanwhile. A part of it may be waiting for slower "
            "ranks: the page Ranks tells.{kinds}{use}{most}{link}",
            account=percent(case.share(bare)),
            share=percent(bare / total_ns),
            kinds=_kinds(found, bare),
            use=_SENTENCES.get(found.use, ""),
            most=_most(case, bare - hidden),
            link=_link(case, rows),
        ),
        events=len(rows),
        evidence=case.examples("kernels", found.costliest),
        how=say(
            "Exposed communication of the account: a communication kernel runs, and no other "
            "activity."
        ),
        claim=exposed,
        change=case.change("communication=0"),
        confidence="medium",
        fix=_FIXES.get(found.use),
        source=case.source(kernels.op[found.costliest].astype(np.int64)),
        lacks=case.lacks("stacks", "collectives"),
    )


def _on_host(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield collectives that a later one repeats; else those that are slow in every step."""
    rows = collectives_without_device.host_calls(case)
    again = collectives_without_device.repeated_sums(case, rows)
    claim = collectives_without_device.awaited(case, again)
    if case.share(intervals.length(claim)) >= ANY_PROGRAM:
        yield _repeated(case, again, claim)
        return
    rate = collectives_without_device.slow_rate(case, rows)
    # With even work, a rank works on for half of the time that it waits now: two ranks share it.
    claim = device_bound.shorten(collectives_without_device.awaited(case, rows), _EVEN)
    if rate is not None and case.share(intervals.length(claim)) >= ANY_PROGRAM:
        yield _late(case, rows, claim, rate)


def _repeated(case: RuleContext, rows: I64, claim: intervals.Set) -> RuleFinding:
    return RuleFinding(
        title=say(
            "Gradients are averaged in each part of a batch: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "Several backward passes come before one step of the optimizer, and each sends the "
            "same bytes. {collectives:,} collectives are repeated by the last pass, whose sum "
            "alone is needed: gradients add up on each rank.",
            collectives=len(rows),
        ),
        events=len(rows),
        evidence=case.examples("ops", case.trace.collectives.op[rows].astype(np.int64)),
        how=say(
            "The time of the collectives of all passes but the last one before each step of the "
            "optimizer, as far as no operator computes beside them."
        ),
        claim=claim,
        confidence="medium",
        fix=say(
            "Average once for each step of the optimizer: run all parts but the last under "
            "no_sync() of DistributedDataParallel (FSDP: set_requires_gradient_sync(False)); in "
            "your own code, call all_reduce after the last backward pass only."
        ),
        code=_ONCE,
        source=case.source(case.ops(r"^c10d::")),
    )


def _late(case: RuleContext, rows: I64, claim: intervals.Set, rate: float) -> RuleFinding:
    return RuleFinding(
        title=say(
            "Computation waits for collectives on the host: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "Even the fastest large one moves {rate:,.3g} GB/s only, in all steps, while operators "
            "here move {memory:,.3g} GB/s. Other ranks come later because they have more to do, or "
            "the network is slow: the recordings of the other ranks tell, on the page Ranks.",
            rate=rate,
            memory=(collectives_without_device.host_memory(case.trace) or 0.0) / 1e9,
        ),
        events=len(rows),
        evidence=case.examples("ops", case.trace.collectives.op[rows].astype(np.int64)),
        how=say(
            "Half of the time of these collectives without an operator beside them: if ranks "
            "share their work evenly, this one computes in the other half."
        ),
        claim=claim,
        confidence="low",
        fix=say(
            "Record all ranks. If one of them computes longer, give all ranks batches of the same "
            "cost. If none does, use a faster interface of the network (GLOO_SOCKET_IFNAME) and "
            "send less: bf16 gradients, or accumulation over several steps."
        ),
        code=_EVENLY,
        source=case.source(case.ops(r"^c10d::")),
        lacks=(say("the other ranks: the page Ranks compares them"),),
    )


_ONCE = Code(
    before="for part in parts:\n    loss(model(part)).backward()\noptimizer.step()",
    after=(
        "with model.no_sync():\n"
        "    for part in parts[:-1]:\n"
        "        loss(model(part)).backward()\n"
        "loss(model(parts[-1])).backward()\n"
        "optimizer.step()"
    ),
)
_EVENLY = Code(
    before="share = samples[rank * most : (rank + 1) * most]",
    after="share = sorted(samples, key=len)[rank::world_size]",
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
    "embeddings": say(
        " Most of it exchanges embeddings or their gradients between all ranks: tables are divided "
        "over them."
    ),
}

_FIXES: dict[Use | None, str] = {
    "gradients": say(
        "Start the collectives on a stream of their own while the backward pass runs: "
        "DistributedDataParallel with smaller buckets (bucket_cap_mb), FSDP with prefetching; in "
        "your own code async_op=True, waited for before the optimizer. Send less: bf16 gradients, "
        "or accumulation over several steps."
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
    "embeddings": say(
        "Let the exchange overlap: look up the next batch while the dense part of this one is "
        "computed (torchrec's TrainPipelineSparseDist). Divide tables so that ranks have equal "
        "work, hold small ones on each rank, and send embeddings in bf16 or fp16."
    ),
}


def _most(case: RuleContext, left_ns: int) -> str:
    """Return the sentence on communication that no computation can hide; empty for none."""
    if case.share(left_ns) < ANY_PROGRAM:
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
    looks_for=say(
        "Communication kernels without a compute kernel beside them. On a host alone: sums of "
        "gradients that a later pass repeats, and large collectives that take ten times as long in "
        "each step as the host's memory needs for their bytes."
    ),
    why=say("Ranks that only talk compute nothing."),
    fix=say(
        "Let it overlap: DDP with smaller buckets (bucket_cap_mb) and gradient_as_bucket_view, "
        "FSDP with prefetching; send less (bf16 gradients, accumulation over several steps)."
    ),
    threshold=say(
        "{least} of the step (TraceLens); torch-tb-profiler speaks at 10 % with or without "
        "overlap.",
        least=exact_percent(ANY_PROGRAM),
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
    needs=(),
    precedence="symptom",
)
