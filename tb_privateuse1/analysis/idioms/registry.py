"""The registry of idioms. The first one that recognizes a chain names it."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.idioms import (
    chained_copies,
    gates,
    log_softmax,
    norms,
    quantization,
    rotary,
    unfused_epilogues,
)
from tb_privateuse1.analysis.idioms.idiom import Idiom, Members
from tb_privateuse1.trace.table import Bools


def _all(members: Members) -> Bools:
    """Return all chains of element-wise operators and reductions: compilers fuse them."""
    return np.ones(members.count, np.bool_)


_ELEMENTWISE = Idiom("elementwise", _all)

IDIOMS: tuple[Idiom, ...] = (
    quantization.IDIOM,
    log_softmax.IDIOM,
    norms.IDIOM,
    rotary.IDIOM,
    gates.IDIOM,
    unfused_epilogues.IDIOM,
    chained_copies.IDIOM,
    _ELEMENTWISE,
)
"""From the most particular to the most general; the last one recognizes all."""

NAMES = tuple(idiom.name for idiom in IDIOMS)
