"""Copies between host and device that block the host."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.awaited_results import (
    MANY,
    answered,
    are_gathered,
    are_read_together,
    copies_that_wait,
)
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.steps.training_phases import find_passes
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64

_PAGEABLE = r"[Pp]ageable"


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the waits inside copies that no other rule reports.

    Results that other code answers with new data are awaited whatever kind of copy it is: of them
    only single items are claimed, which could be many. Where nothing trains, the next step may need
    what the last one gave, or there may be no next request: such results may save nothing.
    """
    table = case.limits.waits
    waits = copies_that_wait(case)
    items = answered(case, waits)
    yield from _needed(case, waits[items > 1])
    waits = waits[items <= 1]
    claim, gathered = case.idle_by_waits(waits), are_gathered(case, waits)
    if case.share(intervals.length(claim)) < (MANY if gathered else ONE_PLACE):
        return
    ops = np.unique(table.op[waits]).astype(np.int64)
    together = are_read_together(case, waits)
    is_open = together and not len(find_passes(case.trace).backward_ns)
    single = case.idle_by_waits(waits[items[items <= 1] == 1])
    are_items = 2 * intervals.length(single) > intervals.length(claim)
    pageable = len(case.kernels(_PAGEABLE))
    pinned = say(
        " {copies} used pageable memory, for which non_blocking has no effect.",
        copies=plural(pageable, "copy"),
    )
    yield RuleFinding(
        title=say(
            "Blocking copies cost {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "In {copies} between host and device the host waited until the data was there, and "
            "the device then had nothing queued.{pinned}",
            copies=plural(len(ops), "copy"),
            pinned=pinned if pageable else "",
        ),
        events=len(ops),
        evidence=case.examples("ops", ops),
        how=say(
            "After each wait, the time in which the device had nothing to do, at most as long as "
            "the wait."
        ),
        claim=claim,
        removes=case.without(waits=waits),
        least=0.0 if is_open else 1.0,
        confidence="medium" if is_open else "high",
        fix=_TOGETHER if are_items else _fix_of_results(gathered, together),
        source=case.source_of_waits(waits, claim),
        lacks=case.lacks("stacks"),
    )


def _needed(case: RuleContext, waits: I64) -> Iterator[RuleFinding]:
    """Yield a note on results that the program cannot go on without."""
    awaited = case.idle_by_waits(waits)
    spent = case.share(intervals.length(awaited))
    if spent < MANY:
        return
    ops = np.unique(case.limits.waits.op[waits]).astype(np.int64)
    yield RuleFinding(
        title=say(
            "The program waits for answers of the host: {waiting} of the time",
            waiting=percent(spent),
        ),
        explanation=say(
            "{copies} took results to the host, where other code, such as an environment or a "
            "tokenizer, made new data of them, or divided a tensor by them. The device has nothing "
            "to do meanwhile.",
            copies=plural(len(ops), "copy"),
        ),
        events=len(ops),
        evidence=case.examples("ops", ops),
        how=say("None is promised: no other kind of copy makes the result come earlier."),
        once=awaited,
        confidence="low",
        fix=say(
            "Let two groups take turns: the device works for one while the host answers the other. "
            "Or compute the answers on the device."
        ),
        source=case.source_of_waits(waits, awaited),
        lacks=case.lacks("stacks"),
    )


def _fix_of_results(gathered: bool, together: bool) -> str | None:
    """Return the fix for results that a step reads at one place; None for other copies."""
    if gathered:
        return _LATER
    return _ALL_LATER if together else None


_TOGETHER = say(
    "Each trip is for a single item: gather the items of all environments or requests into one "
    "batch, and read all results with one copy."
)

_LATER = say(
    "One copy has all results of a step. Launch the next step before the results of this one are "
    "read, unless it needs them."
)

_ALL_LATER = say(
    "Copies in a row have all results of a step: one copy has less to wait for. Launch the next "
    "step before the results of this one are read, unless it needs them."
)


RULE = Rule(
    name="blocking_copy",
    title=say("Blocking copies"),
    cause="waiting",
    looks_for=say(
        "Waits inside of aten::copy_ and _copy_from, beside those of .item(). Not those for "
        "results of several items that code outside of torch, or operators on the host, answer "
        "with new data, nor for the sizes of a tensor's parts."
    ),
    why=say(
        "A copy from pageable memory, or one without non_blocking, stops the host until it is done."
    ),
    fix=say(
        "Put host tensors into pinned memory (DataLoader(pin_memory=True), tensor.pin_memory()) "
        "and copy with .to(device, non_blocking=True); read results back rarely."
    ),
    threshold=say(
        "{least} of the step: two arguments fix it. {many} where one copy has all results of a "
        "step: they must be read a step later.",
        least=exact_percent(ONE_PLACE),
        many=exact_percent(MANY),
    ),
    reference=say("PyTorch tutorial on pin_memory and non_blocking."),
    code=Code(
        before="x = batch.to(device)",
        after=("# DataLoader(..., pin_memory=True)\nx = batch.to(device, non_blocking=True)"),
    ),
    remedy="pinned_copies",
    check=check,
    needs=("device", "operators"),
)
