"""Idiom: gated activations, the activation of one product times another (SwiGLU, GeGLU).

N. Shazeer: "GLU variants improve transformer", 2020. vLLM and Liger have ``silu_and_mul``.
"""

from __future__ import annotations

from tb_privateuse1.analysis.idioms.idiom import ACTIVATIONS, Idiom, Members
from tb_privateuse1.trace.table import Bools


def recognizes(members: Members) -> Bools:
    """Return which chains multiply an activation's result, or its gradient."""
    backward = tuple(f"{name}_backward" for name in ACTIVATIONS)
    forward = members.links(ACTIVATIONS, ("mul",)) > 0
    found: Bools = forward | (members.links(("mul",), backward) > 0)
    # A polynomial around the activation is a formula such as that of GELU.
    return found & ~members.has("pow", "add", "sub")


IDIOM = Idiom("gate", recognizes)
