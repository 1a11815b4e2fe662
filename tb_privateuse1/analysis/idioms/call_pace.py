"""The pace of a program's calls: the time that one takes at least, whatever it works on."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.model import Trace


def pace_ns(trace: Trace) -> float:
    """Return the time that a call takes at most if it works on next to nothing.

    A quarter of a program's operators are views, and sums and products of a few numbers.
    """
    ops = trace.ops
    outer = groupby.outermost_operators(ops)
    taken = (ops.end_ns - ops.start_ns)[outer]
    return float(np.quantile(taken, 0.25)) if len(taken) else 0.0
