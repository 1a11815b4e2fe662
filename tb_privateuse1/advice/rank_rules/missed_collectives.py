"""A rank that makes fewer calls of a collective than the others of its group."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.rank_rules.rank_rule import (
    RankContext,
    RankEvidence,
    RankFinding,
    RankRule,
)
from tb_privateuse1.analysis.ranks.notes import listed
from tb_privateuse1.i18n import say


def check(case: RankContext) -> Iterator[RankFinding]:
    """Yield each rank that misses collectives in more steps than by chance."""
    for culprit in case.culprits:
        if culprit.kind != "missing":
            continue
        group = say(" of group {group}", group=culprit.group) if culprit.group else ""
        yield RankFinding(
            title=say(
                "Rank {rank} misses collectives{group}", rank=listed(culprit.ranks), group=group
            ),
            explanation=say(
                "In {steps:,} of {of_steps:,} steps it makes fewer calls than most of the "
                "{count:,} other members.",
                steps=culprit.steps,
                of_steps=culprit.of_steps,
                count=len(culprit.victims),
            ),
            evidence=tuple(
                RankEvidence(
                    rank,
                    say(
                        "fewer calls in {steps:,} of {of_steps:,} steps",
                        steps=culprit.steps,
                        of_steps=culprit.of_steps,
                    ),
                )
                for rank in culprit.ranks
            ),
            how=say(
                "No saving: waiting in collectives whose numbers differ between ranks is unknown."
            ),
            confidence="high",
            urgent=True,
        )


RULE = RankRule(
    name="missed_collectives",
    title=say("Missed collectives"),
    looks_for=say(
        "A rank that makes fewer calls of a kind of collective than most members of its group, in "
        "more steps than lost events of a recording explain."
    ),
    why=say(
        "The n-th call of one rank then meets another call of the others: results are wrong, or "
        "the job hangs at the last one."
    ),
    fix=say(
        "Look for a condition around the collective that only this rank meets: an empty batch, a "
        "skipped step of the optimizer, “if rank == 0”, unused parameters. "
        "TORCH_DISTRIBUTED_DEBUG=DETAIL checks each call."
    ),
    threshold=say(
        "An error rate of 0.25 % of the jobs without a cause, see docs/internals/blame.md."
    ),
    reference=say("torch.distributed: debugging applications."),
    check=check,
)
