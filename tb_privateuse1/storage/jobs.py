"""The queue of traces to read: running and waiting jobs, with their callers and their order.

There is no supervisor thread: each waiting caller polls all jobs a few times a second. A job that
nobody waits for is not polled, and costs nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from tb_privateuse1.discovery.file import has_no_answer, printable
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.i18n import say
from tb_privateuse1.storage.clients import ASKING, Clients, joined
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.interruption import Unfinished
from tb_privateuse1.trace.model import Trace

if TYPE_CHECKING:
    from tb_privateuse1.analysis.ranks.collectives import RankPart

Phase = Literal["waiting", "reading", "inferring", "storing", "computing"]
"""``computing``: the traces are there, and what was asked of them is worked out."""

CHANGED = "changed_while_read"
"""The code of the error or finding of a trace whose files changed each time that it was read."""

FORGOTTEN_S = 60.0
"""A job that waits is dropped when nobody has asked for it for so long."""
_PAUSE_S = 2.0
"""Pages ask a few times a second; who asks after such a pause asks anew."""
_LOOK_S = 0.1
_PASSED = 4
"""A job that later ones have passed so often is late: every second turn is for late ones."""
_LONGEST_STEP_S = 1.0
"""Time passes in steps of at most this between two looks: one who was stopped is not late."""


class Progress(Struct, frozen=True):
    """The progress of reading one trace, or several together."""

    phase: Phase
    bytes_done: int
    bytes_total: int
    events: int
    seconds_left: float | None
    traces_done: int = 0
    traces: int = 1
    """How many a view reads; bytes and events are of those that are not done."""
    parts_done: int = 0
    parts: int = 0
    """Of a long computation; 0: not known."""
    note: str | None = None
    """What happened meanwhile: a worker of the cluster was lost, and it is read again."""


class Pending(Unfinished):
    """The trace or the answer is not ready yet; ``progress`` says how far it is."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(progress.phase)
        self.progress = progress


class Process(Protocol):
    """Something that reads a trace and can be ended from any thread."""

    def kill(self) -> None:
        """End it, and return at once."""


class Job(Struct, eq=False):
    """A trace on its way to those who ask for it."""

    key: str
    files: TraceFiles
    progress: Progress
    state: Literal["queued", "running", "elsewhere"] = "queued"
    """``elsewhere``: another server is making the same trace."""
    columns: bool = False
    """Somebody asks for the trace itself; without it, its part is enough."""
    future: Future[Trace | RankPart] = field(default_factory=Future)
    clients: frozenset[str] = frozenset()
    """All who have asked for it."""
    askers: int = 0
    asked_s: float = 0.0
    turn: int = 0
    """Grows with each new interest in any job: the highest is read first."""
    passed: int = 0
    """How many later ones of a client were read before it while it waited for this one."""
    started_s: float = 0.0
    quiet_s: float = 0.0
    """Time without a sign of progress, as far as somebody looked."""
    beat_ns: int = 0
    """The last sign of life of the server that makes it ``elsewhere``."""
    process: Process | None = None
    verdict: TraceError | None = None
    """Why it has to end."""
    note: str | None = None
    """What happened to it, for those who wait."""
    reason: str | None = None
    """Why it is read, if there is something to say; it is the note unless something happens."""

    def moves(self, progress: Progress) -> None:
        """Record its progress. Raises the verdict if it has to end."""
        self.progress = progress
        if progress.phase != "waiting":
            self.quiet_s = 0.0
        if self.verdict:
            raise self.verdict

    def hears(self, note: str | None) -> None:
        """Record what happened to it; None: nothing that a user has to know."""
        self.note = note or self.reason
        self.progress = replace(self.progress, note=self.note)

    def runs_in(self, process: Process | None) -> None:
        """Record its reader, which is killed if the job has to end; None: another job has it."""
        self.process = process
        self.quiet_s = 0.0
        if self.verdict and process:
            process.kill()


