"""Copies between host and device that block the host."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.host_answers import answers
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64, Bools

_NAMES = r"^aten::(copy_|_copy_from|_to_copy)$"
_OTHERS = (
    r"^aten::(item|_local_scalar_dense|is_nonzero|equal|allclose|nonzero|masked_select|_to_cpu)$"
)
_PAGEABLE = r"[Pp]ageable"
_ALIASES = r"^aten::(detach|alias|view|numpy_T|resolve_(conj|neg)|to|item)$"
_TO_DEVICE = r"(?i)HtoD|H2D|host ?to ?dev"
_TO_HOST = r"(?i)DtoH|D2H|dev(ice)? ?to ?host"
_FRESH = r"^aten::lift_fresh$"
"""torch wraps data from outside of it: a list of numbers, an array."""
_MANY = 0.1
"""Share of the step from which the copies of results on the host are worth a finding without their
line, or where one copy has all results of a step: a tenth is worth a day's work (``engine``)."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the waits inside copies that no other rule reports.

    Results that other code answers with new data are awaited whatever kind of copy it is: of them
    only single items are claimed, which could be many.
    """
    waits = case.waits_in(case.named("ops", _NAMES))
    table = case.limits.waits
    is_reported = case.around(table.op[waits], case.named("ops", _OTHERS)) >= 0
    waits = waits[~is_reported]
    items = _answered(case, waits)
    yield from _needed(case, waits[items > 1])
    waits = waits[items <= 1]
    claim = case.idle_by_waits(waits)
    if case.share(intervals.length(claim)) < (_MANY if _are_gathered(case, waits) else ONE_PLACE):
        return
    ops = np.unique(table.op[waits]).astype(np.int64)
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
        confidence="high",
        fix=_TOGETHER if are_items else None,
        source=case.source_of_waits(waits, claim),
        lacks=case.lacks("stacks"),
    )


def _are_gathered(case: RuleContext, waits: I64) -> bool:
    """Return whether all waits are for results, at most one in each of several steps.

    Such results come with one copy already. No argument makes them come earlier: the program must
    read them a step later. A single step does not show that it is so in each.
    """
    to_host = np.zeros(len(case.trace.ops), np.bool_)
    ops = case.trace.kernels.op[case.kernels(_TO_HOST)]
    to_host[ops[ops >= 0]] = True
    op = case.limits.waits.op[waits]
    in_turn = len(case.steps) > 1 and len(waits) <= len(case.steps)
    return in_turn and bool(lookup(to_host, op, False).all())


def _answered(case: RuleContext, waits: I64) -> I64:
    """Return for each wait the number of items that other code answers its result with, or 0.

    That is the first size of what torch wraps next on the same thread, with only views between; or
    of what the host's own operators make of the result and send. Copies to the device, by their names or of what torch has just wrapped, have no answer.
    """
    ops, items = case.trace.ops, np.zeros(len(waits), np.int64)
    top = case.top_in_order
    top = top[~case.named("ops", _ALIASES)[top]]
    op = case.limits.waits.op[waits]
    sent = np.unique(case.trace.kernels.op[case.kernels(_TO_DEVICE)])
    busy = np.unique(case.trace.kernels.op)
    known = np.flatnonzero((op >= 0) & ~np.isin(op, sent))
    if not len(top) or not len(known):
        return items
    fresh = np.append(case.named("ops", _FRESH), False)
    for one in np.unique(ops.thread[op[known]]).tolist():
        own = np.append(top[ops.thread[top] == one], NONE)
        mine = known[ops.thread[op[known]] == one]
        before = np.searchsorted(ops.start_ns[own[:-1]], ops.start_ns[op[mine]]) - 1
        after = np.searchsorted(ops.start_ns[own[:-1]], ops.end_ns[op[mine]])
        answered = fresh[own[after]] & ~fresh[own[before]]
        shapes = ops.shapes[own[after[answered]]].tolist()
        items[mine[answered]] = [_first_size(case.trace.text(i)) for i in shapes]
        rest = mine[items[mine] == 0]
        every = case.top_in_order[ops.thread[case.top_in_order] == one]
        is_sent, is_busy = (_inside(case, every, some) for some in (sent, busy))
        items[rest] = answers(case.trace, op[rest], every, is_sent, is_busy)
    return items


def _inside(case: RuleContext, own: I64, some: I64) -> Bools:
    """Return which of these outermost operators have one of some inside of them."""
    is_own = mask_of(own, len(case.trace.ops))
    return np.isin(own, case.around(some[some >= 0], is_own))


def _first_size(shapes: str) -> int:
    """Return the first size of the first tensor; 1 for a number, 0 if it is unknown."""
    try:
        (first, *_) = json.loads(shapes)
        return int(first[0]) if first else 1
    except (ValueError, TypeError):
        return 0


def _needed(case: RuleContext, waits: I64) -> Iterator[RuleFinding]:
    """Yield a note on results that the program cannot go on without."""
    awaited = case.idle_by_waits(waits)
    spent = case.share(intervals.length(awaited))
    if spent < _MANY:
        return
    ops = np.unique(case.limits.waits.op[waits]).astype(np.int64)
    yield RuleFinding(
        title=say(
            "The program waits for answers from outside of torch: {waiting} of the time",
            waiting=percent(spent),
        ),
        explanation=say(
            "{copies} took results to the host, where other code, such as an environment or a "
            "tokenizer, made new data of them. The device has nothing to do meanwhile.",
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


_TOGETHER = say(
    "Each trip is for a single item: gather the items of all environments or requests into one "
    "batch, and read all results with one copy."
)


RULE = Rule(
    name="blocking_copy",
    title=say("Blocking copies"),
    cause="waiting",
    looks_for=say(
        "Waits inside of aten::copy_ and _copy_from, beside those of .item(). Not those for "
        "results of several items that code outside of torch answers with new data."
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
        many=exact_percent(_MANY),
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
