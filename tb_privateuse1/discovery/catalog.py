"""Find traces below a logdir: runs, workers, ranks and spans.

A run is a directory with traces, also one in an archive. A profiler's file names
(``Format.own_names``) are traces whatever their content. Any other file with a format's suffix is
one if its first bytes are those of a trace (``Format.sniff``). ``walk.py`` selects the directories,
``workers.py`` assigns ranks and spans to files.

The sidecar of a trace is ``<worker>.<time>.kernel_event.json[.gz]`` beside it. Without that, the
recipe's ``kernel_event_<rank>.json[.gz]`` belongs to the latest span of its rank, because the
recipe overwrites it at every recording. ``companion_files.py`` finds other files that add to a
trace.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from tb_privateuse1.discovery import (
    companion_files,
    other_files,
    recording_folders,
    workers,
)
from tb_privateuse1.discovery import walk as discovery_walk
from tb_privateuse1.discovery.compressed_files import unpacked_name
from tb_privateuse1.discovery.file import File, basename, file_at, natural_key, parent, printable
from tb_privateuse1.discovery.formats import (
    Folder,
    Format,
    OtherKind,
    completed_name,
    is_own_name,
    may_add,
    stem,
)
from tb_privateuse1.discovery.recording_folders import Directory
from tb_privateuse1.discovery.remote import RemoteError, is_url
from tb_privateuse1.discovery.roots import describe, locate
from tb_privateuse1.discovery.trace_files import TraceFiles, with_others
from tb_privateuse1.discovery.trace_head import Head, Heads
from tb_privateuse1.i18n import fill, say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.isolation import Failure, isolate


class Span(Struct, frozen=True):
    """One recording of a worker; spans count from 1 in order of time."""

    span: int
    label: str
    """The time stamp of the file's name, or ``default``; the name if these are not unique."""
    bytes: int
    modified_ns: int | None
    """Unix time of the trace's last change; null if a remote filesystem does not have it."""
    has_sidecar: bool


class Worker(Struct, frozen=True):
    """A process that was profiled: one rank of a run."""

    worker: str
    rank: int
    rank_source: str
    """The source of the rank: ``metadata``, ``name`` or ``order``."""
    spans: tuple[Span, ...]


class Run(Struct, frozen=True):
    """A directory below the logdir that holds traces; its name is its path from there."""

    run: str
    workers: tuple[Worker, ...]
    warnings: tuple[Finding, ...]


class Runs(Struct, frozen=True):
    """All runs of a logdir."""

    logdir: str
    runs: tuple[Run, ...]
    scanning: bool
    """The first scan has not finished."""
    warnings: tuple[Finding, ...]


class Catalog(Struct, frozen=True):
    """The runs of a logdir and their files, which only the server sees."""

    runs: Runs
    files: Mapping[tuple[str, int, int], TraceFiles]
    """By (run, rank, span)."""

    def find(
        self, run: str | None = None, rank: int | None = None, span: int | None = None
    ) -> TraceFiles:
        """Return the files of a span: by default of the first run, lowest rank and latest span.

        Only listed runs, ranks and spans are valid. Raises TraceError ``unknown_run``,
        ``unknown_rank`` or ``unknown_span``. If there are no runs because a remote logdir cannot
        be read, raises that error.
        """
        if not self.runs.runs:
            for warning in self.runs.warnings:
                if warning.code.startswith(("remote_", "archive_", other_files.CODE)):
                    raise TraceError(warning.code, warning.message, warning.hint)
            hint = say("Record one with tb_privateuse1.capture, or with torch.profiler's handler.")
            message = say("There are no traces in {logdir}.", logdir=self.runs.logdir)
            raise TraceError("unknown_run", message, hint)
        in_run = self.runs.runs[0] if run is None else _pick(self.runs.runs, "run", run)
        worker = in_run.workers[0] if rank is None else _pick(in_run.workers, "rank", rank)
        recording = worker.spans[-1] if span is None else _pick(worker.spans, "span", span)
        return self.files[in_run.run, worker.rank, recording.span]


def scan(
    logdir: str,
    formats: Sequence[Format],
    spec: Sequence[tuple[str, str]] = (),
    heads: Heads | None = None,
) -> Catalog:
    """Return all runs below a logdir, or below the named roots of ``spec`` (see ``roots.py``).

    ``logdir`` may be a URL, or a single trace of any name. ``formats`` are the readable ones,
    ``readers.READERS``. ``heads`` caches the files' heads for the next scan. Raises TraceError
    ``no_such_path``, or ``remote.RemoteError`` for a URL that cannot be read.
    """
    roots = spec or [("", logdir)]
    warnings: list[Finding] = []
    entries: list[Entry] = []
    for _, path in roots:
        locate(path)
    root = "" if spec else locate(logdir)
    if root and discovery_walk.is_file(root) and not discovery_walk.is_archive(root):
        entries.append(_single(root, heads or Heads(formats)))
    else:
        entries += walk(roots, heads or Heads(formats), warnings, [])
    return catalog(describe(roots), entries, warnings)


