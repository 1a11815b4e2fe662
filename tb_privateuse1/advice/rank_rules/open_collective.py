"""A collective that not every rank of its group joined: the job hangs there."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.rank_rules.rank_rule import (
    MOST_RANKS,
    RankContext,
    RankEvidence,
    RankFinding,
    RankRule,
)
from tb_privateuse1.analysis.ranks import open_texts
from tb_privateuse1.i18n import say

_MOST = 3
"""Groups whose open collectives are findings; the page lists all."""


def check(case: RankContext) -> Iterator[RankFinding]:
    """Yield the open collectives that are no effect of another one."""
    causes = [one for one in case.open_collectives if one.verdict not in ("behind", "unfinished")]
    causes = causes or [one for one in case.open_collectives if one.verdict == "unfinished"]
    for one in causes[:_MOST]:
        yield RankFinding(
            title=open_texts.title(one),
            explanation=open_texts.explanation(one),
            evidence=tuple(
                RankEvidence(rank, note) for rank, note in open_texts.evidence(one)[:MOST_RANKS]
            ),
            how=say("No saving: the job does not go on."),
            confidence="high" if one.verdict in ("different", "circle") else "medium",
            urgent=one.verdict != "unfinished",
        )


RULE = RankRule(
    name="open_collective",
    title=say("A collective that ranks did not join"),
    looks_for=say(
        "The first collective of each group that had not ended, in the flight recorders of all "
        "ranks: members without it, and members with another operation, size or type."
    ),
    why=say("The members that joined wait until the job is ended."),
    fix=say(
        "Let each rank call the same collectives in the same order, with the same sizes and types: "
        "no branch that only some ranks take, and the same number of batches. A rank that is late "
        "only, as it saves or evaluates, needs a longer timeout."
    ),
    threshold=say("One."),
    reference=say("torch.distributed: flight recorder for debugging stuck jobs."),
    check=check,
)
