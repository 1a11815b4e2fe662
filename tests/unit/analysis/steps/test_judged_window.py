"""The judged window with and without steps."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.steps.judged_window import judged_window
from tb_privateuse1.trace.model import Trace
from tests.support.make import kernel, launch, op, step, trace


def window(made: Trace, *rows: int) -> list[tuple[int, int]]:
    """Return the window's intervals in µs."""
    starts, ends = judged_window(made, np.array(rows, np.int64))
    return [(int(a) // 1000, int(b) // 1000) for a, b in zip(starts, ends, strict=True)]


def test_separate_and_adjacent_steps() -> None:
    """Adjacent steps are one interval, separate ones are several."""
    made = trace(step(1, 0, 100), step(2, 100, 200), step(3, 200, 300))
    assert window(made, 0, 1) == [(0, 200)]
    assert window(made, 0, 2) == [(0, 100), (200, 300)]
    assert window(made) == []


def test_without_steps_it_reaches_from_the_first_event_to_the_last_end() -> None:
    """The last launch does not extend the window: it waits while the profiler stops."""
    made = trace(op("a", 0, 20), launch(5, 90, 1), kernel("k", 30, 60, 1))
    assert window(made, *range(len(made.steps))) == [(0, 60)]
