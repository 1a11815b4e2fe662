"""Run all rules on a trace, divide the claimed time among the findings, and rank them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.advice.fine import FineRow, fine_rows
from tb_privateuse1.advice.judged_trace import LACKS
from tb_privateuse1.advice.next_limit import NextLimit
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.rule import (
    PRECEDENCES,
    Cause,
    Code,
    Confidence,
    Rule,
    RuleFinding,
    percent,
)
from tb_privateuse1.advice.savings import Saving, Savings
from tb_privateuse1.advice.worth import NOISE
from tb_privateuse1.analysis.functions import user_functions
from tb_privateuse1.analysis.functions.call_lines import ProgramFunction
from tb_privateuse1.analysis.idle import bottleneck
from tb_privateuse1.analysis.recording.judged_part import JudgedPart
from tb_privateuse1.i18n import Text, fill, join_list, say
from tb_privateuse1.trace import intervals, processes
from tb_privateuse1.trace.findings import Example
from tb_privateuse1.trace.isolation import Failure, isolate
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.renamed import renamed

AdviceSeverity = Literal["high", "medium", "low", "note"]
"""By the saving's share of the judged steps; ``note``: unknown, or below ``NOISE``."""

HIGH, MEDIUM = 0.10, 0.03
"""Shares of the step. A tenth is worth a day's work. Other tools draw their line at 3 to 5 %;
``worth.NOISE`` is the least that is said at all."""


class AdviceRow(Struct, frozen=True):
    """A problem with its fix and saving."""

    rule: str
    title: str
    severity: AdviceSeverity
    cause: Cause
    explanation: str
    fix: str
    code: Code | None
    """The problem and its fix in a few lines; null where the fix is no change of code."""
    saving_ns: int | None
    """Over all judged steps; null if unknown. No instant counts for two rows, and a saving lies in
    the range of the replay's gain."""
    saving_per_step_ns: int | None
    saving_share: float | None
    """Of the judged steps, 0 to 1."""
    shared_ns: int | None
    """Time that it would save as well, but a row above already has it."""
    how: str
    """How the saving was computed."""
    next: NextLimit | None
    """What limits the steps once this finding alone is fixed; null without a replay."""
    confidence: Confidence
    events: int
    evidence: tuple[Example, ...]
    where: ProgramFunction | None
    """The function of the user's program that it comes from; null without stacks."""
    lacks: tuple[str, ...]
    """Data that the profile lacks and that would raise the confidence."""
    reference: str

    source = renamed("source", "where")


class RuleStatus(Struct, frozen=True):
    """The outcome of one rule."""

    rule: str
    title: str
    cause: Cause
    answer: Literal["found", "nothing", "not_asked", "failed"]
    """``not_asked``: the trace lacks data that it needs; ``failed``: the rule raised."""
    lacks: tuple[str, ...]


class Advice(Struct, frozen=True):
    """All findings of the rules in a trace."""

    rows: tuple[AdviceRow, ...]
    """The most severe first, then by saving."""
    asked: tuple[RuleStatus, ...]
    """Every rule, and what became of it."""
    missing: str
    """One sentence: what the recording lacks that would change a finding; empty if nothing."""
    fine: tuple[FineRow, ...]
    """What was checked and costs nothing."""
    judged_ns: int
    """The judged steps' windows: complete steps, or the selected one."""
    steps: int
    """How many steps were judged."""


@memoize
def built_in_advice(trace: Trace) -> Advice:
    """Return the findings of the built-in rules in the complete steps; views share them."""
    return advise(trace)


def advise(
    trace: Trace, part: JudgedPart | None = None, rules: Sequence[Rule] | None = None
) -> Advice:
    """Return the findings of all rules in a part of the trace, by default its steady steps.

    ``rules``: by default the built-in ones.
    """
    if processes.is_joined(trace):
        rules = ()
    case = RuleContext(trace, part)
    found: list[tuple[Rule, RuleFinding]] = []
    statuses = []
    for rule in RULES.values() if rules is None else rules:
        answer, lacks = _ask(rule, case, found)
        statuses.append(RuleStatus(rule.name, rule.title, rule.cause, answer, lacks))
    rows = _divide_time(case, found)
    reported = {row.rule for row in rows}
    return Advice(
        rows=tuple(sorted(rows, key=lambda row: order(row.severity, row.saving_ns))),
        asked=tuple(
            replace(status, answer="nothing")
            if status.answer == "found" and status.rule not in reported
            else status
            for status in statuses
        ),
        missing=_missing(rows),
        fine=fine_rows(case, {row.cause for row in rows if row.saving_ns} | reported),
        judged_ns=case.window_ns,
        steps=len(case.steps),
    )


def _missing(rows: Sequence[AdviceRow]) -> str:
    """Return what the recording lacks for findings with a saving."""
    lacks = {lack for row in rows if row.severity != "note" for lack in row.lacks}
    names = join_list(text for text in LACKS.values() if text in lacks)
    return say("Record {names} to make findings surer.", names=names) if names else ""


Answer = Literal["found", "nothing", "not_asked", "failed"]


def _ask(
    rule: Rule, case: RuleContext, found: list[tuple[Rule, RuleFinding]]
) -> tuple[Answer, tuple[str, ...]]:
    # Only the recording itself can be judged if no part of it is steady.
    needs = rule.needs if rule.cause == "recording" else (*rule.needs, "steady")
    if lacks := tuple(LACKS[need] for need in needs if need not in case.has):
        return "not_asked", lacks
    findings = isolate(rule.name, lambda: list(rule.check(case)))
    if isinstance(findings, Failure):
        found.append(_failed(rule, findings))
        return "failed", ()
    found += [(rule, finding) for finding in findings]
    return ("found" if findings else "nothing"), ()