Entry = tuple[Run, dict[tuple[str, int, int], TraceFiles]]
"""A run and its files."""


def catalog(
    logdir: str, entries: Sequence[Entry], warnings: Sequence[Finding], scanning: bool = False
) -> Catalog:
    """Build the catalog of runs in the natural order of their names.

    ``logdir`` is the result of ``roots.describe``.
    """
    runs = tuple(sorted((run for run, _ in entries), key=lambda r: natural_key(r.run)))
    files = {key: value for _, files in entries for key, value in files.items()}
    return Catalog(Runs(logdir, runs, scanning, tuple(warnings)), files)


def walk(
    roots: Sequence[tuple[str, str]],
    heads: Heads,
    warnings: list[Finding],
    lost: list[str],
    *,
    links_out: bool = True,
) -> Iterator[Entry]:
    """Yield the runs of named roots as the search finds them; a missing root is a warning.

    ``lost`` gets the URLs of roots, directories and files that exist but cannot be read now
    (their host does not answer, a token has expired): their runs of the last scan still count.
    Without ``links_out``, links that lead out of a root are a warning.
    """
    names: set[str] = set()
    for root_name, path in roots:
        try:
            root = locate(path)
            directories = discovery_walk.directories(
                root, warnings, heads.formats, lost, links_out=links_out
            )
            yield from _walk(root_name, root, directories, heads, warnings, names)
        except TraceError as error:
            warnings.append(Finding(error.code, error.message, error.hint))
            if isinstance(error, RemoteError) and error.code != "no_such_path":
                lost.append(path)
        finally:
            heads.stop()


def _walk(
    root_name: str,
    root: str,
    directories: Iterator[tuple[str, list[File]]],
    heads: Heads,
    warnings: list[Finding],
    names: set[str],
) -> Iterator[Entry]:
    if is_url(root):
        listed = recording_folders.parents_first(directories, heads.formats)
        heads.look_ahead(
            f for _, files in listed for f in files if not companion_files.SIDECAR.match(f.name)
        )
        directories = iter(listed)
        is_ambiguous = any(below.partition("/")[0] == basename(root) for below, _ in listed)
    else:
        is_ambiguous = Path(root, basename(root)).exists()
    top = "." if is_ambiguous else basename(root)
    raw: list[tuple[str, Folder]] = []
    others: list[tuple[str, OtherKind]] = []
    for directory in recording_folders.gather(directories, basename(root), heads.formats):
        below = directory.below
        raw += recording_folders.without_events(directory, heads)
        name = unique = _name(root_name, top, below)
        while unique in names:
            unique += "'"
        make = functools.partial(_runs_and_others, unique, directory, heads)
        found = isolate(unique, functools.partial(heads.once, f"{root} {unique}", directory, make))
        if isinstance(found, Failure):
            warnings.append(found.finding())
            continue
        own, unused = found
        others += unused
        if own:
            names.update(run.run for run, _ in own)
            if unique != name:
                message = say(
                    "Two runs are called {name}: {below} is shown as {unique}.",
                    name=printable(name),
                    below=printable(below),
                    unique=printable(unique),
                )
                warnings.append(Finding("run_name_collision", message))
            yield from own
    warnings += recording_folders.raw_folders(raw)
    warnings += other_files.findings(others)


def _runs_and_others(
    name: str, directory: Directory, heads: Heads
) -> tuple[list[Entry], list[tuple[str, OtherKind]]]:
    """Return the runs of a directory, and its files that are known and that no recording uses."""
    entries = _runs(name, directory, heads)
    recordings = [files for _, own in entries for files in own.values()]
    return entries, other_files.of_directory(directory, recordings, heads)


_T = TypeVar("_T", Run, Worker, Span)


_UNKNOWN = {
    "run": say("There is no run {wanted}."),
    "rank": say("There is no rank {wanted}."),
    "span": say("There is no span {wanted}."),
}


def _pick(items: Sequence[_T], kind: str, wanted: str | int) -> _T:
    for item in items:
        if getattr(item, kind) == wanted:
            return item
    names = [str(getattr(item, kind)) for item in items]
    have = ", ".join(names[:20])
    if len(names) > 20:
        have = say("{names} and {count} more", names=have, count=len(names) - 20)
    message = fill(_UNKNOWN[kind], wanted=wanted)
    raise TraceError(f"unknown_{kind}", message, say("There is: {have}.", have=have))


def _name(root_name: str, top: str, below: str) -> str:
    if below != ".":
        return printable(Path(root_name, below).as_posix())
    return printable(root_name or top or ".")


