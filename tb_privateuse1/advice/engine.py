"""Run all rules on a trace, and rank their findings by what their fixes save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.advice.host_context import HostContext
from tb_privateuse1.advice.judged_trace import LACKS, unasked
from tb_privateuse1.advice.next_limit import NextLimit
from tb_privateuse1.advice.passed_checks import FineRow, fine_rows
from tb_privateuse1.advice.read_steps import ReadSteps
from tb_privateuse1.advice.reported_findings import Reported, report
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.rule import Cause, Code, Confidence, Rule, RuleFinding
from tb_privateuse1.advice.savings import Saving, Savings
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.advice.unexplained_classes import OpenClass, open_classes
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.operators.function_names import ProgramFunction
from tb_privateuse1.analysis.recording.judged_part import JudgedPart
from tb_privateuse1.analysis.simulation.scopes import Scope
from tb_privateuse1.i18n import Text, fill, join_list, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals, processes
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.findings import Example
from tb_privateuse1.trace.isolation import Failure, isolate
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.renamed import renamed

AdviceSeverity = Literal["high", "medium", "low", "note"]
"""By the saving's share of ``judged_net_ns``; ``note``: unknown, or below ``NOISE``."""

HIGH, MEDIUM = 0.10, 0.03
"""Shares of the step. A tenth is worth a day's work. Other tools draw their line at 3 to 5 %;
``worth.NOISE`` is the least that is said at all."""


FACTOR = 2
"""A saving counts as right within this factor of the gain (docs/internals/advice-programs.md)."""

_TRIAL = "tb-privateuse1 try {rule} LOGDIR -- python train.py"
"""The logdir and the program are the user's."""


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
    change: str | None
    """The fix as a change of the what-if, whose gain in the same window is the saving. Null if the
    fix cannot be said as one or was not replayed: then the saving is a bound."""
    saving_ns: int | None
    """Of this fix alone, over all judged steps; null if unknown."""
    saving_per_step_ns: int | None
    saving_share: float | None
    """Of ``judged_net_ns``, 0 to 1."""
    saving_low_ns: int | None
    saving_high_ns: int | None
    """The range of the saving; null without a change, or without bounds of inferred times."""
    saving_low_share: float | None
    saving_high_share: float | None
    """The same, of ``judged_net_ns``."""
    behind_ns: int | None
    """What it saves behind the rows above it: with all changes above made first. The sum over all
    rows is what all of them save together."""
    behind_share: float | None
    """Of ``judged_net_ns``."""
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
    trial: str | None
    """The command that applies its remedy to the user's program while it runs, and measures the
    gain; null where no remedy is mechanical."""

    source = renamed("source", "where")


class RuleStatus(Struct, frozen=True):
    """The outcome of one rule."""

    rule: str
    title: str
    cause: Cause
    answer: Literal["found", "nothing", "not_asked", "failed"]
    """``not_asked``: the trace lacks data that it needs; ``failed``: the rule raised."""
    lacks: tuple[str, ...]
    """Data that the trace lacks for it; where it was asked, it looked only in part."""


class Advice(Struct, frozen=True):
    """All findings of the rules in a trace."""

    rows: tuple[AdviceRow, ...]
    """The most severe first, then by saving."""
    asked: tuple[RuleStatus, ...]
    """Every rule, and what became of it."""
    missing: str
    """One sentence: what the recording lacks that would change a finding; empty if nothing."""
    unasked: str
    """One sentence: how many rules could not look, or only in part, and what to record for them;
    empty if none."""
    fine: tuple[FineRow, ...]
    """What was checked and costs nothing."""
    open: tuple[OpenClass, ...]
    """The classes of the account that no finding is about, the largest first."""
    judged_ns: int
    """The judged steps' windows: complete steps, or the selected one."""
    judged_net_ns: int
    """That without the profiler's own time, as the replay estimates it; all of it where that is not
    known. Savings are shares of it."""
    steps: int
    """How many steps were judged."""
    read: str
    """Which steps the rules read for all of them; empty if they read all."""


