"""Idiom: unfused rotary embedding: pairs of channels rotated, element by element.

``x * cos + cat((-x2, x1)) * sin``, or ``cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin))``
(J. Su et al.: "RoFormer", 2021).
"""

from __future__ import annotations

from tb_privateuse1.analysis.idioms.idiom import Idiom, Members
from tb_privateuse1.trace.table import Bools

_JOINS = ("cat", "stack", "concat")


def recognizes(members: Members) -> Bools:
    """Return which chains join negated halves for a product, or a difference and a sum."""
    halves = (members.links(("neg",), _JOINS) > 0) & (members.links(_JOINS, ("mul",)) > 0)
    halves &= members.links(("mul",), ("add",)) > 0
    turned = (members.links(("sub",), _JOINS) > 0) & (members.links(("add",), _JOINS) > 0)
    turned &= members.links(("mul",), ("sub",)) > 0
    found: Bools = halves | turned
    return found


IDIOM = Idiom("rotary", recognizes)
