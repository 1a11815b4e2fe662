"""Step-time outliers: waits that come back in some steps, and steps that were held up once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES, NOISE
from tb_privateuse1.analysis.account.classes import CLASSES
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.i18n import join_sentences, plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64, Bools

_FACTOR, _FEW = 1.3, 3
"""Times the median: about ten standard deviations of steps, which are 3 % in the median of 82
recordings (by the median deviation); 92 % of their 333 steps are shorter. Steps with a median."""
_AGAIN = 3
"""Long steps of one kind: one or two may be chance."""
_ALIKE, _MORE = 2.0, 1.1
"""Waits that differ by less than this factor are of one kind; steps with a tenth more operators do
more work."""

_HOST = np.array([one.group in ("blocked", "host") for one in CLASSES])
"""By class of the account: the device idles, and the program is the reason."""


class _Steps(Struct, frozen=True, eq=False):
    """The judged time of steps, and what each has beyond a usual one. Arrays are by step."""

    first: I64
    last: I64
    """Their ends in ns."""
    median: int
    slow: Bools
    work: I64
    """The number of operators."""
    more_work: Bools
    spent: np.ndarray
    """By class of the account and step, in ns."""
    excess: np.ndarray
    """The same, beyond a usual step; 0 in usual steps."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield waits that several long steps have in common, and long steps without a like."""
    if len(case.steps) < _FEW:
        return
    steps = _read(case)
    if steps is None:
        return
    kind, again = _repeated(steps, _waiting(case))
    if again.any():
        yield _waits(case, steps, kind, again)
    # Steps that do more work again and again belong to the program: an update every fourth step.
    other = steps.more_work if steps.more_work.sum() >= _AGAIN else np.zeros_like(again)
    once = steps.slow & ~again & ~other
    # Up to twice as long, it may be the same wait as in the other steps: a file, a network.
    odd = np.where(steps.spent - steps.excess < steps.excess, steps.excess, 0)
    held = _instants(case, steps, once, odd)
    if case.share(intervals.length(held)) >= MANY_PLACES:
        yield _held_up(case, steps, once, held)


def _read(case: RuleContext) -> _Steps | None:
    """Return the steps; None if none is slow, or the slow ones are too little longer together."""
    steps, rows = case.trace.steps, case.steps
    # The judged time leaves out work from before the recording, and the profiler's end.
    first, last = _edges(case.window, steps.start_ns[rows], steps.end_ns[rows])
    median = round(float(np.median(last - first)))
    slow = last - first > _FACTOR * median
    longer = (last - first - median)[slow]
    if median <= 0 or not slow.any() or longer.sum() < NOISE * case.window_ns:
        return None
    work = _operators(case)
    spent = np.stack([intervals.covered_length(time, first, last) for time in _classes(case)])
    usual = np.median(spent[:, ~slow], axis=1)[:, None]
    return _Steps(
        first=first,
        last=last,
        median=median,
        slow=slow,
        work=work,
        more_work=slow & (work > _MORE * np.median(work[~slow])),
        spent=spent,
        excess=np.where(slow, np.maximum(spent - usual, 0), 0),
    )


def _operators(case: RuleContext) -> I64:
    """Return the number of operators of each judged step."""
    step = case.trace.ops.step[case.operators]
    count = np.bincount(step[step >= 0], minlength=len(case.trace.steps))
    return count[case.steps].astype(np.int64)


def _classes(case: RuleContext) -> list[intervals.Set]:
    """Return the judged time of each class of the account."""
    own, time = case.class_intervals, [intervals.EMPTY] * len(CLASSES)
    for number, rows in groupby.split_by_value(own.time_class):
        time[number] = intervals.union(own.start_ns[rows], own.end_ns[rows])
    return time


def _waiting(case: RuleContext) -> Bools:
    """Return by class of the account whether it is a wait that the program causes."""
    is_work = np.array([one.name == "dispatch" for one in CLASSES])
    # Without a device, operators are the work itself.
    return _HOST if case.limits.known == "device" else _HOST & ~is_work


def _repeated(steps: _Steps, waiting: Bools) -> tuple[int, Bools]:
    """Return the class of waits that comes back, and a flag per step that has it.

    Such steps do the usual work, and have about as much more of one class. The first step may warm
    up.
    """
    main = steps.excess.argmax(axis=0)
    most = steps.excess.max(axis=0)
    beyond = steps.last - steps.first - steps.median
    apt = steps.slow & ~steps.more_work & waiting[main] & (2 * most >= beyond)
    apt[0] = False
    if not apt.any():
        return 0, apt
    kind = int(np.bincount(main[apt]).argmax())
    apt &= main == kind
    typical = np.median(most[apt])
    apt &= (most * _ALIKE >= typical) & (most <= _ALIKE * typical)
    return kind, apt if apt.sum() >= _AGAIN else np.zeros_like(apt)


def _instants(case: RuleContext, steps: _Steps, chosen: Bools, excess: np.ndarray) -> intervals.Set:
    """Return of each class in the chosen steps as much time as ``excess`` says, by both."""
    found = intervals.EMPTY
    inside = intervals.union(steps.first[chosen], steps.last[chosen])
    starts = steps.first[chosen]
    for number, time in enumerate(_classes(case)):
        own = intervals.intersect(time, inside)
        if not len(own[0]):
            continue
        share = (excess[number] / np.maximum(steps.spent[number], 1))[chosen]
        at = np.searchsorted(starts, own[0], side="right") - 1
        found = intervals.merge(found, device_bound.shorten(own, share[at]))
    return found


