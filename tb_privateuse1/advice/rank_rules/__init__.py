"""The registry of rules over all ranks, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_privateuse1.trace.registry import Registry

if TYPE_CHECKING:
    from tb_privateuse1.advice.rank_rules.rank_rule import RankRule

__all__ = [
    "rank_rule",
]

RANK_RULES: Registry[RankRule] = Registry(
    "tb_privateuse1.advice.rank_rules",
    (
        "open_collective",
        "missed_collectives",
        "straggler",
        "uneven_ranks",
        "synchronous_collectives",
        "missing_overlap",
        "host_collectives",
        "slow_link",
        "missing_ranks",
    ),
    "RULE",
)
