"""Select the recordings of a directory: its files, and folders that are one (``Format.folder``).

Such a folder belongs to the run of the directory that holds it, as a trace file does. One of its
files has the events. The others add to them, or repeat them and are left out: none of them is a
recording of its own. Its rank is in the names of its files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from tb_privateuse1.discovery.file import File, natural_key, printable
from tb_privateuse1.discovery.formats import (
    Folder,
    Format,
    folders,
    is_own_name,
    is_source,
    stem,
)
from tb_privateuse1.discovery.trace_head import Heads
from tb_privateuse1.discovery.workers import WorkerRecording, named_ranks
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.findings import Finding


class FolderRecording(Struct, frozen=True):
    """The files of one folder: the trace, what adds to it, and what its names say.

    ``forms`` are all files with the events; ``trace`` is one of them.
    """

    trace: File
    forms: tuple[File, ...]
    parts: tuple[File, ...]
    named: tuple[str, str | None]
    """The worker and the time stamp in the folder's name."""
    rank: int | None

    @property
    def files(self) -> tuple[File, ...]:
        """Return all files that belong to it."""
        return (*self.forms, *self.parts)


class Directory(Struct):
    """A directory that may be a run: its own files, and its folders of recordings."""

    below: str
    files: list[File]
    folders: dict[str, list[File]] = field(default_factory=dict)
    """The files of each folder and of what lies deeper, by the folder's name."""


def gather(
    directories: Iterable[tuple[str, list[File]]], root: str, formats: Sequence[Format]
) -> Iterator[Directory]:
    """Yield the directories, each with its folders of recordings, which must directly follow it.

    ``root`` is the name of the first directory, whose path is ``.``: it may be such a folder, too.
    """
    known = folders(formats)
    held: Directory | None = None
    for below, files in directories:
        parts = (root, *Path(below).parts)
        at = next((i for i, name in enumerate(parts) if _layout(name, known)), None)
        parent = below if at is None else Path(*parts[1:at]).as_posix()
        if held is None or held.below != parent or at is None:
            if held is not None:
                yield held
            held = Directory(parent, [])
        if at is None:
            held.files = files
        else:
            held.folders.setdefault(parts[at], []).extend(files)
    if held is not None:
        yield held


def parents_first(
    directories: Iterable[tuple[str, list[File]]], formats: Sequence[Format]
) -> list[tuple[str, list[File]]]:
    """Return directories in an order in which folders of recordings follow their parent."""
    known = folders(formats)

    def order(entry: tuple[str, list[File]]) -> list[tuple[bool, str]]:
        names = Path(entry[0]).parts
        return [(_layout(name, known) is None, name) for name in names]

    return sorted(directories, key=order) if known else list(directories)


def recordings(directory: Directory, heads: Heads) -> dict[File, FolderRecording]:
    """Return the recordings of a directory that have several files, by their traces."""
    found = [_recording_of(name, files, heads) for name, files in directory.folders.items()]
    found += _several_forms(directory.files, heads)
    return {recording.trace: recording for recording in found if recording is not None}


def without_events(directory: Directory, heads: Heads) -> list[tuple[str, Folder]]:
    """Return the names of a directory's folders that no file with events is in."""
    known = folders(heads.formats)
    listed = [(name, _layout(name, known), files) for name, files in directory.folders.items()]
    return [
        (name, layout)
        for name, layout, files in listed
        if layout is not None and _recording_of(name, files, heads) is None
    ]


def raw_folders(found: Sequence[tuple[str, Folder]]) -> list[Finding]:
    """Return a finding for each kind of folders that hold no events yet."""
    findings = []
    for layout in dict.fromkeys(layout for _, layout in found):
        names = [printable(name) for name, other in found if other is layout]
        message = say(
            "{count:,} folders have no file with events, the first is {name}.",
            count=len(names),
            name=names[0],
        )
        if len(names) == 1:
            message = say("The folder {name} has no file with events.", name=names[0])
        findings.append(Finding("folder_without_events", message, layout.hint, len(names)))
    return findings


def _recording_of(name: str, files: Sequence[File], heads: Heads) -> FolderRecording | None:
    """Return the recording of a folder by its name and files; None if no file has events."""
    for folder in folders(heads.formats):
        if match := folder.names.search(name):
            found = match.groupdict()
            named = (found.get("worker") or name, found.get("stamp"))
            return _recording(files, folder, heads, named)
    return None


