"""Normalization by hand: a root of a mean over each row, and a product with its inverse.

RMSNorm is ``x * rsqrt(mean(x ** 2) + eps) * w``, LayerNorm the same less the mean. Kernels that do
either in one pass are in torch (``rms_norm``, ``layer_norm``), vLLM and Liger.
"""

from __future__ import annotations

from tb_privateuse1.analysis.idioms.base import Idiom, Members
from tb_privateuse1.analysis.idioms.nodes import ROWS
from tb_privateuse1.trace.table import Bools

_SPREADS = ("var", "std", "var_mean", "std_mean", "norm", "linalg_vector_norm")
"""Reductions that square on their way."""
_ROOTS = ("sqrt", "std", "norm", "linalg_vector_norm", "add", "clamp_min", "clamp", "maximum")
"""What a quotient has below: a root, or a root with a small number."""


def recognizes(members: Members) -> Bools:
    """Return which chains reduce squares of rows and scale by the inverse of the root."""
    rows = members.number(members.graph.nodes.role == ROWS) > 0
    squares = members.links(("pow", "square", "mul"), ("mean", "sum")) > 0
    inverse = members.links(("rsqrt", "reciprocal"), ("mul",)) > 0
    quotient = (members.links(_ROOTS, ("div",)) > 0) & members.has("sqrt", *_SPREADS)
    found: Bools = rows & (squares | members.has(*_SPREADS)) & (inverse | quotient)
    return found


IDIOM = Idiom("norm", recognizes)
