"""What a trace is read from: its file, its sidecar, and other recordings of its run."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tb_privateuse1.discovery.file import File, file_at, shown
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

Place = tuple[str, int, int]
"""Run, rank and span."""


@dataclass(frozen=True)
class TraceFiles:
    """What one trace is read from: where it is and what it was when it was found."""

    trace: File
    sidecar: File | None
    worker: str
    rank: int | None
    """Null if only the order of names gave the rank."""
    others: tuple[TraceFiles, ...] = ()
    """Recordings of the run that may know durations of this one: where kernels are inferred, the
    first span of this rank and that of the lowest one. (All would be too many to read; these stay
    the same while a run goes on, and are where to prime.)"""

    @property
    def names(self) -> tuple[str, ...]:
        """The files' names, for provenance."""
        return tuple(shown(f.name) for f in (self.trace, self.sidecar) if f)


def with_others(files: Mapping[Place, TraceFiles]) -> dict[Place, TraceFiles]:
    """The files of a run, each with the other recordings that may help; see ``Files.others``."""
    first: dict[int, TraceFiles] = {}
    made: dict[Place, TraceFiles] = {}
    for (run, rank, span), alone in sorted(files.items()):
        own = alone
        if own.sidecar is not None:
            known = (first.get(min(first, default=rank)), first.get(rank))
            own = replace(own, others=tuple(dict.fromkeys(filter(None, known))))
            first.setdefault(rank, own)
        made[run, rank, span] = own
    return made


def as_now(files: TraceFiles) -> TraceFiles:
    """Return the files as they are now; remote ones as they were found. Raises OSError."""
    if files.trace.is_remote:
        return files
    sidecar, others = None, []
    if files.sidecar:
        with contextlib.suppress(OSError):
            sidecar = file_at(files.sidecar.path)
    for other in files.others:
        with contextlib.suppress(OSError):
            others.append(as_now(other))
    now = file_at(files.trace.path)
    return replace(files, trace=now, sidecar=sidecar, others=tuple(others))


def check_unchanged(files: TraceFiles) -> None:
    """Raise TraceError ``remote_changed`` if a remote file is no longer what the search found.

    It is read in parts, and is known from then on by what it was when it was found.
    """
    for file in filter(None, (files.trace, files.sidecar)):
        if file.is_remote and not file.same(file_at(file.path)):
            message = say("{name} has changed since it was found.", name=shown(file.name))
            raise TraceError("remote_changed", message, say("Reload the list of runs."))


def unchanged(files: TraceFiles) -> bool:
    """Whether the trace is still the file that was to be read, and those it was made with. If it
    grew meanwhile, what was read is more than its identity says, and not for the cache that others
    use. (Of a remote one ``ingest`` has made sure.)
    """
    if files.trace.is_remote:
        return True
    try:
        same = file_at(files.trace.path) == files.trace
        return same and all(map(unchanged, files.others))
    except OSError:
        return False
