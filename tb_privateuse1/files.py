"""What a trace is read from: its file, its sidecar, and other recordings of its run."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tb_privateuse1.discover.base import File, file_at, shown

Place = tuple[str, int, int]
"""Run, rank and span."""


@dataclass(frozen=True)
class Files:
    """What one trace is read from: where it is and what it was when it was found."""

    trace: File
    sidecar: File | None
    worker: str
    rank: int | None
    """Null if only the order of names gave the rank."""
    others: tuple[Files, ...] = ()
    """Recordings of the run that may know durations of this one: where kernels are inferred, the
    first span of this rank and that of the lowest one. (All would be too many to read; these stay
    the same while a run goes on, and are where to prime.)"""

    @property
    def names(self) -> tuple[str, ...]:
        """The files' names, for provenance."""
        return tuple(shown(f.name) for f in (self.trace, self.sidecar) if f)

    def now(self) -> Files:
        """The files as they are now; remote ones as they were found. Raises OSError."""
        if self.trace.is_remote:
            return self
        sidecar, others = None, []
        if self.sidecar:
            with contextlib.suppress(OSError):
                sidecar = file_at(self.sidecar.path)
        for other in self.others:
            with contextlib.suppress(OSError):
                others.append(other.now())
        return replace(self, trace=file_at(self.trace.path), sidecar=sidecar, others=tuple(others))


def with_others(files: Mapping[Place, Files]) -> dict[Place, Files]:
    """The files of a run, each with the other recordings that may help; see ``Files.others``."""
    first: dict[int, Files] = {}
    made: dict[Place, Files] = {}
    for (run, rank, span), alone in sorted(files.items()):
        own = alone
        if own.sidecar is not None:
            known = (first.get(min(first, default=rank)), first.get(rank))
            own = replace(own, others=tuple(dict.fromkeys(filter(None, known))))
            first.setdefault(rank, own)
        made[run, rank, span] = own
    return made
