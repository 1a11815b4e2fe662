"""Run the rules over all ranks of a run, and rank their findings."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.advice import engine
from tb_privateuse1.advice.engine import AdviceSeverity
from tb_privateuse1.advice.rank_rules import RANK_RULES
from tb_privateuse1.advice.rank_rules.rank_rule import (
    RankContext,
    RankEvidence,
    RankFinding,
    RankRule,
)
from tb_privateuse1.advice.rules.rule import Confidence
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.trace.isolation import Failure, isolate


class RankSymptom(Struct, frozen=True):
    """A finding about the same time as another finding, which explains it."""

    rule: str
    title: str
    explanation: str


class RankAdvice(Struct, frozen=True):
    """A problem of a run of several ranks. Savings of a run never overlap."""

    rule: str
    title: str
    severity: AdviceSeverity
    explanation: str
    fix: str
    saving_ns: int | None
    """Per mean step of the mean rank; null if unknown."""
    saving_share: float | None
    how: str
    confidence: Confidence
    evidence: tuple[RankEvidence, ...]
    """The ranks that show it most."""
    reference: str
    symptoms: tuple[RankSymptom, ...] = ()
    """What goes with it: their saving is counted here."""


def advise_ranks(
    case: RankContext, rules: Sequence[RankRule] | None = None
) -> tuple[RankAdvice, ...]:
    """Return the findings of the rules, the most severe first, then by saving.

    ``rules``: by default the built-in ones.
    """
    found: list[tuple[RankRule, RankFinding]] = []
    for rule in RANK_RULES.values() if rules is None else rules:
        findings = isolate(rule.name, functools.partial(_checked, rule, case))
        if isinstance(findings, Failure):
            found.append(_failed(rule, findings))
        else:
            found += [(rule, finding) for finding in findings]
    explained = {finding.explains for _, finding in found}
    rows = [
        _row(case, rule, finding, [pair for pair in found if pair[0].name == finding.explains])
        for rule, finding in found
        if rule.name not in explained
    ]
    return tuple(sorted(rows, key=lambda row: engine.order(row.severity, row.saving_ns)))


def _checked(rule: RankRule, case: RankContext) -> list[RankFinding]:
    return list(rule.check(case))


def _failed(rule: RankRule, failure: Failure) -> tuple[RankRule, RankFinding]:
    """Build the note that stands for a rule that raised."""
    title, explanation, how = engine.failure_texts(rule.title, failure)
    finding = RankFinding(title, explanation, evidence=(), how=how, confidence="high")
    return replace(rule, fix=engine.FAILED_FIX), finding


def _row(
    case: RankContext,
    rule: RankRule,
    finding: RankFinding,
    symptoms: list[tuple[RankRule, RankFinding]],
) -> RankAdvice:
    finding = _with_savings(finding, [symptom for _, symptom in symptoms])
    share = None if finding.saving_ns is None else case.share(finding.saving_ns)
    return RankAdvice(
        rule=rule.name,
        title=finding.title,
        severity=engine.severity(share, finding.urgent),
        explanation=finding.explanation,
        fix=rule.fix,
        saving_ns=None if finding.saving_ns is None else round(finding.saving_ns),
        saving_share=share,
        how=finding.how,
        confidence=finding.confidence,
        evidence=finding.evidence,
        reference=rule.reference,
        symptoms=tuple(
            RankSymptom(other.name, symptom.title, symptom.explanation)
            for other, symptom in symptoms
        ),
    )


def _with_savings(finding: RankFinding, symptoms: list[RankFinding]) -> RankFinding:
    """Return the finding with the saving of its symptoms added, and how it was computed."""
    with_saving = [symptom for symptom in symptoms if symptom.saving_ns is not None]
    if not with_saving:
        return finding
    return replace(
        finding,
        saving_ns=(finding.saving_ns or 0) + sum(symptom.saving_ns or 0 for symptom in with_saving),
        how=say(
            "{how} Counted is what could be hidden of it: {symptom}",
            how=finding.how,
            symptom=join_list(symptom.how for symptom in with_saving),
        ),
    )
