"""Operators with a data-dependent result size: the host waits for the device to compute it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import groupby, intervals

_NAMES = (
    r"^aten::(nonzero|masked_select|unique\w*|_unique2?|repeat_interleave|bincount|combinations"
    r"|_?index(_put)?(_impl)?_?)$"
)
"""Indexing makes the host wait only with a mask: its number of true elements is a size."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the waits inside operators with a result of unknown size."""
    is_dynamic = case.named("ops", _NAMES)
    waits = case.waits_in(is_dynamic)
    claim = case.idle_by_waits(waits)
    if case.share(intervals.length(claim)) < ONE_PLACE:
        return
    waiting = case.around(case.limits.waits.op[waits], is_dynamic)
    rows = case.outermost(groupby.distinct_values(waiting).astype(np.int64))
    yield RuleFinding(
        title=say(
            "Results of unknown size make the host wait: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{calls} of nonzero, masked_select, unique or an index with a mask: the host must "
            "know how large the result is before it can go on, so it waits for the device, "
            "which then stands still.",
            calls=plural(len(rows), "call"),
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=say(
            "After each wait, the time in which the device had nothing to do, at most as long "
            "as the wait."
        ),
        claim=claim,
        removes=case.without(waits=waits),
        confidence="high",
        source=case.source(rows),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="dynamic_result",
    title=say("Results of unknown size"),
    cause="waiting",
    looks_for=say(
        "Waits inside of aten::nonzero, masked_select, unique, repeat_interleave, and of "
        "an index with a mask."
    ),
    why=say("A shape that depends on data cannot be known before the device has computed it."),
    fix=say(
        "Use torch.where or multiply by the mask instead of indexing with it; give "
        "repeat_interleave its output_size; pad to a fixed size."
    ),
    threshold=say(
        "{least} of the step, as for values that are read.", least=exact_percent(ONE_PLACE)
    ),
    reference=say("PyTorch performance tuning guide; msprof-analyze's synchronize-stream rule."),
    code=Code(
        before="loss = losses[mask].mean()",
        after="loss = (losses * mask).sum() / mask.sum()",
    ),
    check=check,
    needs=("device", "operators"),
)
