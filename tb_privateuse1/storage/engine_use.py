"""Count what readers have read since the server started, and how fast."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal

from msgspec import Struct


class EngineUse(Struct, frozen=True):
    """The traces that were read since the server started, and how fast."""

    engine: Literal["local", "dask"]
    traces: int
    bytes: int
    """Of their files."""
    seconds: float
    """While at least one reader worked."""
    reader_seconds: float
    """Of all readers together."""


class Reads:
    """Counts what readers have read, and for how long. Any thread may call its methods."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._traces = self._bytes = self._working = 0
        self._since_s = self._seconds = self._reader_s = 0.0

    def use(self, engine: Literal["local", "dask"]) -> EngineUse | None:
        """Return the sums of what was read; None of nothing."""
        with self._lock:
            seconds = self._seconds
            if self._working:
                seconds += self.clock() - self._since_s
            use = EngineUse(
                engine, self._traces, self._bytes, round(seconds, 3), round(self._reader_s, 3)
            )
        return use if use.traces else None

    def count(self, readers: int, now_s: float, reader_s: float = 0.0) -> None:
        """Count one reader more or less; one that ends has worked for ``reader_s``."""
        with self._lock:
            if self._working:
                self._seconds += now_s - self._since_s
            self._since_s = now_s
            self._working += readers
            self._reader_s += reader_s

    def add(self, size_bytes: int) -> None:
        """Count a trace that was read."""
        with self._lock:
            self._traces += 1
            self._bytes += size_bytes


class Reader:
    """One reader of a store: it waits, works, waits again if its worker was lost, and ends."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._since_s: float | None = None

    def hears(self, phase: str) -> None:
        """Hear what it does; all but ``waiting`` is work."""
        if phase == "waiting":
            self.ends()
        elif self._since_s is None:
            self._since_s = self._reads.clock()
            self._reads.count(1, self._since_s)

    def has_read(self, size_bytes: int) -> None:
        """Count a file that it has read."""
        self._reads.add(size_bytes)

    def ends(self) -> None:
        """Hear that it ended, done or not."""
        if self._since_s is not None:
            now = self._reads.clock()
            self._reads.count(-1, now, now - self._since_s)
            self._since_s = None
