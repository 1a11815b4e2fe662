"""Ranks without a readable trace, which no figure includes."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.rank_rules.rank_rule import (
    MOST_RANKS,
    RankContext,
    RankEvidence,
    RankFinding,
    RankRule,
)
from tb_privateuse1.i18n import say


def check(case: RankContext) -> Iterator[RankFinding]:
    """Yield the ranks below the world size without a trace, and unreadable traces."""
    missing = len(case.absent) + len(case.unread)
    if not missing:
        return
    ranks = missing + len(case.parts)
    notes = [(rank, say("no trace")) for rank in case.absent]
    notes += [(rank, say("its trace cannot be read")) for rank in case.unread]
    yield RankFinding(
        title=say("{lost:,} of {whole:,} ranks are not here", lost=missing, whole=ranks),
        explanation=say(
            "Who waits for whom is known among the others only: the one they all wait for may "
            "be among the missing."
        ),
        evidence=tuple(RankEvidence(rank, note) for rank, note in sorted(notes)[:MOST_RANKS]),
        how=say("No saving: it is about what is not known."),
        confidence="high",
    )


RULE = RankRule(
    name="missing_ranks",
    title=say("Ranks missing"),
    looks_for=say("Ranks below the world's size without a trace that can be read."),
    why=say("A slow rank that did not write its trace is the one to look for."),
    fix=say(
        "Let every rank write its trace into one directory, at the same steps, and let none be "
        "stopped before it has written it."
    ),
    threshold=say("One."),
    reference=say("torch's distributedInfo in the trace."),
    check=check,
)
