"""Asks the rules over all ranks about a run, and ranks what they found."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from tb_privateuse1.advice import engine
from tb_privateuse1.advice.engine import AdviceSeverity
from tb_privateuse1.advice.rank_rules import RANK_RULES
from tb_privateuse1.advice.rank_rules.base import RankContext, RankEvidence, RankFinding, RankRule
from tb_privateuse1.advice.rules.base import Confidence
from tb_privateuse1.i18n import join_list, say

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RankSymptom:
    """A finding that speaks of the same time as another one, which explains it."""

    rule: str
    title: str
    explanation: str


@dataclass(frozen=True)
class RankAdvice:
    """Something to mend in a run of several ranks. Savings of a run never overlap."""

    rule: str
    title: str
    severity: AdviceSeverity
    explanation: str
    fix: str
    saving_ns: int | None
    """Of the mean step of the mean rank; null: not known."""
    saving_share: float | None
    how: str
    confidence: Confidence
    evidence: tuple[RankEvidence, ...]
    """The ranks that show it most."""
    reference: str
    symptoms: tuple[RankSymptom, ...] = ()
    """What goes with it: their saving is counted here."""


def advise_ranks(
    case: RankContext, rules: tuple[RankRule, ...] = RANK_RULES
) -> tuple[RankAdvice, ...]:
    """What the rules find, the most severe first, then by saving."""
    told: list[tuple[RankRule, RankFinding]] = []
    for rule in rules:
        try:
            told += [(rule, found) for found in rule.check(case)]
        except Exception:  # one rule's mistake must not cost the others' answers
            _log.exception("the rule %s failed", rule.name)
    explained = {found.explains for _, found in told}
    rows = [
        _row(case, rule, found, [one for one in told if one[0].name == found.explains])
        for rule, found in told
        if rule.name not in explained
    ]
    return tuple(sorted(rows, key=lambda row: engine.order(row.severity, row.saving_ns)))


def _row(
    case: RankContext,
    rule: RankRule,
    found: RankFinding,
    symptoms: list[tuple[RankRule, RankFinding]],
) -> RankAdvice:
    found = _with_savings(found, [one for _, one in symptoms])
    share = None if found.saving_ns is None else case.share(found.saving_ns)
    return RankAdvice(
        rule=rule.name,
        title=found.title,
        severity=engine.severity(share, found.urgent),
        explanation=found.explanation,
        fix=rule.fix,
        saving_ns=None if found.saving_ns is None else round(found.saving_ns),
        saving_share=share,
        how=found.how,
        confidence=found.confidence,
        evidence=found.evidence,
        reference=rule.reference,
        symptoms=tuple(
            RankSymptom(other.name, one.title, one.explanation) for other, one in symptoms
        ),
    )


def _with_savings(found: RankFinding, symptoms: list[RankFinding]) -> RankFinding:
    """The finding with what its symptoms save, and how that was computed."""
    known = [one for one in symptoms if one.saving_ns is not None]
    if not known:
        return found
    return replace(
        found,
        saving_ns=(found.saving_ns or 0) + sum(one.saving_ns or 0 for one in known),
        how=say(
            "{how} Counted is what could be hidden of it: {symptom}",
            how=found.how,
            symptom=join_list(one.how for one in known),
        ),
    )
