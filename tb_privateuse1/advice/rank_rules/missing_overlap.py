"""Exposed transfers: no computation runs beside them."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.rank_rules.rank_rule import (
    RankContext,
    RankEvidence,
    RankFinding,
    RankRule,
    milliseconds,
)
from tb_privateuse1.advice.rules.rule import exact_percent
from tb_privateuse1.advice.thresholds import ANY_PROGRAM
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent

_HIDDEN = 0.5
"""Share of the communication beside computation. DistributedDataParallel hides it beside the
backward pass (S. Li et al., PyTorch Distributed, 2020); the eight shared recordings with
communication kernels reach 0 to 46 %."""


def check(case: RankContext) -> Iterator[RankFinding]:
    """Yield exposed communication minus waits for other ranks and blocking of the host."""
    if all(part.on_host for part in case.parts):
        return
    bare = case.average(case.transfers)
    talk = case.average(case.mean("communication_ns"))
    hidden = case.average(case.mean("overlap_ns")) / talk if talk else 1.0
    if case.share(bare) < ANY_PROGRAM or hidden >= _HIDDEN:
        return
    unknown = (
        say(
            " But {count:,} ranks are not here: a part may be waiting for them.",
            count=len(case.absent),
        )
        if case.absent
        else ""
    )
    yield RankFinding(
        title=say(
            "Transfers that no computation hides: {share} of the time",
            share=percent(case.share(bare)),
        ),
        explanation=say(
            "Of the communication {share} run beside computation. Waiting for other ranks is "
            "not counted here: this is what the transfers themselves take.{unknown}",
            share=percent(hidden),
            unknown=unknown,
        ),
        evidence=tuple(
            RankEvidence(
                case.numbers[i], say("{time} a step", time=milliseconds(case.transfers[i]))
            )
            for i in case.most(case.transfers)
            if case.transfers[i] > 0
        ),
        how=say(
            "Communication without computation beside it, less waiting for other ranks and "
            "what the host waits for; the mean over the ranks. At most so much can be hidden."
        ),
        saving_ns=bare,
        confidence="low" if case.absent else "medium",
    )


RULE = RankRule(
    name="missing_overlap",
    title=say("Communication and computation take turns"),
    looks_for=say("Communication of which less than half runs beside computation."),
    why=say("Devices that only talk compute nothing."),
    fix=say(
        "Start gradients' collectives during the backward pass (DDP with smaller buckets, FSDP "
        "with backward_prefetch and forward_prefetch), on a stream of their own; split large "
        "ones; send less (bf16 gradients, accumulation)."
    ),
    threshold=say(
        "{least} of the step (TraceLens), and less than half hidden.",
        least=exact_percent(ANY_PROGRAM),
    ),
    reference=say("HTA communication computation overlap; TraceLens."),
    check=check,
)