class Jobs:
    """All jobs by key. Its methods may be called from any thread."""

    def __init__(self, stall_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._stall_s = stall_s
        self._clock = clock
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._turns = 0
        self._clients = Clients()
        self._looked_s = 0.0

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[Job]:
        with self._lock:
            return iter(list(self._jobs.values()))

    def get(self, key: str) -> Job | None:
        """Return the job of a key, if any."""
        return self._jobs.get(key)

    def ask(self, key: str, files: TraceFiles, *, columns: bool = True) -> tuple[Job, bool]:
        """Return the job of a trace, and whether it is new. Callers ``leave`` it in the end.

        With ``columns`` the caller needs the trace, and not its part alone.
        """
        now = self._clock()
        with self._lock:
            job = self._jobs.get(key)
            new = job is None
            if job is None:
                job = Job(key, files, Progress("waiting", 0, files.trace.size, 0, None))
                self._jobs[key] = job
            if not job.askers and (new or now - job.asked_s > _PAUSE_S):
                self._turns += 1
                job.turn = self._turns
            job.columns |= columns
            job.clients = joined(job.clients, ASKING.get())
            job.askers += 1
            job.asked_s = now
            return job, new

    def leave(self, job: Job) -> None:
        """Remove one caller."""
        with self._lock:
            job.askers -= 1
            job.asked_s = self._clock()

    def take(self) -> Job | None:
        """Return the job to run next: of the client who was served longest ago, the latest request.

        What later requests of the same client passed too often has every second turn, in the order
        of the requests. Jobs without callers come last.
        """
        now = self._clock()
        with self._lock:
            self._forget(now)
            queued = [job for job in self._jobs.values() if job.state == "queued"]
            if not queued:
                return None
            waited = [j for j in queued if j.askers > 0 or now - j.asked_s < _PAUSE_S]
            client, turn = self._clients.serve(
                (c, j.turn) for j in waited or queued for c in j.clients
            )
            own = [j for j in waited or queued if client in j.clients]
            late = [j for j in own if j.passed >= _PASSED]
            if late and turn % 2:
                job = min(late, key=lambda j: j.turn)
            else:
                job = max(own, key=lambda j: j.turn)
            for other in own:
                other.passed += other.turn < job.turn
            job.state = "running"
            job.started_s = now
            return job

    def start(self, job: Job) -> None:
        """Start a job at once, ahead of the queue."""
        with self._lock:
            job.state = "running"
            job.started_s = self._clock()

    def park(self, job: Job) -> None:
        """Stop counting a job as running here: another server makes its trace."""
        with self._lock:
            job.state = "elsewhere"

    def unpark(self, job: Job) -> bool:
        """Put it back in the queue; False if it is not elsewhere."""
        with self._lock:
            if job.state != "elsewhere" or self._jobs.get(job.key) is not job:
                return False
            job.state = "queued"
            return True

    def patient(self, job: Job, beat_ns: int) -> bool:
        """Return whether to wait on for another server; ``beat_ns`` is its last sign of life."""
        if beat_ns != job.beat_ns:
            job.beat_ns = beat_ns
            job.quiet_s = 0.0
        return job.quiet_s <= self._stall_s

    def runs_in(self, job: Job, process: Process | None) -> None:
        """Record a job's reader, and cancel a job without recent requests.

        An engine calls this again and again while the job waits for its turn in a cluster.
        """
        job.runs_in(process)
        with self._lock:
            if process and self._is_forgotten(job, self._clock()):
                self._kill(job, canceled_error(job.files))

    def end(self, job: Job, result: Trace | RankPart | BaseException) -> None:
        """Tell its askers; who asks from now on asks anew. Once: a later end is without effect."""
        with self._lock:
            self._end(job, result)

    def cancel(self, error: TraceError, path: str | None = None, *, parts: bool = False) -> bool:
        """End the jobs of a trace file, or all, with this error; whether there were any.

        With ``parts`` only those whose columns nobody needs.
        """
        with self._lock:
            chosen = [
                job
                for job in self._jobs.values()
                if path in (None, job.files.trace.path) and not (parts and job.columns)
            ]
            for job in chosen:
                self._kill(job, error)
        return bool(chosen)

    def look(self) -> list[Job]:
        """End what is stuck or forgotten; returns the jobs that are waited for, not yet running."""
        now = self._clock()
        with self._lock:
            if now - self._looked_s < _LOOK_S:  # somebody else just did
                return []
            step = min(now - self._looked_s, _LONGEST_STEP_S)
            self._looked_s = now
            self._forget(now)
            for job in list(self._jobs.values()):
                if job.state != "queued":
                    job.quiet_s += step
                if job.state == "running" and job.process and job.quiet_s > self._stall_s:
                    self._kill(job, _stalled(job, self._stall_s))
            return [job for job in self._jobs.values() if job.askers and job.state != "running"]

    def _forget(self, now: float) -> None:
        for job in list(self._jobs.values()):
            if job.state != "running" and self._is_forgotten(job, now):
                self._kill(job, canceled_error(job.files))

    def _is_forgotten(self, job: Job, now: float) -> bool:
        return not job.askers and now - job.asked_s > FORGOTTEN_S

    def _kill(self, job: Job, error: TraceError) -> None:
        job.verdict = error
        if job.process:
            job.process.kill()
        self._end(job, error)

    def _end(self, job: Job, result: Trace | RankPart | BaseException) -> None:
        if self._jobs.get(job.key) is job:
            del self._jobs[job.key]
        if job.future.done():
            return
        if isinstance(result, BaseException):
            job.future.set_exception(result)
        else:
            job.future.set_result(result)


def canceled_error(files: TraceFiles) -> TraceError:
    """Return the error for callers of a canceled job."""
    message = say("Reading {name} was canceled.", name=printable(files.trace.name))
    return TraceError("canceled", message, say("Ask for it again to read it."))


def vanished_error(files: TraceFiles) -> TraceError:
    """Return the error for callers of a trace whose cache was cleared meanwhile."""
    name = printable(files.trace.name)
    message = say("The cache of {name} vanished while it was made.", name=name)
    return TraceError("reader_died", message, say("Try again."))


def unreadable_error(files: TraceFiles, error: OSError) -> TraceError:
    """Return the error of a trace whose file is gone, or whose disk does not answer."""
    name = printable(files.trace.name)
    hint = say("It may have been deleted: reload the list of runs.")
    if has_no_answer(error):
        hint = say("Its disk does not answer: try again.")
    message = say("{name} cannot be read: {error}.", name=name, error=error.strerror)
    return TraceError("unreadable", message, hint)


def _stalled(job: Job, stall_s: float) -> TraceError:
    name = printable(job.files.trace.name)
    message = say(
        "Reading {name} made no progress for {seconds:.0f} seconds and was ended.",
        name=name,
        seconds=stall_s,
    )
    hint = say("Its disk may not answer. Try again; if it happens again, please report the trace.")
    return TraceError("reader_stalled", message, hint)
