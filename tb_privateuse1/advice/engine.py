"""Asks all rules about a trace, shares out the time that they claim, and ranks what they found."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.base import (
    LACKS,
    PRECEDENCES,
    Cause,
    Confidence,
    Rule,
    RuleContext,
    RuleFinding,
)
from tb_privateuse1.advice.savings import Savings
from tb_privateuse1.analysis.idle import bottleneck
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import Example
from tb_privateuse1.trace.model import Trace

_log = logging.getLogger(__name__)

AdviceSeverity = Literal["high", "medium", "low", "note"]
"""By the saving's share of the judged steps; ``note``: none is known, or none that counts."""

HIGH, MEDIUM, LEAST = 0.10, 0.03, 0.005
"""A tenth of the step is worth a day's work; below half a percent it is within what runs of one
program differ by, and left out. The middle is where others draw their line (3 and 5 %)."""


@dataclass(frozen=True)
class AdviceRow:
    """Something to mend, with what it costs."""

    rule: str
    title: str
    severity: AdviceSeverity
    cause: Cause
    explanation: str
    fix: str
    saving_ns: int | None
    """Of all judged steps together; no instant is in the saving of two rows, and no more is in any
    than the replay gains. Null: not known."""
    saving_per_step_ns: int | None
    saving_share: float | None
    """Of the judged steps, 0 to 1."""
    shared_ns: int | None
    """What it would save besides, were it not in the saving of a row above it."""
    how: str
    """How the saving was computed."""
    confidence: Confidence
    events: int
    evidence: tuple[Example, ...]
    source: str | None
    """Line of the user's program; null without stacks."""
    lacks: tuple[str, ...]
    """What the profile lacked to be surer."""
    reference: str


@dataclass(frozen=True)
class RuleStatus:
    """What became of a rule."""

    rule: str
    title: str
    cause: Cause
    answer: Literal["found", "nothing", "not_asked", "failed"]
    """``not_asked``: the trace lacks what it reads; ``failed``: a mistake of ours."""
    lacks: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """All that the rules found in a trace, the greatest saving first."""

    found: tuple[AdviceRow, ...]
    asked: tuple[RuleStatus, ...]
    window_ns: int
    """Length of the judged steps' windows."""
    steps: int


def advise(trace: Trace, row: int | None = None, rules: Sequence[Rule] = RULES) -> Advice:
    """What all rules find in the complete steps, or in one row of ``trace.steps``."""
    case = RuleContext(trace, row)
    found: list[tuple[Rule, RuleFinding]] = []
    asked = []
    for rule in rules:
        answer, lacks = _ask(rule, case, found)
        asked.append(RuleStatus(rule.name, rule.title, rule.cause, answer, lacks))
    rows = _shared_out(case, found)
    told = {one.rule for one in rows}
    return Advice(
        found=tuple(sorted(rows, key=lambda one: order(one.severity, one.saving_ns))),
        asked=tuple(
            RuleStatus(a.rule, a.title, a.cause, "nothing", a.lacks)
            if a.answer == "found" and a.rule not in told
            else a
            for a in asked
        ),
        window_ns=case.window_ns,
        steps=len(case.steps),
    )


def top_findings(trace: Trace, n: int = 3) -> tuple[AdviceRow, ...]:
    """The most valuable findings that save anything, at most ``n``."""
    return tuple(one for one in advise(trace).found if one.saving_ns)[:n]


Answer = Literal["found", "nothing", "not_asked", "failed"]


def _ask(
    rule: Rule, case: RuleContext, found: list[tuple[Rule, RuleFinding]]
) -> tuple[Answer, tuple[str, ...]]:
    if lacks := tuple(LACKS[need] for need in rule.needs if need not in case.has):
        return "not_asked", lacks
    try:
        answers = list(rule.check(case))
    except Exception as error:  # one rule's mistake must not cost the others' answers
        _log.exception("the rule %s failed", rule.name)
        found.append(_failure(rule, error))
        return "failed", ()
    found += [(rule, one) for one in answers]
    return ("found" if answers else "nothing"), ()


def _failure(rule: Rule, error: Exception) -> tuple[Rule, RuleFinding]:
    """Build the note that stands for a rule that raised."""
    fix = say(
        "Correct the rule if it is your own. If it is built in, report the exception in the log "
        "as a bug."
    )
    told = RuleFinding(
        title=say("A check failed: {rule}", rule=rule.title),
        explanation=say(
            "The rule `{name}` raised `{error}`. It cannot say whether this trace has the issue. "
            "The other findings are complete.",
            name=rule.name,
            error=f"{type(error).__name__}: {error}",
        ),
        events=0,
        evidence=(),
        how=say("The check did not finish, so no saving is known."),
        confidence="high",
    )
    return dataclasses.replace(rule, fix=fix), told


def _shared_out(case: RuleContext, found: list[tuple[Rule, RuleFinding]]) -> list[AdviceRow]:
    """Causes take their time first, the greatest first; then symptoms, and so on."""

    def claimed(one: tuple[Rule, RuleFinding]) -> tuple[int, int]:
        rule, told = one
        return PRECEDENCES.index(rule.precedence), -(
            0 if told.claim is None else intervals.length(told.claim)
        )

    taken, savings = intervals.EMPTY, Savings(case)
    rows: list[AdviceRow] = []
    for rule, one in sorted(found, key=claimed):
        if one.claim is None:
            rows.append(_advice(case, rule, one, one.how, None, None))
            continue
        claim = intervals.intersect(one.claim, case.window)
        free = intervals.subtract(claim, taken)
        whole, left = intervals.length(claim), intervals.length(free)
        # A cause stands even where another has its time; a symptom then says nothing.
        counts = whole if rule.precedence == "cause" else left
        if case.share(counts) < LEAST and not one.urgent:
            continue
        saving, how = savings.of(one.how, free, one.removes)
        if rule.precedence != "cause" and case.share(saving) < LEAST and not one.urgent:
            continue
        if saving < left:
            # What would only become another wait is left to what explains that.
            free = bottleneck.shorten(free, saving / left)
        taken = intervals.merge(taken, free)
        rows.append(_advice(case, rule, one, how, saving, whole - left))
    return rows


def _advice(
    case: RuleContext,
    rule: Rule,
    one: RuleFinding,
    how: str,
    saving: int | None,
    shared: int | None,
) -> AdviceRow:
    share = None if saving is None else case.share(saving)
    counts = saving is not None and case.share(saving + (shared or 0)) >= LEAST
    return AdviceRow(
        rule=rule.name,
        title=one.title,
        severity=severity(share if counts else None, one.urgent),
        cause=rule.cause,
        explanation=one.explanation,
        fix=rule.fix,
        saving_ns=saving,
        saving_per_step_ns=None if saving is None else round(saving / max(len(case.steps), 1)),
        saving_share=share,
        shared_ns=shared,
        how=how,
        confidence=one.confidence,
        events=one.events,
        evidence=one.evidence,
        source=one.source,
        lacks=one.lacks,
        reference=rule.reference,
    )


def severity(share: float | None, urgent: bool) -> AdviceSeverity:
    """By the saving's share; of what has none, by whether it endangers the run."""
    if share is None:
        return "medium" if urgent else "note"
    if share >= HIGH:
        return "high"
    return "medium" if share >= MEDIUM or urgent else "low"


_ORDER: tuple[AdviceSeverity, ...] = ("high", "medium", "low", "note")


def order(severe: AdviceSeverity, saving_ns: int | None) -> tuple[int, int]:
    """What sorts findings: the most severe first, then by saving."""
    return _ORDER.index(severe), -(saving_ns or 0)
