"""Show progress: a line that a terminal redraws, or a line every few seconds for a log."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TextIO

_REDRAW_S = 0.1
_LOG_S = 5.0
_WIDEST_BAR = 30
_NARROWEST_BAR = 8
_COUNTS = (("G", 10**9), ("M", 10**6), ("k", 10**3))
_EARLY_S = 1.0
"""No rate is shown before: it would jump."""


class State(NamedTuple):
    """The progress to show."""

    what: str
    bytes_done: int
    bytes_total: int
    events: int
    """Read so far."""
    elapsed_s: float
    effort: float | None = None
    """The share of the work that is done, where that is not the share of the bytes: 0 to 1."""

    @property
    def share(self) -> float:
        """Return the share of the work that is done, 0 to 1."""
        if self.effort is not None:
            return self.effort
        return min(self.bytes_done / self.bytes_total, 1.0) if self.bytes_total else 1.0


class Line:
    """Progress on a stream. ``columns`` is the width of its terminal, by default as it is."""

    def __init__(self, stream: TextIO, columns: int | None = None) -> None:
        self._stream = stream
        self._columns = columns
        self._terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._shown_s = -math.inf if self._terminal else time.monotonic()

    @contextmanager
    def open(self) -> Iterator[Line]:
        """Clear the terminal's line at the end, after an error too."""
        try:
            yield self
        finally:
            self.clear()

    def show(self, state: State) -> None:
        """Show a state, unless the last one was shown a moment ago."""
        now = time.monotonic()
        if now - self._shown_s < (_REDRAW_S if self._terminal else _LOG_S):
            return
        self._shown_s = now
        if self._terminal:
            columns = self._columns or shutil.get_terminal_size().columns
            self._write(f"\r\033[K{drawn(state, columns - 1)}")
        else:
            self._write(f"{drawn(state)}\n")

    def note(self, text: str) -> None:
        """Show a text in place of the last one; a log gets a line."""
        if self._terminal:
            columns = self._columns or shutil.get_terminal_size().columns
            self._write(f"\r\033[K{text[: columns - 1]}")
        else:
            self._write(f"{text}\n")

    def clear(self) -> None:
        """Empty the line, for other output."""
        if self._terminal:
            self._write("\r\033[K")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def drawn(state: State, columns: int | None = None) -> str:
    """Return a state in words; ``columns`` limits the length, and adds a bar if there is room."""
    parts = [state.what, f"{int(100 * state.share)} %"]
    if (left := seconds_left(state)) is not None:
        parts.append(f"{duration(left)} left")
    parts.append(_sizes(state.bytes_done, state.bytes_total))
    if state.events and state.elapsed_s >= _EARLY_S:
        parts.append(f"{_count(state.events / state.elapsed_s)} events/s")
    if columns is None:
        return ", ".join(parts)
    while len(parts) > 1 and len(", ".join(parts)) > columns:
        parts.pop()
    text = ", ".join(parts)
    if (room := min(columns - len(text) - 4, _WIDEST_BAR)) >= _NARROWEST_BAR:
        filled = int(state.share * room)
        text = f"[{'#' * filled}{'-' * (room - filled)}]  {text}"
    return text[: max(columns, 0)]


def seconds_left(state: State) -> float | None:
    """Return the remaining time at the pace so far; None if that is not known (yet)."""
    if not 0 < state.share < 1 or state.elapsed_s < _EARLY_S:
        return None
    return state.elapsed_s * (1 - state.share) / state.share


def duration(seconds: float) -> str:
    """Return ``4 s``, ``3 min 20 s``, ``2 h 05 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole // 60 % 60:02} min"


def size(count: int) -> str:
    """Return a file's size in the decimal units of file managers: ``1.2 GB``."""
    text = _count(count)
    return f"{text}B" if " " in text else f"{text} B"


def _sizes(done: int, total: int) -> str:
    for unit, of in _COUNTS:
        if total >= of:
            return f"{done / of:.1f} of {total / of:.1f} {unit}B"
    return f"{done} of {total} B"


def _count(number: float) -> str:
    for unit, of in _COUNTS:
        if number >= of:
            return f"{number / of:.1f} {unit}"
    return f"{number:.0f}"
