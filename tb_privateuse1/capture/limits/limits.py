"""Limits of a recording window: the most operators, bytes and seconds before it is written.

A recording grows in the memory of the process until it is written, and takes several times as much
of it then. Torch tells how far it is only afterwards. So the operators are read from the counter
that torch numbers them with, and the bytes from the resident memory of the process.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from tb_privateuse1.capture.limits import process_use

Unit = Literal["events", "bytes", "seconds"]

MOST_EVENTS = 3_000_000
"""By default: they take 2 GB while recorded and 12 GB while the trace is written."""
_GROWTH = 8
"""Writing a trace needs up to six times the memory that its recording took (docs/guide/capture.md),
and the program goes on growing."""
_GROWTH_WITH_STACKS = 32
"""A call of Python takes 50 bytes while recorded, and 1.6 kB while the trace is written."""
_BYTES_PER_OPERATOR = 1_300
"""Twice what an operator with shapes and allocations takes while recorded."""


@dataclass(frozen=True)
class Reached:
    """A limit that a window has reached."""

    unit: Unit
    what: str
    """For the user: how much the window has, and the limit."""


class Limits:
    """The limits of one profiler; None is no limit.

    ``max_bytes="auto"``: what the memory that is available at the window's start can hold.
    ``max_events`` counts operators and annotations, wherever torch's counter can be read.
    """

    def __init__(
        self,
        max_events: float | None,
        max_bytes: float | Literal["auto"] | None,
        max_seconds: float | None,
    ) -> None:
        """Raises ValueError for a limit that is no positive number."""
        given = {"max_events": max_events, "max_bytes": max_bytes, "max_seconds": max_seconds}
        for name, value in given.items():
            allowed = value is None or (name == "max_bytes" and value == "auto")
            if not allowed and not (isinstance(value, (int, float)) and value > 0):
                raise ValueError(f"{name} must be more than 0, or None, not {value!r}")
        self._max_events = max_events
        self._wanted_bytes = max_bytes
        self._max_seconds = max_seconds
        self._max_bytes: float | None = None
        self._stacks = False
        self._operators: int | None = None
        self._resident: int | None = None
        self._began = 0.0

    def start(self, stacks: bool) -> None:
        """A window begins; ``stacks``: with Python's calls, which no counter counts."""
        self._stacks = stacks
        self._operators = process_use.operators_so_far()
        self._resident = process_use.resident()
        self._began = time.monotonic()
        self._max_bytes = self._most_bytes()

    def reached(self) -> Reached | None:
        """Return the limit that the window has reached, if any."""
        seconds = time.monotonic() - self._began
        if self._max_seconds is not None and seconds > self._max_seconds:
            return Reached(
                "seconds", f"has taken {seconds:.1f} s; max_seconds is {self._max_seconds:g}"
            )
        events = self.events()
        if events is not None and self._max_events is not None and events > self._max_events:
            what = f"has {events:,} operators; max_events is {self._max_events:,.0f}"
            return Reached("events", what)
        growth = self._growth(events)
        if growth is not None and self._max_bytes is not None and growth > self._max_bytes:
            most = f"{self._max_bytes / 1e6:,.0f}"
            what = f"has taken {growth / 1e6:,.0f} MB of memory; max_bytes is {most} MB"
            return Reached("bytes", what)
        return None

    def events(self) -> int | None:
        """Return how many operators were recorded, up to a block of 512 per thread."""
        now = process_use.operators_so_far()
        return None if now is None or self._operators is None else now - self._operators

    def _growth(self, events: int | None) -> int | None:
        now = process_use.resident()
        if now is None or self._resident is None:
            return None
        growth = now - self._resident
        if events is None or self._stacks:
            return growth
        # The rest was allocated by the program, such as its first step's gradients.
        return min(growth, events * _BYTES_PER_OPERATOR)

    def _most_bytes(self) -> float | None:
        if self._wanted_bytes != "auto":
            return self._wanted_bytes
        available = process_use.available()
        share = _GROWTH_WITH_STACKS if self._stacks else _GROWTH
        return None if available is None else available / share
