"""The files of a trace: its own, its sidecar, and other recordings of its run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.discovery.file import File, Located, file_at, locate, printable
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

Place = tuple[str, int, int]
"""Run, rank and span."""
_GONE = (FileNotFoundError, NotADirectoryError, PermissionError)


class TraceFiles(Struct, frozen=True):
    """The files of one trace, with their identity at the time of the search."""

    trace: File
    sidecar: File | None
    worker: str
    rank: int | None
    """Null if the rank is from the order of names alone."""
    others: tuple[TraceFiles, ...] = ()
    """Recordings of the run that may help to read this one: if kernels are inferred, those with
    durations, the first spans of this rank and of the lowest one; else that in which graphs were
    captured, the first span of this rank. (All would be too many to read. These stay the same
    while a run continues, and are the ones to prime.)"""
    parts: tuple[File, ...] = ()
    """Files of the recording's folder that add to the events (``Format.folder``)."""
    label: str = ""
    """What the processes of its rank are called by in a merged file; empty: all are its own."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the files' names, for provenance."""
        return tuple(printable(f.name) for f in self.own)

    @property
    def own(self) -> tuple[File, ...]:
        """Return all files of this recording."""
        return tuple(f for f in (self.trace, self.sidecar, *self.parts) if f)

    def paths(self) -> Iterator[str]:
        """Yield the paths of all files that are read for it, with those of other recordings."""
        yield from (file.path for file in self.own)
        for other in self.others:
            yield from other.paths()

    def is_unchanged(self) -> bool:
        """Return whether the trace's file is still the one that the search found."""
        try:
            return file_at(self.trace.path) == self.trace
        except OSError:
            return False


def with_others(files: Mapping[Place, TraceFiles]) -> dict[Place, TraceFiles]:
    """Return the files of a run, each with its helpful other recordings (``TraceFiles.others``)."""
    first: dict[int, TraceFiles] = {}
    opening: dict[int, TraceFiles] = {}
    linked: dict[Place, TraceFiles] = {}
    for place, recording in sorted(files.items()):
        rank = place[1]
        if recording.sidecar is not None:
            others = filter(None, (first.get(min(first, default=rank)), first.get(rank)))
            linked[place] = replace(recording, others=tuple(dict.fromkeys(others)))
            first.setdefault(rank, linked[place])
        else:
            start = tuple(filter(None, [opening.get(rank)]))
            linked[place] = replace(recording, others=start)
            opening.setdefault(rank, recording)
    return linked


def refresh(files: TraceFiles, look: Callable[[str], Located] = locate) -> TraceFiles:
    """Return the files in their present state; remote ones unchanged.

    One that is gone is left out. Raises OSError: also for one whose disk does not answer.
    """
    if files.trace.is_remote:
        return files
    sidecar, parts, others = None, [], []
    if files.sidecar:
        with contextlib.suppress(*_GONE):
            sidecar = look(files.sidecar.path).file
    for part in files.parts:
        with contextlib.suppress(*_GONE):
            parts.append(look(part.path).file)
    for other in files.others:
        with contextlib.suppress(*_GONE):
            others.append(refresh(other, look))
    now = look(files.trace.path).file
    return replace(files, trace=now, sidecar=sidecar, others=tuple(others), parts=tuple(parts))


def check_unchanged(files: TraceFiles) -> None:
    """Raise TraceError ``remote_changed`` if a remote file has changed since the search.

    A remote file is read in parts, and the cache identifies it by its state at the search.
    """
    for file in files.own:
        if file.is_remote and not file.same(file_at(file.path)):
            message = say("{name} has changed since it was found.", name=printable(file.name))
            raise TraceError("remote_changed", message, say("Reload the list of runs."))


def is_unchanged(files: TraceFiles) -> bool:
    """Return whether the trace and its other recordings are still the same files.

    If a file grew meanwhile, the read trace does not match its identity, so it must not be cached.
    Remote files always count as unchanged: ``ingest`` checks them with ``check_unchanged``.
    """
    if files.trace.is_remote:
        return True
    try:
        same = all(file_at(file.path) == file for file in (files.trace, *files.parts))
        return same and all(map(is_unchanged, files.others))
    except OSError:
        return False
