"""The registry of rules over all ranks, one line each."""

from __future__ import annotations

from tb_privateuse1.advice.rank_rules import (
    host_collectives,
    missed_collectives,
    missing_overlap,
    missing_ranks,
    open_collective,
    slow_link,
    straggler,
    synchronous_collectives,
    uneven_ranks,
)
from tb_privateuse1.advice.rank_rules.base import RankRule

__all__ = [
    "base",
]

RANK_RULES: tuple[RankRule, ...] = (
    open_collective.RULE,
    missed_collectives.RULE,
    straggler.RULE,
    uneven_ranks.RULE,
    synchronous_collectives.RULE,
    missing_overlap.RULE,
    host_collectives.RULE,
    slow_link.RULE,
    missing_ranks.RULE,
)