def _failed(rule: Rule, failure: Failure) -> tuple[Rule, RuleFinding]:
    """Build the note that stands for a rule that raised."""
    title, explanation, how = failure_texts(rule.title, failure)
    finding = RuleFinding(title, explanation, events=0, evidence=(), how=how, confidence="high")
    return replace(rule, fix=FAILED_FIX), finding


FAILED_FIX = say(
    "Correct the rule if it is your own. If it is built in, report the exception in the log as a "
    "bug."
)


def failure_texts(title: str, failure: Failure) -> tuple[Text, Text, Text]:
    """Return title, explanation and way of computing of the note for a rule that raised."""
    return (
        say("A check failed: {rule}", rule=title),
        say(
            "The rule `{name}` raised `{error}`. It cannot say whether this trace has the issue. "
            "The other findings are complete.",
            name=failure.item,
            error=failure.reason,
        ),
        say("The check did not finish, so no saving is known."),
    )


def _claim_order(pair: tuple[Rule, RuleFinding]) -> tuple[int, int]:
    """Return the sort key of findings that claim time; what happened once is next to causes."""
    rule, finding = pair
    if finding.claim is None:
        return PRECEDENCES.index("cause"), 0
    return PRECEDENCES.index(rule.precedence), -intervals.length(finding.claim)


def _divide_time(case: RuleContext, found: list[tuple[Rule, RuleFinding]]) -> list[AdviceRow]:
    """Return the rows. Causes get their time first, the greatest first; symptoms are next."""
    assigned, savings = intervals.EMPTY, Savings(case)
    rows: list[AdviceRow] = []
    total = 0
    for rule, finding in sorted(found, key=_claim_order):
        if finding.claim is None:
            free = intervals.subtract(finding.once, assigned)
            if 2 * intervals.length(free) >= intervals.length(finding.once):
                rows.append(_advice(case, rule, finding))
            assigned = intervals.merge(assigned, free)
            continue
        claim = intervals.intersect(finding.claim, case.window)
        free = intervals.subtract(claim, assigned)
        claim_ns, free_ns = intervals.length(claim), intervals.length(free)
        # Keep a cause even if another finding has its time; drop a symptom.
        counts = claim_ns if rule.precedence == "cause" else free_ns
        if case.share(counts) < NOISE and not finding.urgent:
            rows += _note(case, rule, finding)
            continue
        saving = savings.of(finding.how, free, finding.removes)
        # A gain beyond the claim may be of instants that another finding has.
        saving = replace(saving, ns=min(saving.ns, case.window_ns - total))
        counts = saving.ns + (claim_ns - free_ns if rule.precedence == "cause" else 0)
        if case.share(counts) < NOISE and not finding.urgent:
            rows += _note(case, rule, finding)
            continue
        if saving.ns < free_ns:
            # The rest of the claim would become another wait: leave it to that wait's rule.
            free = bottleneck.shorten(free, saving.ns / free_ns)
        assigned = intervals.merge(assigned, free)
        total += saving.ns
        rows.append(_advice(case, rule, finding, saving, claim_ns - free_ns))
    return rows


def _note(case: RuleContext, rule: Rule, finding: RuleFinding) -> list[AdviceRow]:
    """Return the row of a finding's note, if it has one."""
    return [] if finding.note is None else [_advice(case, rule, finding.note)]


def _advice(
    case: RuleContext,
    rule: Rule,
    finding: RuleFinding,
    gain: Saving | None = None,
    shared: int | None = None,
) -> AdviceRow:
    saving = None if gain is None else gain.ns
    share = None if saving is None else case.share(saving)
    counts = saving is not None and case.share(saving + (shared or 0)) >= NOISE
    return AdviceRow(
        rule=rule.name,
        title=finding.title if share is None else _with_share(finding.title, share),
        severity=severity(share if counts else None, finding.urgent),
        cause=rule.cause,
        explanation=finding.explanation,
        fix=finding.fix or rule.fix,
        code=finding.code or (rule.code if finding.fix in (None, rule.fix) else None),
        saving_ns=saving,
        saving_per_step_ns=None if saving is None else round(saving / max(len(case.steps), 1)),
        saving_share=share,
        shared_ns=shared,
        how=finding.how if gain is None else gain.how,
        next=None if gain is None else gain.next,
        confidence=finding.confidence,
        events=finding.events,
        evidence=finding.evidence,
        where=_function(case, finding.source),
        lacks=finding.lacks,
        reference=rule.reference,
    )


def _function(case: RuleContext, source: ProgramFunction | str | None) -> ProgramFunction | None:
    """Return the function that a rule names; a user's rule may name a frame."""
    if isinstance(source, str):
        return user_functions.of_stack(case.trace, source, begins=True)
    return source


def _with_share(title: str, share: float) -> str:
    """Return a title whose ``{share}`` is that of the saving; in texts within it, too."""
    if not isinstance(title, Text):
        return title
    values = {
        name: percent(share) if name == "share" else _with_share(value, share)
        for name, value in title.values.items()
        if name == "share" or isinstance(value, str)
    }
    return fill(title, **(dict(title.values) | values)) if values else title


def severity(share: float | None, urgent: bool) -> AdviceSeverity:
    """Return the severity by the saving's share; without a saving, by urgency."""
    if share is None:
        return "medium" if urgent else "note"
    if share >= HIGH:
        return "high"
    return "medium" if share >= MEDIUM or urgent else "low"


_ORDER: tuple[AdviceSeverity, ...] = ("high", "medium", "low", "note")


def order(severe: AdviceSeverity, saving_ns: int | None) -> tuple[int, int]:
    """Return the sort key of findings: the most severe first, then by saving."""
    return _ORDER.index(severe), -(saving_ns or 0)
