"""How long steps take while they are recorded, and how long without: what recording costs."""

from __future__ import annotations

import statistics
import time
from collections import deque
from typing import Any

from torch.profiler.profiler import ProfilerAction

FACTS = "tb_privateuse1_window"
"""The top-level key in the trace."""
SCHEMA = "tb_privateuse1.window/1"

_USUAL = 16
_RECORDED = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class StepTimes:
    """The durations of steps by the host's clock, from the end of one ``step()`` to the next.

    What the profiler itself does between two steps (it prepares, starts, stops and saves) is in
    none of them. Steps in which it warms up are neither recorded nor usual.
    """

    def __init__(self) -> None:
        self._since: int | None = None
        self._usual: deque[int] = deque(maxlen=_USUAL)
        self._recorded: list[int] = []

    def begin(self) -> None:
        """Tell that a step begins."""
        self._since = time.perf_counter_ns()

    def end(self, action: ProfilerAction) -> None:
        """Tell that the step has ended in which the profiler did ``action``."""
        since, self._since = self._since, None
        if since is None:
            return
        if action in _RECORDED:
            self._recorded.append(time.perf_counter_ns() - since)
        elif action is ProfilerAction.NONE:
            self._usual.append(time.perf_counter_ns() - since)

    def take(self) -> dict[str, Any] | None:
        """Return the medians of the window that ends; None unless there are steps of both kinds."""
        recorded, self._recorded = self._recorded, []
        if not recorded or not self._usual:
            return None
        return {
            "schema": SCHEMA,
            "steps": len(recorded),
            "recorded_ns": round(statistics.median(recorded)),
            "usual_ns": round(statistics.median(self._usual)),
        }
