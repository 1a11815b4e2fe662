"""The interface of engines that read traces, on this machine or in a cluster."""

from __future__ import annotations

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


def open_stored(path: Path, reading: Reading) -> Trace | RankPart | None:
    """Return what a reader stored at a path: the part if that is enough, else the trace."""
    from tb_privateuse1.storage import part_file

    if not reading.columns() and (part := part_file.read_part(path)) is not None:
        return part
    return disk_cache.read_trace(path, reading.vendors)
