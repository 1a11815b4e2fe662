"""Recognize the ranges that a profiler writes around training steps, by their names."""

from __future__ import annotations

from collections.abc import Iterable

from tb_privateuse1.trace.columns import flag_names
from tb_privateuse1.trace.table import Bools

PREFIX = "ProfilerStep#"


def is_step(name: str) -> bool:
    """Return whether a range of this name, in whatever category, is a step."""
    return name.startswith(PREFIX)


def step_strings(strings: Iterable[str]) -> Bools:
    """Return ``flag_names`` of the strings that name a step."""
    return flag_names(strings, is_step)
