"""Idiom: an unfused log-softmax: exponentials, their sum over each row, and a logarithm.

torch (``log_softmax``, ``cross_entropy``) and Liger compute it in one or two kernels.
"""

from __future__ import annotations

from tb_privateuse1.analysis.idioms.idiom import Idiom, Members
from tb_privateuse1.analysis.idioms.nodes import ROWS
from tb_privateuse1.trace.table import Bools


def recognizes(members: Members) -> Bools:
    """Return which chains sum exponentials of rows, and subtract or divide by a logarithm."""
    rows = members.number(members.graph.nodes.role == ROWS) > 0
    sums = (members.links(("exp",), ("sum",)) > 0) & members.has("log")
    found: Bools = rows & (sums | members.has("logsumexp")) & members.has("sub", "div")
    return found


IDIOM = Idiom("loss", recognizes)
