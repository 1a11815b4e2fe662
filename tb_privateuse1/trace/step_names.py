"""Recognize the ranges that a profiler writes around training steps, by their names."""

from __future__ import annotations

from collections.abc import Iterable

from tb_privateuse1.trace.columns import flag_names
from tb_privateuse1.trace.table import Bools

PREFIX = "ProfilerStep#"

PHASES = ("prefill", "decode", "mixed", "unknown")
"""Of iterations of serving, which are steps where a phase is the window: ``decode#3``."""


def is_step(name: str) -> bool:
    """Return whether a range of this name, in whatever category, is a step."""
    return name.startswith(PREFIX)


def step_strings(strings: Iterable[str]) -> Bools:
    """Return ``flag_names`` of the strings that name a step."""
    return flag_names(strings, is_step)


def is_of_schedule(name: str) -> bool:
    """Return whether the row of ``trace.steps`` of this name repeats; the whole trace does not."""
    return is_step(name) or name.partition("#")[0] in PHASES