def _waits(case: RuleContext, steps: _Steps, kind: int, again: Bools) -> RuleFinding:
    only = np.where(np.arange(len(CLASSES))[:, None] == kind, steps.excess, 0)
    claim = intervals.intersect(_instants(case, steps, again, only), case.limits.all_idle)
    each = float(np.median(steps.excess[kind][again]))
    return RuleFinding(
        title=say(
            "{steps} of {whole} wait longer than the others: {share} of the time",
            steps=plural(int(again.sum()), "step"),
            whole=len(again),
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=join_sentences(
            [
                say(
                    "They run the same operators as the others. Of the class “{kind}” each has "
                    "about {more:,.4g} ms more, beside a median step of {median:,.4g} ms.",
                    kind=CLASSES[kind].label,
                    more=each / 1e6,
                    median=steps.median / 1e6,
                ),
                _rhythm(again),
            ]
        ),
        events=int(again.sum()),
        evidence=case.examples("ops", _ranges(case, again)),
        how=say(
            "The idle time of this class beyond a usual step, which no other finding explains."
        ),
        claim=claim,
        removes=case.without(instants=claim),
        confidence="medium",
        lacks=case.lacks("stacks"),
    )


def _rhythm(again: Bools) -> str:
    """Return a sentence on steps at equal distances; empty without these."""
    apart = np.diff(np.flatnonzero(again))
    if len(apart) and apart[0] > 1 and (apart == apart[0]).all():
        return say("They come every {n} steps.", n=int(apart[0]))
    return ""


def _held_up(case: RuleContext, steps: _Steps, once: Bools, held: intervals.Set) -> RuleFinding:
    at = np.flatnonzero(once)
    total = steps.excess[:, once].sum(axis=1)
    kind = int(total.argmax())
    work = say(" Some of them run more operators.") if (steps.more_work & once).any() else ""
    early = say(" The first one is among them: it may still warm up.") if once[0] else ""
    return RuleFinding(
        title=say(
            "Step-time outliers: {steps} of {whole}, up to {longest:.1f}× the others",
            steps=plural(len(at), "step"),
            whole=len(once),
            longest=float((steps.last - steps.first)[at].max()) / steps.median,
        ),
        explanation=say(
            "The median step takes {median:,.4g} ms. What the long ones have most of beyond "
            "that is time of the class “{kind}” ({more:,.4g} ms).{work}{first}",
            median=steps.median / 1e6,
            kind=CLASSES[kind].label,
            more=float(total[kind]) / 1e6,
            work=work,
            first=early,
        ),
        events=len(at),
        evidence=case.examples("ops", _ranges(case, once)),
        how=say(
            "None is promised: fewer than three of these steps are alike, so nothing shows that "
            "they come again. What they have beyond the others counts for no other symptom."
        ),
        once=held,
        confidence="medium",
        fix=_RECORD,
        lacks=case.lacks("stacks"),
    )


def _edges(window: intervals.Set, start: I64, end: I64) -> tuple[I64, I64]:
    """Return the first and the last instant of each step that the window covers."""
    if not len(window[0]):
        return start, start
    at = np.minimum(np.searchsorted(window[1], start, side="right"), len(window[0]) - 1)
    first = np.maximum(start, window[0][at])
    at = np.maximum(np.searchsorted(window[0], end) - 1, 0)
    last = np.minimum(end, window[1][at])
    return first, np.maximum(first, last)


def _ranges(case: RuleContext, chosen: Bools) -> I64:
    """Return the ranges ``ProfilerStep#N`` of the chosen steps."""
    names = case.trace.steps.name[case.steps[chosen]]
    ops: Any = case.trace.ops
    ranges: I64 = np.flatnonzero(np.isin(ops.name, names[names != NONE]))
    return ranges


_RECORD = say(
    "Record more steps, after some of warmup, and see whether such steps come again. If so, look "
    "at one beside a usual one."
)

RULE = Rule(
    name="uneven_steps",
    title=say("Uneven steps"),
    cause="launching",
    looks_for=say(
        "{again} or more steps that take {factor} times the median, run the same operators as the "
        "others and have about as much more of one wait. Other long steps are a note without a "
        "saving.",
        factor=_FACTOR,
        again=_AGAIN,
    ),
    why=say("Averages hide them; in a job of many ranks all wait for the slowest."),
    fix=say(
        "Look at such a step beside a usual one: data that came late, a thread that takes the "
        "interpreter, a file that is written, garbage collection."
    ),
    threshold=say(
        "{factor} times the median of {few} or more steps: noise stays below. A note without a "
        "saving takes {least} of the time. One or two long steps may be chance; more work in some "
        "steps is the program's.",
        factor=_FACTOR,
        few=_FEW,
        least=exact_percent(MANY_PLACES),
    ),
    reference=say("docs/reference/definitions.md, steps."),
    check=check,
    reads_all=True,
    needs=("steps",),
    precedence="step",
)
