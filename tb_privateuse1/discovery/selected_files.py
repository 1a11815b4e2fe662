"""Select the files of a directory that are recordings, and those that are no rank's."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from tb_privateuse1.discovery.file import File
from tb_privateuse1.discovery.formats import is_own_name, is_source, stem
from tb_privateuse1.discovery.rank_names import named_ranks
from tb_privateuse1.discovery.recording_folders import FolderRecording, rank_in_name
from tb_privateuse1.discovery.trace_head import Heads
from tb_privateuse1.discovery.workers import WorkerRecording


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


def recordings(
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
        inside = [replace(one, rank=None, label=label) for label in head.labels]
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
        if one not in ranks
        and one.process is not None
        and one.process not in processes
        and one.file not in sidecars
        and not one.file.is_remote
    ]
    if not silent or not any(heads.has_device_work(one.file) for one in ranks):
        return []
    return [one for one in silent if not heads.has_device_work(one.file)]
