"""Read the host's times of a row of the profiler, in nanoseconds.

torch 2.4 replaced the methods that give microseconds by such that give nanoseconds.
"""

from __future__ import annotations

from typing import Any


def start_ns(row: Any) -> int:
    """Return when the row began, on the clock of the trace."""
    return int(row.start_ns() if hasattr(row, "start_ns") else row.start_us() * 1000)


def duration_ns(row: Any) -> int:
    """Return how long the row took on the host."""
    return int(row.duration_ns() if hasattr(row, "duration_ns") else row.duration_us() * 1000)
