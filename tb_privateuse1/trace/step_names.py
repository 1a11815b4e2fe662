"""Recognize the ranges that a profiler writes around training steps, by their names."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tb_privateuse1.trace.table import Bools

PREFIX = "ProfilerStep#"


def is_step(name: str) -> bool:
    """Return whether a range of this name, in whatever category, is a step."""
    return name.startswith(PREFIX)


def step_strings(strings: Iterable[str]) -> Bools:
    """Return which strings name a step."""
    return np.array([is_step(text) for text in strings], np.bool_)
