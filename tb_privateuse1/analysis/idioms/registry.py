"""The registry of idioms. The first one that recognizes a chain names it."""

from __future__ import annotations

from tb_privateuse1.analysis.idioms import (
    copies,
    dropouts,
    gates,
    losses,
    norms,
    others,
    quantization,
    rotary,
)
from tb_privateuse1.analysis.idioms.idiom import Idiom

IDIOMS: tuple[Idiom, ...] = (
    quantization.IDIOM,
    losses.IDIOM,
    norms.IDIOM,
    rotary.IDIOM,
    gates.IDIOM,
    dropouts.IDIOM,
    copies.IDIOM,
    others.IDIOM,
)
"""From the most particular to the most general; the last one recognizes all."""

NAMES = tuple(idiom.name for idiom in IDIOMS)
