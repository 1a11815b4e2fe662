"""The interface of engines that read traces, on this machine or in a cluster; what they read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.storage import disk_cache
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.vendors.user_file import Vendors

if TYPE_CHECKING:
    from tb_privateuse1.analysis.ranks.collectives import RankPart
    from tb_privateuse1.readers.raw import Progress
    from tb_privateuse1.storage.jobs import Process


EngineName = Literal["local", "dask"]


class Reading(Struct, frozen=True):
    """A trace to read and to store, and who hears of it."""

    files: TraceFiles
    paths: Sequence[Path]
    """Where the cache has it, the preferred one first. The name is the key of its content."""
    vendors: Vendors
    turn: int
    """The highest is read first."""
    columns: Callable[[], bool]
    """Returns whether somebody asks for the trace; else its part is enough."""
    progress: Progress
    """Raises TraceError if the reading has to end."""
    started: Callable[[Process | None], None]
    """Gets what can be killed from now on, and None when it may no longer be. Again and again as
    long as it waits for its turn, which is no lack of progress."""
    tell: Callable[[str | None], None]
    """Gets what happened to it, in words for the user."""


class Engine(Protocol):
    """Reads traces. Its methods may be called from any thread."""

    @property
    def name(self) -> EngineName:
        """Return who reads: this machine, or a cluster."""

    @property
    def readers(self) -> int:
        """Return how many traces it takes at a time; 0: it reads in the caller's thread."""

    @property
    def locks(self) -> bool:
        """Return whether its readers take the lock of a cached trace; else the caller holds it."""

    def check(self) -> None:
        """Raise TraceError if it cannot read now."""

    def read(self, reading: Reading) -> Trace | RankPart:
        """Return a trace that was read and, if possible, stored, or its part. Raises TraceError."""

    def discard(self, paths: Sequence[Path]) -> None:
        """Remove a trace from where the engine shares it, other than its paths."""

    def close(self) -> None:
        """End what is left of it. What is being read was killed before."""


class EngineUse(Struct, frozen=True):
    """The traces that were read since the server started, and how fast."""

    engine: EngineName
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

    def use(self, engine: EngineName) -> EngineUse | None:
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


def open_stored(path: Path, reading: Reading) -> Trace | RankPart | None:
    """Return what a reader stored at a path: the part if that is enough, else the trace."""
    from tb_privateuse1.storage import part_file

    if not reading.columns() and (part := part_file.read_part(path)) is not None:
        return part
    return disk_cache.read_trace(path, reading.vendors)