def _several_forms(files: Sequence[File], heads: Heads) -> list[FolderRecording | None]:
    """Return the recording of a directory that has one recording's events in several files.

    That is a copy of what such a folder holds. Of two files of one form, each is a recording.
    """
    found: list[FolderRecording | None] = []
    for folder in folders(heads.formats):
        named = [[f for f in files if form.search(f.name)] for form in folder.traces]
        forms = [matches for matches in named if matches]
        if len(forms) > 1 and all(len(matches) == 1 for matches in forms):
            worker = forms[0][0].name.partition(".")[0]
            found.append(_recording(files, folder, heads, (worker, None)))
    return found


def rank_in_name(name: str, formats: Sequence[Format]) -> int | None:
    """Return the rank that a tool wrote into a file's name."""
    return _rank([name], [folder.rank for folder in folders(formats)])


def _layout(name: str, known: Sequence[Folder]) -> Folder | None:
    return next((folder for folder in known if folder.names.search(name)), None)


def _recording(
    files: Sequence[File], folder: Folder, heads: Heads, named: tuple[str, str | None]
) -> FolderRecording | None:
    by_form = [
        sorted((f for f in files if form.search(f.name)), key=lambda f: natural_key(f.path))
        for form in folder.traces
    ]
    candidates = [file for matches in by_form for file in matches]
    readable = (file for file in candidates if heads.trace(file).is_trace)
    trace = next(readable, next(iter(candidates), None))
    if trace is None:
        return None
    parts = sorted((f for f in files if folder.parts.search(f.name)), key=lambda f: f.path)
    rank = _rank([trace.name, *(f.name for f in files)], [folder.rank])
    return FolderRecording(trace, tuple(candidates), tuple(parts), named, rank)


def _rank(names: Iterable[str], patterns: Iterable[re.Pattern[str]]) -> int | None:
    matches = (pattern.search(name) for name in names for pattern in patterns)
    return next((int(match[1]) for match in matches if match), None)


def is_trace(file: File, heads: Heads) -> bool:
    """Return whether a file is a trace by its name, else by its first bytes."""
    if is_own_name(file.name, heads.formats):
        return True
    return stem(file.name, heads.formats) is not None and heads.trace(file).is_trace


def joins_rank(file: File, heads: Heads) -> bool:
    """Return whether a file adds to another recording of its rank (``Format.joins_rank``)."""
    named = is_own_name(file.name, [each for each in heads.formats if each.joins_rank])
    return named or heads.trace(file).joins_rank


def without_sources(traces: Mapping[str, File], heads: Heads) -> list[File]:
    """Return the traces without files from which a tool has made one of the others."""
    sources = {name for name in traces if is_source(name, heads.formats)}
    made = {stem(name, heads.formats) for name in traces.keys() - sources}
    return [
        file
        for name, file in traces.items()
        if name not in sources or stem(name, heads.formats) not in made
    ]


def file_recordings(
    selected: Sequence[File],
    sidecars: Mapping[File, File],
    gathered: Mapping[File, FolderRecording],
    heads: Heads,
) -> list[WorkerRecording]:
    """Return the recordings of files, with the ranks that they say: several of a merged file."""
    found: list[WorkerRecording] = []
    for file in selected:
        head = heads.trace(file)
        rank = head.rank
        if rank is None and file in sidecars:
            rank = heads.sidecar(sidecars[file]).rank
        of_folder = gathered.get(file)
        if rank is None:
            rank = of_folder.rank if of_folder else rank_in_name(file.name, heads.formats)
        named = of_folder.named if of_folder else None
        one = WorkerRecording(file, rank, head.world_size, heads.formats, named, head.host)
        # The rank in a merged file's metadata is that of one of its ranks.
        inside = [replace(one, rank=None, process=None, label=label) for label in head.labels]
        found += inside or [one]
    return found


def of_no_rank(
    found: Sequence[WorkerRecording], sidecars: Collection[File], heads: Heads
) -> list[WorkerRecording]:
    """Return the host-only recordings of processes that are no rank, such as a server's.

    Beside ranks that say who they are and used a device, such a process says no rank, is none of
    theirs, and used no device.
    """
    named = named_ranks([one.worker for one in found])
    ranks = [one for one in found if one.rank is not None or one.worker in named]
    processes = {one.process for one in ranks}
    silent = [
        one
        for one in found
        if one.rank is None
        and one.worker not in named
        and one.process is not None
        and one.process not in processes
        and one.file not in sidecars
        and not one.file.is_remote
    ]
    if not silent or not any(heads.has_device_work(one.file) for one in ranks):
        return []
    return [one for one in silent if not heads.has_device_work(one.file)]
