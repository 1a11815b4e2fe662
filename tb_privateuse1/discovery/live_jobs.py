"""List the running jobs of a logdir that record on request.

A process of a job writes ``.tb_privateuse1/job-<worker>.json`` into its logdir and renews it. All
processes of one directory are one job, since they read the same request
(``recording_request.py``). Everybody who can write to the logdir can write these files, so
each one is bounded, checked field by field, and never followed anywhere: links are not opened.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct

from tb_privateuse1.discovery import remote
from tb_privateuse1.discovery.file import basename, natural_key, printable
from tb_privateuse1.discovery.roots import locate
from tb_privateuse1.i18n import Text, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding

JOB_SCHEMA = "tb_privateuse1.recording_job/1"
FOLDER = ".tb_privateuse1"
LONGEST_FILE_BYTES = 1 << 16

State = Literal["ready", "waiting", "recording", "writing", "ended"]
"""``waiting``: a request was read, and its first step is not reached."""

MOST_DIRECTORIES = 20_000
MOST_LEVELS = 12
MOST_PROCESSES = 16_384
_LONGEST_TEXT = 500
_LONGEST_PERIOD_S = 3600.0
_GRACE_NS = 5 * 10**9
_MOST = 2**63 - 1
_MOST_WARNINGS = 20


class Outcome(Struct, frozen=True):
    """The end of a process's last request: a trace or an error."""

    id: str
    trace: str | None
    """Its path below the job's directory."""
    error: str | None


class LiveProcess(Struct, frozen=True):
    """One process of a job, as it describes itself."""

    worker: str
    host: str
    pid: int
    rank: int | None
    world_size: int | None
    backend: str | None
    state: State
    step: int
    """Steps so far."""
    step_ns: int | None
    """The median of its last steps outside recordings."""
    request: str | None
    """The request that it serves now."""
    last: Outcome | None
    changed_ns: int
    """Unix time of this description."""
    period_s: float
    """It is renewed at least this often."""

    def is_alive(self, now_ns: int) -> bool:
        """Return whether the process still renews its description and has not ended."""
        return self.state != "ended" and now_ns < self.silent_ns

    @property
    def silent_ns(self) -> int:
        """Return the Unix time from when a process that says no more counts as gone."""
        return self.changed_ns + int(3e9 * self.period_s) + _GRACE_NS

    def matches(self, ranks: Sequence[int] | None) -> bool:
        """Return whether a request for these ranks is for it. Without a rank it counts as 0."""
        return ranks is None or (self.rank or 0) in ranks


class RecordingJob(Struct, frozen=True):
    """All processes that read the same request, those that are gone included."""

    name: str
    """As a run is named: the path from the logdir, with the name of the root."""
    directory: Path
    """Where its traces lie, and below it the folder of requests."""
    processes: tuple[LiveProcess, ...]
    """In the order of their ranks."""

    def alive(self, now_ns: int) -> tuple[LiveProcess, ...]:
        """Return the processes that are running."""
        return tuple(process for process in self.processes if process.is_alive(now_ns))


class JobPlace(Struct, frozen=True):
    """A directory that has a folder of jobs."""

    name: str
    directory: Path


def find_places(
    roots: Sequence[tuple[str, str]], warnings: list[Finding] | None = None
) -> list[JobPlace]:
    """Return the directories of jobs below the named roots of a logdir.

    Links are not followed, and the search is bounded. A remote or missing root, and a search that
    met its bound, become warnings. Raises nothing.
    """
    warnings = [] if warnings is None else warnings
    found: list[JobPlace] = []
    for root_name, path in roots:
        try:
            root = locate(path)
        except TraceError as error:
            warnings.append(Finding(error.code, error.message, error.hint))
            continue
        if remote.is_url(root):
            warnings.append(_remote(root))
            continue
        for below in _directories(Path(root), warnings):
            found.append(JobPlace(_name(root_name, root, below), Path(root, below)))
    return found


def _remote(url: str) -> Finding:
    message = say(
        "{logdir} is remote: a job in it cannot be asked to record.", logdir=remote.shown(url)
    )
    hint = say("Ask where the job writes to a disk, or let it record on a schedule.")
    return Finding("record_remote", message, hint, severity="info")


def _name(root_name: str, root: str, below: Path) -> str:
    if below == Path():
        return printable(root_name or basename(root) or ".")
    return printable(Path(root_name, below).as_posix())


def _directories(root: Path, warnings: list[Finding]) -> Iterator[Path]:
    """Yield the directories, as paths below a root, that have a folder of jobs."""
    pending, left = [Path()], MOST_DIRECTORIES
    while pending:
        below = pending.pop()
        left -= 1
        if left < 0:
            message = say("Only {most:,} directories were searched.", most=MOST_DIRECTORIES)
            warnings.append(Finding("record_search_cut", message, severity="info"))
            return
        try:
            with os.scandir(Path(root, below)) as entries:
                names = {e.name for e in entries if e.is_dir(follow_symlinks=False)}
        except OSError:  # gone, or not readable: the search for traces reports it
            continue
        if FOLDER in names:
            yield below
        if len(below.parts) < MOST_LEVELS:
            visible = (name for name in names if not name.startswith("."))
            pending += [Path(below, name) for name in sorted(visible, reverse=True)]


