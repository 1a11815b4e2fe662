"""Allocations by the device's driver inside the step, which the caching allocator should serve."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import (
    Code,
    Rule,
    RuleContext,
    RuleFinding,
    join_list,
    percent,
    plural,
    say,
)
from tb_privateuse1.analysis.account.classes import NUMBER
from tb_privateuse1.analysis.account.host_activity import LAUNCHES
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64

_RETURNS = r"(?i)free|release|unmap"
_LEAST = 0.005


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the runtime calls that allocate or release in the judged steps."""
    launches, own = case.trace.launches, case.stretches
    here = (own.time_class == NUMBER["device_memory"]) & (own.table == LAUNCHES)
    rows = np.unique(own.row[here]).astype(np.int64)
    claim = case.of_host(case.in_classes("device_memory"))
    if claim is None or case.share(intervals.length(claim)) < _LEAST:
        return
    called = sorted({case.trace.text(name) for name in launches.name[rows]})
    yield RuleFinding(
        title=say(
            "Driver allocations inside the step: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{calls} of {names} within the judged steps. Such calls wait for the device and "
            "take up to milliseconds; the caching allocator makes them unnecessary once it "
            "holds enough.{reason}",
            calls=plural(len(rows), "call"),
            names=join_list(called[:4]),
            reason=_reason(case, rows),
        ),
        events=len(rows),
        evidence=case.examples("launches", rows),
        how=say("The time of these calls while the device had nothing to do."),
        claim=claim,
        removes=case.without(launches=rows),
        confidence="high",
        source=case.source(launches.op[rows].astype(np.int64)),
        lacks=case.lacks("memory", "stacks"),
    )


def _reason(case: RuleContext, rows: I64) -> str:
    """Return why steady steps allocate: memory comes and goes, or it only comes."""
    launches, steps = case.trace.launches, case.trace.steps.take(case.steps)
    returns = case.named("launches", _RETURNS)[rows]
    step = np.searchsorted(steps.start_ns, launches.start_ns[rows], side="right")
    taken, given = np.unique(step[~returns]), np.unique(step[returns])
    if len(steps) < 2 or 2 * len(taken) <= len(steps):
        return ""
    if 2 * len(given) > len(steps):
        return say(
            " Steps return memory and take it again: the caching allocator is off, or it works at "
            "the limit of the memory."
        )
    return say(" Steps take memory and return none: it grows, or shapes change.")


RULE = Rule(
    name="device_malloc",
    title=say("Memory from the driver in the loop"),
    cause="memory",
    looks_for=say("Runtime calls such as cudaMalloc, hipFree, aclrtMalloc within the steps."),
    why=say("Each is a synchronisation, and a sign of memory at its limit or in pieces."),
    fix=say(
        "Leave the first steps out of the profile; keep shapes the same; let segments grow "
        "(expandable_segments:True); do not call empty_cache() in the loop; leave more memory "
        "free."
    ),
    threshold=say("0.5 % of the step: a warm allocator calls none."),
    reference=say("msprof-analyze memory rule (10 ms of aclrtMalloc and aclrtFree)."),
    code=Code(
        before=("for batch in loader:\n    train(batch)\n    torch.accelerator.empty_cache()"),
        after=("for batch in loader:\n    train(batch)"),
    ),
    check=check,
    needs=("device",),
)
