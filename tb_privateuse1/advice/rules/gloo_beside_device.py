"""Collectives of device tensors that gloo runs on the host."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals

_NAMES = r"^gloo:"


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the ranges of gloo while the device was idle."""
    rows = case.ops(_NAMES)
    claim = case.of_host(case.time(rows))
    if claim is None or case.share(intervals.length(claim)) < ONE_PLACE:
        return
    yield RuleFinding(
        title=say(
            "Communication runs on the host, by gloo: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{collectives:,} collectives ran on the host while the device had nothing to do. "
            "Tensors of the device are copied to the host and back for each.",
            collectives=len(rows),
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=say("The time of these collectives while the device had nothing to do."),
        claim=claim,
        confidence="high",
        source=case.source(rows),
    )


RULE = Rule(
    name="gloo_beside_device",
    title=say("Communication by gloo"),
    cause="communication",
    looks_for=say("“gloo:” ranges in a trace with device activities."),
    why=say(
        "The host's network is slower than the devices' own links, and the copies come on top."
    ),
    fix=say(
        "init_process_group with the device's backend (nccl, rccl, xccl, hccl, cncl), gloo only "
        "for tensors of the host: backend='cpu:gloo,cuda:nccl'."
    ),
    threshold=say(
        "{least} of the step; a barrier by gloo now and then is fine.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("torch-tb-profiler: DDP without NCCL."),
    code=Code(
        before='dist.init_process_group("gloo")',
        after="dist.init_process_group()  # the library of each type of device",
    ),
    check=check,
    needs=("device",),
)
