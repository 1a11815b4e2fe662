"""Idiom: casts, layout copies and concatenations in a row, which compute nothing."""

from __future__ import annotations

from tb_privateuse1.analysis.idioms.idiom import Idiom, Members
from tb_privateuse1.analysis.idioms.nodes import CAST, COPY
from tb_privateuse1.trace.table import Bools


def recognizes(members: Members) -> Bools:
    """Return which chains only copy."""
    roles = members.graph.nodes.role
    moving = members.number((roles == COPY) | (roles == CAST))
    found: Bools = moving == members.number(roles >= 0)
    return found


IDIOM = Idiom("copies", recognizes)