class Advised(Struct, frozen=True):
    """The advice, and the work that the fixes of its findings remove."""

    advice: Advice
    scopes: Mapping[str, Scope]
    """By the name of a ``finding`` among the changes of the what-if."""


@memoize
def built_in_advised(trace: Trace) -> Advised:
    """Return the findings of the built-in rules in the steady steps; views share them."""
    return advised(trace)


def built_in_advice(trace: Trace) -> Advice:
    """Return the findings of the built-in rules in the steady steps."""
    return built_in_advised(trace).advice


def advise(
    trace: Trace, part: JudgedPart | None = None, rules: Sequence[Rule] | None = None
) -> Advice:
    """Return the findings of all rules in a part of the trace, by default its steady steps.

    ``rules``: by default the built-in ones.
    """
    return advised(trace, part, rules).advice


def advised(
    trace: Trace, part: JudgedPart | None = None, rules: Sequence[Rule] | None = None
) -> Advised:
    """Return the findings as ``advise`` does, and the changes that they name."""
    rules = tuple(RULES.values() if rules is None else rules)
    if processes.is_joined(trace):
        rules = ()
    whole = RuleContext(trace, part)
    # A user's rule may count, or look for what is rare: then all rules read all steps.
    read = ReadSteps(whole, may_cut=all(RULES.get(rule.name) is rule for rule in rules))
    case = read.case
    working = HostContext(case) if is_on_host_alone(trace) else case
    found: list[tuple[Rule, RuleFinding]] = []
    statuses = []
    for rule in rules:
        by_work = rule.sees_work or "work" in rule.needs
        asked = whole if rule.reads_all else working if by_work else case
        answer, lacks, own = _ask(rule, asked)
        found += own if rule.reads_all else [(a, read.with_whole_rows(b)) for a, b in own]
        statuses.append(RuleStatus(rule.name, rule.title, rule.cause, answer, lacks))
    savings = Savings(read)
    kept = report(read, found, savings)
    rows = _ranked(read, kept, savings)
    reported = {row.rule for row in rows}
    answers = tuple(
        replace(status, answer="nothing")
        if status.answer == "found" and status.rule not in reported
        else status
        for status in statuses
    )
    advice = Advice(
        rows=rows,
        asked=answers,
        missing=_missing(rows),
        unasked=unasked([one.lacks for one in answers if one.answer != "found"], len(answers)),
        fine=fine_rows(case, {row.cause for row in rows if row.saving_ns} | reported, whole),
        open=open_classes(case, kept),
        judged_ns=whole.window_ns,
        judged_net_ns=savings.net_ns,
        steps=len(whole.steps),
        read=read.statement,
    )
    made = [row.saving.change for row in kept if row.saving is not None]
    scopes = {one.name: one.scope for one in made if one is not None and one.scope is not None}
    return Advised(advice, scopes)


def _missing(rows: Sequence[AdviceRow]) -> str:
    """Return what the recording lacks for findings with a saving."""
    lacks = {lack for row in rows if row.severity != "note" for lack in row.lacks}
    names = join_list(text for text in LACKS.values() if text in lacks)
    return say("Record {names} to make findings surer.", names=names) if names else ""


Answer = Literal["found", "nothing", "not_asked", "failed"]


def _ask(
    rule: Rule, case: RuleContext
) -> tuple[Answer, tuple[str, ...], list[tuple[Rule, RuleFinding]]]:
    # Only the recording itself can be judged if no part of it is steady.
    needs = rule.needs if rule.cause == "recording" else (*rule.needs, "steady")
    if lacks := tuple(LACKS[need] for need in needs if need not in case.has):
        return "not_asked", lacks, []
    findings = isolate(rule.name, lambda: list(rule.check(case)))
    if isinstance(findings, Failure):
        return "failed", (), [_failed(rule, findings)]
    lacks = tuple(LACKS[need] for need in rule.partly if need not in case.has)
    named = [replace(one, lacks=tuple(dict.fromkeys((*one.lacks, *lacks)))) for one in findings]
    return ("found" if findings else "nothing"), lacks, [(rule, finding) for finding in named]


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
            "The rule {name} raised {error}. It cannot say whether this trace has the issue. "
            "The other findings are complete.",
            name=failure.item,
            error=failure.reason,
        ),
        say("The check did not finish, so no saving is known."),
    )


