"""The registry of idioms. The first one that recognizes a chain names it."""

from __future__ import annotations

from tb_privateuse1.analysis.idioms import (
    chained_copies,
    elementwise_chains,
    gates,
    log_softmax,
    norms,
    quantization,
    rotary,
    unfused_epilogues,
)
from tb_privateuse1.analysis.idioms.idiom import Idiom

IDIOMS: tuple[Idiom, ...] = (
    quantization.IDIOM,
    log_softmax.IDIOM,
    norms.IDIOM,
    rotary.IDIOM,
    gates.IDIOM,
    unfused_epilogues.IDIOM,
    chained_copies.IDIOM,
    elementwise_chains.IDIOM,
)
"""From the most particular to the most general; the last one recognizes all."""

NAMES = tuple(idiom.name for idiom in IDIOMS)
