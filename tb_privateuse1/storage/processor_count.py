"""How many processes may read one file: ``$TB_PRIVATEUSE1_PROCESSES``, or as many as are idle."""

from __future__ import annotations

import os

from tb_privateuse1.storage import memory_limit

VARIABLE = "TB_PRIVATEUSE1_PROCESSES"
_MOST = 16
"""Joining what they read takes one processor: with more they would wait for it."""


def processors() -> int:
    """Return how many processors this process may use, by its affinity and control group."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        count = os.cpu_count() or 1
    for text in memory_limit.group_values("cpu.max"):
        quota, _, period = text.partition(" ")
        if quota.isdigit() and period.isdigit() and int(period):
            count = min(count, max(1, int(quota) // int(period)))
    return count


def processes_for_one(readers: int) -> int:
    """Return how many processes may read a file while ``readers`` files are read at a time."""
    text = os.environ.get(VARIABLE, "").strip()
    if text.isascii() and text.isdigit() and len(text) < 4:
        return max(1, int(text))
    return max(1, min(_MOST, processors() // max(readers, 1)))
