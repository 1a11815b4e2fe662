"""Measure what recording costs: how long steps take with and without it."""

from __future__ import annotations

import math
import statistics
import time
from collections import deque
from collections.abc import Collection
from typing import Any, Literal

from torch.profiler.profiler import ProfilerAction

FACTS = "tb_privateuse1_window"
"""The top-level key in the trace."""
SCHEMA = "tb_privateuse1.window/1"

_USUAL = 16
_RECORDED = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


_MISSED = 0.1
"""How often a median may lie outside of its range. Four steps cannot tell, five can."""


def figures(kind: Literal["recorded", "usual"], times: Collection[int]) -> dict[str, Any]:
    """Return the median of steps' durations in ns, and the range that holds it by 90 % or more.

    The range is null for fewer than five steps, the median without any.
    """
    return {
        f"{kind}_ns": round(statistics.median(times)) if times else None,
        f"{kind}_range_ns": _range(sorted(times)),
    }


def _range(ordered: list[int]) -> list[int] | None:
    """Return two order statistics: a step is above the true median as often as below it."""
    count, outside, missed = len(ordered), 0, 0.0
    while True:
        missed += 2 * math.comb(count, outside) / 2**count
        if missed > _MISSED:
            break
        outside += 1
    return [ordered[outside - 1], ordered[-outside]] if outside else None


class StepTimes:
    """The durations of steps by the host's clock, from the end of one ``step()`` to the next.

    What the profiler itself does between two steps (it prepares, starts, stops and saves) is in
    none of them. Steps in which it warms up are neither recorded nor usual, nor is the first step:
    it has the program's own start.
    """

    def __init__(self) -> None:
        self._since: int | None = None
        self._is_first = True
        self._usual: deque[int] = deque(maxlen=_USUAL)
        self._recorded: list[int] = []

    def begin(self) -> None:
        """Tell that a step begins."""
        self._since = time.perf_counter_ns()

    def end(self, action: ProfilerAction) -> None:
        """Tell that the step has ended in which the profiler did ``action``."""
        since, self._since = self._since, None
        is_first, self._is_first = self._is_first, False
        if since is None or is_first:
            return
        if action in _RECORDED:
            self._recorded.append(time.perf_counter_ns() - since)
        elif action is ProfilerAction.NONE:
            self._usual.append(time.perf_counter_ns() - since)

    def take(self) -> dict[str, Any] | None:
        """Return the figures of the window that ends; None unless there are steps of both kinds."""
        recorded, self._recorded = self._recorded, []
        if not recorded or not self._usual:
            return None
        return {
            "schema": SCHEMA,
            "steps": len(recorded),
            **figures("recorded", recorded),
            **figures("usual", self._usual),
        }