def _single(path: str, heads: Heads) -> Entry:
    """Return the run of a single file that the user names: a trace whatever its name or head."""
    file = file_at(path)
    folder = parent(path)
    try:
        neighbors = discovery_walk.files_of(folder, heads.formats) if folder else []
    except OSError:  # the directory may be unreadable while its files are readable
        neighbors = []
    # The recipe's sidecar is the latest recording's (see above).
    named = [f for f in neighbors if is_own_name(f.name, heads.formats)]
    earlier = [workers.WorkerRecording(f, None, None, heads.formats) for f in named]
    recording = workers.WorkerRecording(file, None, None, heads.formats)
    is_latest = all(o.when <= recording.when for o in earlier if o.worker == recording.worker)
    pattern = companion_files.SIDECAR if is_latest else companion_files.OURS
    sidecars = [
        f for f in neighbors if pattern.match(f.name) or completed_name(f.name, heads.formats)
    ]
    others = [
        f
        for f in neighbors
        if may_add(f.name, heads.formats)
        and not companion_files.SIDECAR.match(f.name)
        and f not in (file, *sidecars)
    ]
    run = printable(basename(folder or "") or ".")
    return _runs(run, Directory(".", [*sidecars, *others[:_MOST_NEIGHBORS]]), heads, only=file)[0]


_MOST_NEIGHBORS = 64
"""Files beside a single trace whose first bytes are read, as one may be an execution trace."""


class _Directory(Struct, frozen=True):
    """The recordings of a directory, and the files beside them that belong to one."""

    recordings: list[workers.WorkerRecording]
    sidecars: dict[File, File]
    recipe: dict[int, File]
    """The recipe's sidecars by rank."""
    gathered: Mapping[File, recording_folders.FolderRecording]
    named_after: Mapping[File, File]
    additions: list[tuple[File, Head]]


def _runs(name: str, directory: Directory, heads: Heads, only: File | None = None) -> list[Entry]:
    """Return the run of one directory's files and folders; none if there are no traces.

    A recording of no rank is a run of its own.
    """
    found = _sorted_out(directory, heads, only)
    apart = [] if only else recording_folders.of_no_rank(found.recordings, found.sidecars, heads)
    kept = [recording for recording in found.recordings if recording not in apart]
    runs = [(name, kept), *((f"{name}/{printable(one.worker)}", [one]) for one in apart)]
    return [_run(run, found, own, heads, only) for run, own in runs if own]


def _sorted_out(directory: Directory, heads: Heads, only: File | None) -> _Directory:
    """Return the recordings among the files of a directory, or the ``only`` one, and the rest."""
    ours: dict[str, File] = {}
    recipe: dict[int, File] = {}
    traces: dict[str, File] = {}
    gathered = recording_folders.recordings(directory, heads)
    taken = {file for recording in gathered.values() for file in recording.files}
    for file in directory.files:
        if match := companion_files.OURS.match(file.name):
            ours.setdefault(match[1], file)
        elif match := companion_files.RECIPE.match(file.name):
            recipe.setdefault(int(match[1] or 0), file)
        elif file not in taken and recording_folders.is_trace(file, heads):
            # ``x.json`` beside ``x.json.gz`` is the same trace; sorted, the plain one is first.
            traces.setdefault(unpacked_name(file.name), file)
    additions = companion_files.additions(
        [
            f
            for f in directory.files
            if f not in taken and not companion_files.SIDECAR.match(f.name)
        ],
        heads,
    )
    selected = [*recording_folders.without_sources(traces, heads), *gathered]
    selected = [only] if only else companion_files.without_joining(selected, heads)
    stems = {file: stem(file.name, heads.formats) or file.name for file in selected}
    added = companion_files.named_after(stems, directory.files, heads)
    if not only:
        selected = [file for file in selected if file not in added.values()]
    sidecars = {
        file: side for file in selected if (side := companion_files.of_stem(stems[file], ours))
    }
    recordings = recording_folders.file_recordings(selected, sidecars, gathered, heads)
    return _Directory(recordings, sidecars, recipe, gathered, added, additions)


def _run(
    name: str,
    found: _Directory,
    recordings: list[workers.WorkerRecording],
    heads: Heads,
    only: File | None,
) -> Entry:
    """Return the run of some recordings of a directory."""
    joining = [] if only else [r for r in recordings if recording_folders.joins_rank(r.file, heads)]
    members, findings, joined = workers.join_ranks(recordings, joining)
    files: dict[tuple[str, int, int], TraceFiles] = {}
    ranks: list[Worker] = []
    for member in members:
        spans = []
        for number, (label, recording) in enumerate(member.spans, 1):
            file = recording.file
            sidecar = found.sidecars.get(file)
            if sidecar is None and number == len(member.spans):
                sidecar = found.recipe.get(member.rank)
            written_ns = file.mtime_ns or None
            spans.append(Span(number, label, file.size, written_ns, sidecar is not None))
            rank = None if member.rank_source == "order" else member.rank
            worker = printable(recording.worker)
            parts = found.gathered[file].parts if file in found.gathered else ()
            parts += (found.named_after[file],) if file in found.named_after else ()
            parts += tuple(joined.get(member.rank, ())) if number == len(member.spans) else ()
            parts += companion_files.files_beside(file, heads.trace(file), rank, found.additions)
            files[name, member.rank, number] = TraceFiles(
                file, sidecar, worker, rank, parts=parts, label=recording.label
            )
        ranks.append(Worker(member.worker, member.rank, member.rank_source, tuple(spans)))
    return Run(name, tuple(ranks), tuple(findings)), with_others(files)
