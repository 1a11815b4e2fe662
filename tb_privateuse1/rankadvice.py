"""Asks the rules over all ranks about a run, and ranks what they found."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from tb_privateuse1 import advisor
from tb_privateuse1.advisor import AdviceSeverity
from tb_privateuse1.rankrules import RANK_RULES
from tb_privateuse1.rankrules.base import RankCase, RankEvidence, RankFound, RankRule
from tb_privateuse1.rules.base import Confidence

_log = logging.getLogger(__name__)


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


def advise(case: RankCase, rules: tuple[RankRule, ...] = RANK_RULES) -> tuple[RankAdvice, ...]:
    """What the rules find, the most severe first, then by saving."""
    rows = []
    for rule in rules:
        try:
            rows += [_row(case, rule, found) for found in rule.check(case)]
        except Exception:  # one rule's mistake must not cost the others' answers
            _log.exception("the rule %s failed", rule.name)
    return tuple(sorted(rows, key=lambda row: advisor.order(row.severity, row.saving_ns)))


def _row(case: RankCase, rule: RankRule, found: RankFound) -> RankAdvice:
    share = None if found.saving_ns is None else case.share(found.saving_ns)
    return RankAdvice(
        rule=rule.name,
        title=found.title,
        severity=advisor.severity(share, found.urgent),
        explanation=found.explanation,
        fix=rule.fix,
        saving_ns=None if found.saving_ns is None else round(found.saving_ns),
        saving_share=share,
        how=found.how,
        confidence=found.confidence,
        evidence=found.evidence,
        reference=rule.reference,
    )
