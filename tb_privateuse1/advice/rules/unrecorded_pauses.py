"""Long pauses of the host in which nothing was recorded, while the device idles."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES, PROGRAM
from tb_privateuse1.analysis.account import calls_without_launches
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.operators.function_names import ProgramFunction
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent, with_unit
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import Example

_MUCH = 0.1
"""Share of the time: a tenth is worth a day's work (``engine``)."""
_FEW, _MOST_STEPS = 3, 0.8
"""Steps, and their share with pauses: one step or a few may be held up by chance."""
_TOP = 5
"""Pauses that are shown."""


_pauses: WeakKeyDictionary[RuleContext, intervals.Set] = WeakKeyDictionary()
"""By case: several rules ask for them."""


def pauses(case: RuleContext) -> intervals.Set:
    """Return the judged pauses; none if they are less than a share of the time that matters."""
    if case not in _pauses:
        _pauses[case] = _judged_pauses(case)
    return _pauses[case]


def _judged_pauses(case: RuleContext) -> intervals.Set:
    idle = case.in_classes("python")
    found = intervals.intersect(
        calls_without_launches.pauses(case.trace, case.class_intervals), idle
    )
    if case.share(intervals.length(found)) < MANY_PLACES:
        return intervals.EMPTY
    for calls in calls_without_launches.apart_calls(case.trace, found):
        found = intervals.subtract(found, calls.time)
    return found if case.share(intervals.length(found)) >= MANY_PLACES else intervals.EMPTY


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the pauses: a saving if each step has them, else a note."""
    found = pauses(case)
    # ``held_interpreter`` knows why the thread stands still.
    found = intervals.subtract(found, calls_without_launches.held_by_others(case.trace, found))
    if (
        case.share(intervals.length(found)) < MANY_PLACES
        or int(case.judged_kernels.sum()) < PROGRAM
    ):
        return
    length = intervals.length(found)
    again = _in_each_step(case, found)
    source = _source(case, found)
    yield RuleFinding(
        title=say(
            "The host pauses, and nothing says why: {share} of the time",
            share=percent(case.share(length)),
        ),
        explanation=say(
            "{pauses} of the thread that launches have no operator, no call and no new Python "
            "frame, and the device has nothing to do. The program computes, waits for requests, or "
            "waits for the interpreter that another thread has.",
            pauses=plural(len(found[0]), "pause"),
        ),
        events=len(found[0]),
        evidence=_behind(case, found),
        how=say("The idle time in these pauses.")
        if again
        else say(
            "No saving is promised: the pauses are not part of each step, so the program may have "
            "had no work for the device."
        ),
        claim=found if again else None,
        removes=case.without(instants=found) if again else None,
        once=intervals.EMPTY if again else found,
        confidence="low",
        source=source,
        lacks=case.lacks("stacks"),
        urgent=not again and case.share(length) >= _MUCH,
    )


def _in_each_step(case: RuleContext, found: intervals.Set) -> bool:
    steps, rows = case.trace.steps, case.steps
    inside = intervals.covered_length(found, steps.start_ns[rows], steps.end_ns[rows])
    return len(rows) >= _FEW and bool(np.count_nonzero(inside) >= _MOST_STEPS * len(rows))


def _behind(case: RuleContext, found: intervals.Set) -> tuple[Example, ...]:
    """Return the activities behind pauses: of one of median length, then of the longest."""
    starts, ends = found
    order = np.argsort(starts - ends, kind="stable")
    order = np.concatenate((order[len(order) // 2 :][:1], order[: _TOP - 1]))
    row = np.searchsorted(case.trace.kernels.start_ns, ends[order])
    exists = row < len(case.trace.kernels)
    notes = [
        say("after {time} without work", time=with_unit("idle_ns", ns))
        for ns in (ends - starts)[order[exists]].tolist()
    ]
    return case.examples("kernels", row[exists], notes) if notes else ()


def _source(case: RuleContext, found: intervals.Set) -> ProgramFunction | None:
    """Return the user's function in which the longest pause lies; None without stacks."""
    own = case.class_intervals
    longest = int(np.argmax(found[1] - found[0]))
    middle = (int(found[0][longest]) + int(found[1][longest])) // 2
    at = int(np.searchsorted(own.start_ns, middle, side="right")) - 1
    return user_functions.of_moment(case.trace, int(own.thread[at]), middle)


RULE = Rule(
    name="unrecorded_pauses",
    title=say("Pauses without a recorded reason"),
    cause="launching",
    looks_for=say(
        "Idle time while the thread that launches is in no operator and no call, and in no Python "
        "frame that launches nothing, twenty times as long as an operator."
    ),
    why=say("It is no launch overhead: neither a graph nor fewer operators shorten it."),
    fix=say(
        "Record with stacks: they name the code. With stacks, look at what other threads do at "
        "these times. If the program waits for requests, nothing is wrong with it."
    ),
    threshold=say(
        "{least} of the time. It is a saving if four of five steps have such pauses, three steps "
        "at least: else the device may have had no work to do. {many} activities: fewer are no "
        "program.",
        least=exact_percent(MANY_PLACES),
        many=PROGRAM,
    ),
    reference=say("docs/reference/definitions.md, account of time."),
    check=check,
    needs=("device", "operators"),
    precedence="rest",
)
