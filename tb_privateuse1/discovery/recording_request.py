"""Ask a running job for a recording, follow the request, and withdraw it.

A request is ``request.json`` in the job's folder (``live_jobs.py``), at most one at a time. Each
process serves it once, and says in its description how far it is. Nothing but these descriptions
and the file is needed to follow a request, so that any program can.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from tb_privateuse1.discovery.file import printable
from tb_privateuse1.discovery.live_jobs import (
    FOLDER,
    LiveProcess,
    RecordingJob,
    bad_field,
    read_document,
    whole,
)
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.trace.errors import TraceError

REQUEST_SCHEMA = "tb_privateuse1.recording_request/1"
FILE = "request.json"

MOST_STEPS = 1000
MOST_WARMUP = 100
MOST_RANKS = 4096
LARGEST_RANK = 999_999
TIMEOUT_S = 600.0
POLL_NS = 10**9
"""A process looks for a request this often."""
MOST_LABEL = 100
_DIGITS = re.compile(f"[0-9]{{1,{len(str(LARGEST_RANK))}}}")

Phase = Literal[
    "asked", "waiting", "recording", "writing", "written", "failed", "gone", "expired", "withdrawn"
]
"""``asked``: the process has not read the request yet."""

FAILURES: tuple[Phase, ...] = ("failed", "gone", "expired", "withdrawn")
_ENDS: tuple[Phase, ...] = ("written", *FAILURES)


class RecordingOptions(Struct, frozen=True):
    """The content of a recording: null leaves it as the job was configured."""

    steps: int = 3
    warmup: int = 1
    ranks: tuple[int, ...] | None = None
    """Null: all."""
    shapes: bool | None = None
    stacks: bool | None = None
    memory: bool | None = None


class RecordingRequest(Struct, frozen=True):
    """A request as its file has it."""

    id: str
    created_ns: int
    expires_ns: int
    from_step: int | None
    """The first step to record, so that all ranks record the same; null: the next one."""
    options: RecordingOptions
    by: str


class RankProgress(Struct, frozen=True):
    """The progress of one process on a request."""

    rank: int | None
    worker: str
    host: str
    step: int
    phase: Phase
    trace: str | None
    error: str | None


class RequestProgress(Struct, frozen=True):
    """The progress of all processes that a request is for."""

    id: str
    ranks: tuple[RankProgress, ...]

    @property
    def is_done(self) -> bool:
        """Return whether nothing more is to come."""
        return all(rank.phase in _ENDS for rank in self.ranks)

    @property
    def failures(self) -> tuple[RankProgress, ...]:
        """Return the processes that did not and will not write a trace."""
        return tuple(rank for rank in self.ranks if rank.phase in FAILURES)


def parse_options(document: Mapping[str, Any]) -> RecordingOptions:
    """Return the options in a document. Raises ValueError that names the first bad field."""
    switches = {key: document.get(key) for key in ("shapes", "stacks", "memory")}
    for key, value in switches.items():
        if value is not None and type(value) is not bool:
            raise ValueError(bad_field(key))
    steps = whole({"steps": 3, **document}, "steps", 1, MOST_STEPS)
    warmup = whole({"warmup": 1, **document}, "warmup", 0, MOST_WARMUP)
    return RecordingOptions(steps, warmup, _ranks(document.get("ranks")), **switches)


def _ranks(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    is_list = isinstance(value, list) and 0 < len(value) <= MOST_RANKS
    if not is_list or any(type(r) is not int or not 0 <= r <= LARGEST_RANK for r in value):
        raise ValueError(bad_field("ranks"))
    return tuple(sorted(set(value)))


def parse_ranks(text: str) -> list[int]:
    """Return the ranks of a list such as ``0,3-5``. Raises ValueError with a text for users."""
    ranks: set[int] = set()
    for part in text.split(","):
        low, dash, high = (word.strip() for word in part.partition("-"))
        if not _DIGITS.fullmatch(low) or (dash and not _DIGITS.fullmatch(high)):
            raise ValueError(say("Ranks are a list such as 0,3-5, not {text}.", text=text[:80]))
        first, last = int(low), int(high or low)
        ranks.update(range(first, min(last, first + MOST_RANKS) + 1))
        if last < first or len(ranks) > MOST_RANKS:
            raise ValueError(say("A list has 1 to {most:,} ranks.", most=MOST_RANKS))
    return sorted(ranks)


def pick_job(jobs: Sequence[RecordingJob], name: str | None, now_ns: int) -> RecordingJob:
    """Return the running job of that name, or without a name the only one that is running.

    Raises TraceError ``record_no_job``, or ``record_several_jobs``.
    """
    running = [job for job in jobs if job.alive(now_ns)]
    named = [job for job in running if name in (None, job.name)]
    if len(named) == 1:
        return named[0]
    have = join_list(job.name for job in running[:20])
    if named:
        message = say("{count} jobs are running here.", count=len(named))
        raise TraceError("record_several_jobs", message, say("Choose one of: {have}.", have=have))
    if running:
        message = say("No running job is called {name}.", name=name)
        raise TraceError("record_no_job", message, say("There is: {have}.", have=have))
    gone = [job for job in jobs if name in (None, job.name)]
    if not gone:
        hint = say(
            "A job can be asked if it runs with capture.on_demand: see docs/guide/on-demand.md."
        )
        raise TraceError("record_no_job", say("No running job can be asked here."), hint)
    raise _gone(gone[0], now_ns)


def _gone(job: RecordingJob, now_ns: int) -> TraceError:
    if all(process.state == "ended" for process in job.processes):
        return TraceError("record_no_job", say("The job in {name} has ended.", name=job.name))
    last_ns = max(process.changed_ns for process in job.processes)
    message = say(
        "The job in {name} is gone: it was last active {seconds:,} s ago.",
        name=job.name,
        seconds=max(0, now_ns - last_ns) // 10**9,
    )
    hint = say("A running job describes itself every few seconds.")
    return TraceError("record_no_job", message, hint)


def first_step(processes: Sequence[LiveProcess], warmup: int, now_ns: int) -> int | None:
    """Return the first step that all processes can record; None if their pace is not known.

    A description may be as old as its period, so each step number is carried on to the present.
    The margin is twice the time in which a process notices a request; warm-up comes on top.
    """
    paces = [process.step_ns for process in processes if process.step_ns]
    if not paces:
        return None
    latest = max(
        process.step + max(0, now_ns - process.changed_ns) // (process.step_ns or min(paces))
        for process in processes
    )
    return latest + max(2, math.ceil(2 * POLL_NS / min(paces)) + 1) + warmup


def ask(
    job: RecordingJob,
    options: RecordingOptions,
    *,
    by: str,
    now_ns: int,
    timeout_s: float = TIMEOUT_S,
    replace: bool = False,
) -> RecordingRequest:
    """Write a request for a job and return it. With ``replace`` it takes a pending one's place.

    Raises TraceError ``record_no_rank``, ``record_pending`` or ``record_read_only``.
    """
    matching = _matching(job, options.ranks, now_ns)
    pending = read_request(job)
    if pending and not replace and is_pending(job, pending, now_ns):
        message = say(
            "A recording of {steps:,} steps is already pending, by {by}.",
            steps=pending.options.steps,
            by=pending.by,
        )
        raise TraceError("record_pending", message, say("Wait for it, or replace it."))
    request = RecordingRequest(
        id=secrets.token_hex(8),
        created_ns=now_ns,
        expires_ns=now_ns + int(timeout_s * 1e9),
        from_step=first_step(matching, options.warmup, now_ns),
        options=options,
        by=shorten(by, MOST_LABEL),
    )
    _write(job.directory / FOLDER, request)
    return request


def _matching(job: RecordingJob, ranks: Sequence[int] | None, now_ns: int) -> list[LiveProcess]:
    alive = job.alive(now_ns)
    missing = sorted({*(ranks or ())} - {process.rank or 0 for process in alive})
    if not missing:
        return [process for process in alive if process.matches(ranks)]
    message = say("No running process has rank {ranks}.", ranks=join_list(map(str, missing[:20])))
    running = sorted({process.rank or 0 for process in alive})
    have = join_list(map(str, running[:20]))
    hint = say("There are {count:,} processes, with ranks {have}.", count=len(alive), have=have)
    raise TraceError("record_no_rank", message, hint)


def read_request(job: RecordingJob) -> RecordingRequest | None:
    """Return the request that a job has, None without a valid one."""
    try:
        document = read_document(job.directory / FOLDER / FILE, REQUEST_SCHEMA)
        id, by = document.get("id"), document.get("by")
        if not isinstance(id, str) or not isinstance(by, str):
            return None
        from_step = document.get("from_step")
        return RecordingRequest(
            id,
            whole(document, "created_ns"),
            whole(document, "expires_ns"),
            None if from_step is None else whole(document, "from_step"),
            parse_options(document),
            shorten(by, MOST_LABEL),
        )
    except (OSError, ValueError):
        return None


def is_pending(job: RecordingJob, request: RecordingRequest, now_ns: int) -> bool:
    """Return whether some process has not ended its work on a request."""
    return not progress(job, request.id, request, now_ns).is_done


def progress(
    job: RecordingJob, id: str, request: RecordingRequest | None, now_ns: int
) -> RequestProgress:
    """Return how far the processes of a job are with the request of this id.

    ``request`` is the one that the job has now (``read_request``). If it is another one, or there
    is none, only the processes that began with this id count, and the request as withdrawn for
    nobody else.
    """
    current = request if request is not None and request.id == id else None
    ranks = []
    for process in job.processes:
        phase = _phase(process, id, current, now_ns)
        if phase is None:
            continue
        last = process.last if process.last and process.last.id == id else None
        ranks.append(
            RankProgress(
                process.rank,
                process.worker,
                process.host,
                process.step,
                phase,
                last.trace if last else None,
                last.error if last else None,
            )
        )
    return RequestProgress(id, tuple(ranks))


def _phase(
    process: LiveProcess, id: str, request: RecordingRequest | None, now_ns: int
) -> Phase | None:
    """Return the phase of a process; None if the request is not for it."""
    if process.last is not None and process.last.id == id:
        return "failed" if process.last.trace is None else "written"
    if process.request == id:
        if not process.is_alive(now_ns):
            return "gone"
        if process.state in ("recording", "writing"):
            return process.state
        return "waiting" if request else "withdrawn"
    if request is None or not process.matches(request.options.ranks):
        return None
    if process.silent_ns <= request.created_ns:
        return None  # it was gone before
    if process.state == "ended":
        return "gone" if process.changed_ns >= request.created_ns else None
    if not process.is_alive(now_ns):
        return "gone"
    return "asked" if now_ns < request.expires_ns else "expired"


def withdraw(job: RecordingJob, id: str) -> bool:
    """Delete the job's request if it has this id; returns whether it had.

    A process that records already ends its recording. Raises TraceError ``record_read_only``.
    """
    request = read_request(job)
    if request is None or request.id != id:
        return False
    path = job.directory / FOLDER / FILE
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _read_only(path, error) from error
    return True


def _write(folder: Path, request: RecordingRequest) -> None:
    document = {"schema": REQUEST_SCHEMA, **msgspec.to_builtins(request)}
    options = document.pop("options")
    data = json.dumps({**document, **options}).encode()
    temporary = folder / f".request-{request.id}.tmp"
    try:
        # Not mkstemp: its files are their owner's alone, and the job may be another user's.
        with open(temporary, "xb") as file:
            file.write(data)
        temporary.replace(folder / FILE)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise _read_only(folder, error) from error


def _read_only(path: Path, error: OSError) -> TraceError:
    message = say(
        "{path} cannot be written: {error}.", path=printable(str(path)), error=error.strerror
    )
    hint = say("Ask as a user who may write to the job's logdir.")
    return TraceError("record_read_only", message, hint)