def _ranked(read: ReadSteps, kept: Sequence[Reported], savings: Savings) -> tuple[AdviceRow, ...]:
    """Return the rows in order, each with what it saves alone and behind those above it."""
    ordered = sorted(kept, key=lambda one: order(_severity(savings, one), _saved_ns(one)))
    behind = _behind(ordered, savings)
    return tuple(_advice(read, savings, one, ns) for one, ns in zip(ordered, behind, strict=True))


def _behind(ordered: Sequence[Reported], savings: Savings) -> list[int | None]:
    """Return what each finding saves behind those above it; null where that is not known.

    A claim that was not replayed counts where no finding above claims the same instants.
    """
    made = [None if one.saving is None else one.saving.change for one in ordered]
    gains = savings.behind([one for one in made if one is not None])
    replayed = None if gains is None else iter(gains)
    left = savings.net_ns - sum(gains or ())
    assigned = intervals.EMPTY
    found: list[int | None] = []
    for one, change in zip(ordered, made, strict=True):
        ns: int | None = None
        if change is not None:
            ns = None if replayed is None else next(replayed)
        elif one.saving is not None:
            free = intervals.length(intervals.subtract(one.claim, assigned))
            share = free / max(intervals.length(one.claim), 1)
            ns = max(min(round(one.saving.ns * share), left), 0)
            left -= ns
        assigned = intervals.merge(assigned, one.claim)
        found.append(ns)
    return found


def _saved_ns(one: Reported) -> int | None:
    return None if one.saving is None else one.saving.ns


def _severity(savings: Savings, one: Reported) -> AdviceSeverity:
    share = None if one.saving is None else savings.share(one.saving.ns)
    found = severity(share if share is None or share >= NOISE else None, one.finding.urgent)
    # What may save nothing at all is no reason to stop a build, nor the first thing to do.
    return "medium" if found == "high" and not one.finding.least else found


def _advice(read: ReadSteps, savings: Savings, one: Reported, behind_ns: int | None) -> AdviceRow:
    rule, finding, saving = one.rule, one.finding, one.saving
    share = None if saving is None else savings.share(saving.ns)
    change = None if saving is None else saving.change
    low_ns, high_ns = (None, None) if saving is None else (saving.low_ns, saving.high_ns)
    return AdviceRow(
        rule=rule.name,
        title=finding.title if share is None else _with_share(finding.title, share),
        severity=_severity(savings, one),
        cause=rule.cause,
        explanation=finding.explanation,
        fix=finding.fix or rule.fix,
        code=finding.code or (rule.code if finding.fix in (None, rule.fix) else None),
        change=None if change is None else change.text,
        saving_ns=None if saving is None else saving.ns,
        saving_per_step_ns=None if saving is None else savings.per_step_ns(saving.ns),
        saving_share=share,
        saving_low_ns=low_ns,
        saving_high_ns=high_ns,
        saving_low_share=None if low_ns is None else savings.share(low_ns),
        saving_high_share=None if high_ns is None else savings.share(high_ns),
        behind_ns=behind_ns,
        behind_share=None if behind_ns is None else savings.share(behind_ns),
        how=finding.how if saving is None else saving.how,
        next=None if saving is None else saving.next,
        confidence=_confidence(finding, saving),
        events=finding.events,
        evidence=finding.evidence,
        where=_function(read.whole, finding.source),
        lacks=finding.lacks,
        reference=rule.reference,
        trial=_TRIAL.format(rule=rule.name) if rule.remedy and finding.by_remedy else None,
    )


def _confidence(finding: RuleFinding, saving: Saving | None) -> Confidence:
    """Return the confidence of a finding: none is high whose range goes beyond a factor of two."""
    if finding.confidence != "high" or saving is None:
        return finding.confidence
    if saving.low_ns is None or saving.high_ns is None:
        return finding.confidence
    is_wide = saving.low_ns * FACTOR < saving.ns or saving.high_ns > FACTOR * saving.ns
    return "medium" if is_wide else "high"


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