def read_jobs(
    places: Sequence[JobPlace], now_ns: int, warnings: list[Finding] | None = None
) -> list[RecordingJob]:
    """Return the jobs of these directories in the order of names, those that are gone included.

    A file without a description of a process becomes a warning; the others still count.
    """
    warnings = [] if warnings is None else warnings
    jobs = []
    for place in places:
        processes = list(_processes(place, now_ns, warnings))
        if processes:
            processes.sort(key=lambda p: (p.rank is None, p.rank or 0, natural_key(p.worker)))
            jobs.append(RecordingJob(place.name, place.directory, tuple(processes)))
    return sorted(jobs, key=lambda job: natural_key(job.name))


def _processes(place: JobPlace, now_ns: int, warnings: list[Finding]) -> Iterator[LiveProcess]:
    folder = place.directory / FOLDER
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries if _is_description(e.name))
    except OSError:
        return
    if len(names) > MOST_PROCESSES:
        message = say("Only the first {most:,} processes of {job} are read.",
                      most=MOST_PROCESSES, job=place.name)  # fmt: skip
        warnings.append(Finding("record_search_cut", message, severity="info"))
    for name in names[:MOST_PROCESSES]:
        try:
            yield parse_process(read_document(folder / name, JOB_SCHEMA), now_ns)
        except FileNotFoundError:  # it has ended and cleaned up
            continue
        except (OSError, ValueError) as error:
            if len(warnings) < _MOST_WARNINGS:
                warnings.append(_unreadable(place, name, error))


def _is_description(name: str) -> bool:
    return name.startswith("job-") and name.endswith(".json")


def _unreadable(place: JobPlace, name: str, error: Exception) -> Finding:
    why = (error.strerror if isinstance(error, OSError) else error.args[0]) or ""
    message = say(
        "{name} of {job} describes no process: {why}",
        name=shorten(printable(name), _LONGEST_TEXT),
        job=place.name,
        why=why,
    )
    return Finding("record_bad_job", message)


def read_document(path: Path, schema: str) -> Mapping[str, Any]:
    """Read one small JSON file of a folder of jobs.

    Raises OSError, or ValueError with a text for users if the file is a link, no regular file,
    too large, no JSON object or of another schema.
    """
    # Without O_NONBLOCK a named pipe would hold the reader for ever.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if path.is_symlink():
        raise ValueError(say("it is a link."))
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(say("it is no regular file."))
        data = file.read(LONGEST_FILE_BYTES + 1)
    if len(data) > LONGEST_FILE_BYTES:
        raise ValueError(say("it is longer than {most:,} bytes.", most=LONGEST_FILE_BYTES))
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(say("it is no JSON.")) from error
    if not isinstance(document, dict):
        raise ValueError(say("it is no JSON object."))
    if document.get("schema") != schema:
        raise ValueError(say("its schema is not {schema}.", schema=schema))
    return document


def parse_process(document: Mapping[str, Any], now_ns: int) -> LiveProcess:
    """Build a process from its description. Raises ValueError that names the first bad field."""
    state = _text(document, "state")
    changed_ns = whole(document, "changed_ns", 0)
    if state not in get_args(State):
        raise ValueError(bad_field("state"))
    # A clock that is far ahead would make a dead process live for ever.
    if changed_ns > now_ns + 24 * 3600 * 10**9:
        raise ValueError(bad_field("changed_ns"))
    return LiveProcess(
        worker=_text(document, "worker"),
        host=_text(document, "host"),
        pid=whole(document, "pid", 0),
        rank=_or_none(document, "rank", whole),
        world_size=_or_none(document, "world_size", whole),
        backend=_or_none(document, "backend", _text),
        state=state,  # type: ignore[arg-type]
        step=whole(document, "step", 0),
        step_ns=_or_none(document, "step_ns", whole),
        request=_or_none(document, "request", _text),
        last=_outcome(document),
        changed_ns=changed_ns,
        period_s=_period(document),
    )


def _outcome(document: Mapping[str, Any]) -> Outcome | None:
    last = document.get("last")
    if last is None:
        return None
    if not isinstance(last, dict):
        raise ValueError(bad_field("last"))
    if last.get("id") is None:  # it refused what had no id, and so was no request
        return None
    trace, error = (_or_none(last, key, _text) for key in ("trace", "error"))
    # It is shown to users: it must not lead out of the job's directory.
    if trace is not None and (Path(trace).is_absolute() or ".." in Path(trace).parts):
        raise ValueError(bad_field("last"))
    return Outcome(_text(last, "id"), trace, error)


def _period(document: Mapping[str, Any]) -> float:
    period: Any = document.get("period_s")
    # No comparison holds for NaN.
    if type(period) not in (int, float) or not 0 < period <= _LONGEST_PERIOD_S:
        raise ValueError(bad_field("period_s"))
    return float(period)


def _or_none(document: Mapping[str, Any], key: str, read: Any) -> Any:
    return None if document.get(key) is None else read(document, key)


def whole(document: Mapping[str, Any], key: str, least: int = 0, most: int = _MOST) -> int:
    """Return a whole number of a document. Raises ValueError that names the field."""
    value = document.get(key)
    if type(value) is not int or not least <= value <= most:
        raise ValueError(bad_field(key))
    return value


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str):
        raise ValueError(bad_field(key))
    # Half of a surrogate pair is a str that no JSON encoder takes back.
    return shorten(value, _LONGEST_TEXT).encode("utf-8", "replace").decode()


def bad_field(key: str) -> Text:
    """Return the text for a field with an impossible value."""
    return say("its field {field} is not valid.", field=key)
