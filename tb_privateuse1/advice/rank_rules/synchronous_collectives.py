"""Synchronous collectives: the host blocks until they end."""

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
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent


def check(case: RankContext) -> Iterator[RankFinding]:
    """Yield exposed transfers that end just before a waiting call returns."""
    blocked_ns = case.average(case.blocked)
    if case.share(blocked_ns) < MANY_PLACES:
        return
    yield RankFinding(
        title=say(
            "The host waits for collectives: {share} of the time",
            share=percent(case.share(blocked_ns)),
        ),
        explanation=say(
            "A synchronizing call returns right behind these collectives. Until then the host "
            "launches nothing, and so nothing can run beside the communication."
        ),
        evidence=tuple(
            RankEvidence(case.numbers[i], say("{time} a step", time=milliseconds(case.blocked[i])))
            for i in case.most(case.blocked)
            if case.blocked[i] > 0
        ),
        how=say(
            "Communication on the device without computation beside it, within a waiting call "
            "that ends less than 0.1 ms behind it, less waiting for other ranks; the mean over "
            "the ranks."
        ),
        saving_ns=blocked_ns,
        confidence="medium",
    )


RULE = RankRule(
    name="synchronous_collectives",
    title=say("Synchronous collectives"),
    looks_for=say("Waiting calls of the host that return right behind a collective."),
    why=say("The host could launch what comes next, and the device compute meanwhile."),
    fix=say(
        "Call with async_op=True and wait() where the result is needed; drop synchronize(), "
        "barriers and .item() behind collectives; TORCH_NCCL_BLOCKING_WAIT=0."
    ),
    threshold=say(
        "{least} of the step: one wait at its end is usual.",
        least=exact_percent(MANY_PLACES),
    ),
    reference=say("torch.distributed: synchronous and asynchronous collectives."),
    check=check,
)
