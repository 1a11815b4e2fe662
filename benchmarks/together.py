"""Add up the savings of several findings of one recording."""

from __future__ import annotations

from collections.abc import Iterable

from tb_privateuse1.advice.engine import AdviceRow


def together(rows: Iterable[AdviceRow]) -> float:
    """Return the least that findings save together, as a share of the step.

    It is that of the greatest alone, or what each saves behind all findings above it.
    """
    known = list(rows)
    alone = max((row.saving_share or 0.0 for row in known), default=0.0)
    return max(alone, sum(row.behind_share or 0.0 for row in known))
