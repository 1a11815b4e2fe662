"""Idiom: bias, activation, dropout and residual behind a product, each as a kernel of its own."""

from __future__ import annotations

from tb_privateuse1.analysis.idioms.idiom import ACTIVATIONS, Idiom, Members
from tb_privateuse1.trace.table import Bools


def recognizes(members: Members) -> Bools:
    """Return which chains have a dropout, or a sum and an activation."""
    dropout = members.has("native_dropout", "_fused_dropout", "native_dropout_backward")
    backward = tuple(f"{name}_backward" for name in ACTIVATIONS)
    found: Bools = dropout | (members.has("add") & members.has(*ACTIVATIONS, *backward))
    return found


IDIOM = Idiom("bias_activation_dropout", recognizes)
