"""Choose the measurements during which other programs used the processor least.

The choice looks at the others' time only, never at what was measured, so it favors no result.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

_STAT = Path("/proc/stat")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_BUSY = (0, 1, 2, 5, 6, 7)
"""Columns of ``/proc/stat``: user, nice, system, interrupts, and what a hypervisor took."""

QUIET = 0.1
"""Of one core: below this share others do not disturb."""


def others_share(measure: Callable[[], Result]) -> tuple[Result, float]:
    """Return a result and the cores that other processes used meanwhile; 0 if not known."""
    busy, own, begin = _busy_s(), time.process_time(), time.perf_counter()
    result = measure()
    others = (_busy_s() - busy) - (time.process_time() - own)
    return result, max(others, 0.0) / (time.perf_counter() - begin)


def quietest(
    measure: Callable[[int], Result],
    wanted: int,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[list[Result], float]:
    """Measure until there are ``wanted`` quiet results or time is over.

    Return the quietest ones, in order, and the mean of the cores that others used in them.
    """
    found: list[tuple[Result, float]] = []
    end = clock() + seconds
    while len(found) < wanted or (
        sum(share < QUIET for _, share in found) < wanted and clock() < end
    ):
        number = len(found)
        found.append(others_share(functools.partial(measure, number)))
    chosen = sorted(quiet_order([share for _, share in found])[:wanted])
    return [found[i][0] for i in chosen], sum(found[i][1] for i in chosen) / len(chosen)


def quiet_order(shares: Sequence[float]) -> list[int]:
    """Return the places of shares, the quietest first."""
    return sorted(range(len(shares)), key=shares.__getitem__)


def _busy_s() -> float:
    if not _STAT.exists():
        return 0.0
    with _STAT.open() as file:
        columns = file.readline().split()[1:]
    return sum(int(columns[i]) for i in _BUSY) * _TICK_S
