"""Rows of one operator that the host times: two lengths in turn, until two calm rows agree.

What the longer row takes more, divided by the operators that it has more, is the time from one
kernel to the next: what launches, latency and waits take is in both and cancels. A busy host can
only delay what it sees, so that the least of several rows counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

SHORT, LONG = 4, 16
_FEWEST_ROWS, _AGREE = 4, 3
"""Rows that are run at the least, and the least rows that must agree: two may both be late."""


class HostBusyError(RuntimeError):
    """The host could not time the work well enough to judge anything."""


Times = dict[int, list[int]]
"""Times in ns by the number of operators in the row."""


def time_row(values: Any, count: int) -> int:
    """Return the time of ``count`` operators until a value of the last was read, in ns."""
    before = time.perf_counter_ns()
    for _ in range(count):
        values.mul_(1.0)
    values[0].item()
    return time.perf_counter_ns() - before


def time_rows(
    values: Any,
    most_rows: int,
    vague: float,
    around: Callable[[int], AbstractContextManager[object]] = nullcontext,
) -> Times:
    """Return the times of rows of both lengths, until they are calm or there are ``most_rows``.

    ``vague``: how far apart two rows may be, as a share of a kernel. ``around`` makes the context
    of a row from its number of operators.
    """
    found: Times = {SHORT: [], LONG: []}
    for turn in range(most_rows):
        if turn >= _FEWEST_ROWS and is_calm(found, vague):
            break
        for count, times in found.items():
            time_row(values, 0)
            before = time.perf_counter_ns()
            with around(count):
                for _ in range(count):
                    values.mul_(1.0)
            values[0].item()
            times.append(time.perf_counter_ns() - before)
    return found


def limits(times: Times) -> tuple[float, float]:
    """Return the time from one kernel to the next by the least rows, and what these differ by.

    In ns.
    """
    more = LONG - SHORT
    short, long = (sorted(times[count])[:_AGREE] for count in (SHORT, LONG))
    return (long[0] - short[0]) / more, (long[-1] - long[0] + short[-1] - short[0]) / more


def is_calm(times: Times, vague: float) -> bool:
    """Return whether the host knows the time from one kernel to the next to a share of it."""
    period, bound = limits(times)
    return period > 0 and bound <= vague * period
