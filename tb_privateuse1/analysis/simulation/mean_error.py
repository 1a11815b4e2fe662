"""How far the mean of a few steps may be from the true one."""

from __future__ import annotations

import math

from tb_privateuse1.analysis.simulation.profiler_time import Shares

_FEWEST = 2
"""Steps with which the error of their mean is known."""

_STUDENT = (4.17, 2.28, 1.92, 1.78, 1.70, 1.65, 1.62, 1.59, 1.57, 1.56)
"""Student's t by degrees of freedom, from one: within so many standard errors is the true mean in
85 % of recordings. A range is meant to hold that many gains."""

_NORMAL, _BESIDES = 1.44, 1.11
"""The same of more degrees of freedom: the second number, divided by them, comes on top."""


def mean_error(values: Shares) -> float:
    """Return how far the mean of some values may be off, in their unit; 0 of a single one."""
    free = len(values) - 1
    if len(values) < _FEWEST:
        return 0.0
    times = _STUDENT[free - 1] if free <= len(_STUDENT) else _NORMAL + _BESIDES / free
    return times * float(values.std(ddof=1)) / math.sqrt(len(values))
