"""The routes ``record/jobs``, ``record`` and ``record/cancel``: ask running jobs for recordings."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from werkzeug.wrappers import Request

from tb_privateuse1.discovery import live_jobs, recording_request
from tb_privateuse1.discovery.live_jobs import JobPlace, LiveProcess, RecordingJob
from tb_privateuse1.discovery.recording_request import RankProgress, RequestProgress
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.i18n import say
from tb_privateuse1.server.messages import (
    AskedRecording,
    Canceled,
    JobProcess,
    PhaseCount,
    RecordingPlace,
    RequestState,
    RunningJob,
    RunningJobs,
)
from tb_privateuse1.server.record_permission import Permission
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding

JOBS = "record/jobs"
ASK = "record"
CANCEL = "record/cancel"

_SEARCH_S = 5.0
_READ_S = 0.5
_MOST_LISTED = 40
_OPTIONS = ("steps", "warmup", "ranks", "shapes", "stacks", "memory")


class RecordRoutes:
    """Answers the requests about running jobs of some roots.

    The logdir is searched for jobs at most every 5 s, and their files are read twice per second,
    however many clients ask. ``clock`` returns seconds.
    """

    def __init__(
        self,
        roots: Sequence[tuple[str, str]],
        scanner: Scanner,
        permission: Permission,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.permission = permission
        self._roots = roots
        self._scanner = scanner
        self._clock = clock
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._places: tuple[float, list[JobPlace], list[Finding]] | None = None
        self._jobs: tuple[float, list[RecordingJob], list[Finding]] | None = None

    def count(self, request: Request) -> int | None:
        """Return how many jobs are running; None for a client that may not ask them."""
        if not self.permission.allows(request):
            return None
        now_ns = time.time_ns()
        return sum(bool(job.alive(now_ns)) for job in self._read()[0])

    def jobs(self, request: Request, texts: Mapping[str, str]) -> RunningJobs:
        """Return the running jobs; the one named ``job`` also if it is gone.

        ``id`` selects the request whose progress is shown. Raises TraceError.
        """
        self.permission.check(request)
        jobs, warnings = self._read()
        now_ns = time.time_ns()
        listed = [job for job in jobs if job.alive(now_ns) or job.name == texts.get("job")]
        answers = tuple(self._running(job, texts.get("id"), now_ns) for job in listed)
        return RunningJobs(answers, tuple(warnings))

    def ask(self, request: Request) -> AskedRecording:
        """Write a request for the job that the body names. Raises TraceError."""
        self.permission.check_change(request)
        body = _body(request, ("job", "replace", *_OPTIONS))
        name, is_replacing = _text(body, "job"), body.get("replace", False)
        if type(is_replacing) is not bool:
            raise TraceError("bad_option", say("{name} must be true or false.", name="replace"))
        try:
            if isinstance(body.get("ranks"), str):
                body["ranks"] = recording_request.parse_ranks(body["ranks"])
            options = recording_request.parse_options(body)
        except ValueError as error:
            raise TraceError("bad_option", error.args[0]) from error
        with self._asking:
            now_ns = time.time_ns()
            job = recording_request.pick_job(self._read(fresh=True)[0], name, now_ns)
            asked = recording_request.ask(
                job, options, by="TensorBoard", now_ns=now_ns, replace=is_replacing
            )
        self._read(fresh=True)
        return AskedRecording(job.name, asked.id)

    def cancel(self, request: Request) -> Canceled:
        """Withdraw the request of the job and the id in the body. Raises TraceError."""
        self.permission.check_change(request)
        body = _body(request, ("job", "id"))
        name, id = _text(body, "job"), _text(body, "id")
        with self._asking:
            named = [job for job in self._read(fresh=True)[0] if job.name == name]
            return Canceled(any(recording_request.withdraw(job, id) for job in named))

    def _read(self, *, fresh: bool = False) -> tuple[list[RecordingJob], list[Finding]]:
        with self._lock:
            now_s = self._clock()
            if self._places is None or now_s - self._places[0] >= _SEARCH_S:
                warnings: list[Finding] = []
                found = live_jobs.find_places(self._roots, warnings)
                self._places = (now_s, found, warnings)
            _, places, warnings = self._places
            if fresh or self._jobs is None or now_s - self._jobs[0] >= _READ_S:
                more = list(warnings)
                self._jobs = (now_s, live_jobs.read_jobs(places, time.time_ns(), more), more)
            return self._jobs[1], self._jobs[2]

    def _running(self, job: RecordingJob, id: str | None, now_ns: int) -> RunningJob:
        alive = job.alive(now_ns)
        current = recording_request.read_request(job)
        wanted = id or (current.id if current else None)
        progress = None
        if wanted is not None:
            progress = recording_request.progress(job, wanted, current, now_ns)
        state = None
        if progress is not None and (progress.ranks or current):
            asked = current if current and current.id == wanted else None
            state = RequestState(
                id=progress.id,
                by=asked.by if asked else None,
                steps=asked.options.steps if asked else None,
                from_step=asked.from_step if asked else None,
                is_pending=asked is not None,
                is_done=progress.is_done,
                phases=_phases(progress),
                recorded=self._recorded(job, progress),
            )
        steps = [process.step for process in alive]
        paces = [process.step_ns for process in alive if process.step_ns]
        return RunningJob(
            job=job.name,
            backend=next((p.backend for p in alive if p.backend), None),
            processes=len(alive),
            least_step=min(steps, default=None),
            greatest_step=max(steps, default=None),
            step_ns=max(paces, default=None),
            listed=_listed(job.processes if id else alive, progress),
            request=state,
        )

    def _recorded(self, job: RecordingJob, progress: RequestProgress) -> RecordingPlace | None:
        """Return the first trace of a request that is in the catalog, by its run's name."""
        paths = {str(job.directory / rank.trace) for rank in progress.ranks if rank.trace}
        if not paths:
            return None
        files = self._scanner.catalog().files
        found = sorted(key for key, value in files.items() if value.trace.path in paths)
        return RecordingPlace(*found[0]) if found else None


def _phases(progress: RequestProgress) -> tuple[PhaseCount, ...]:
    counts = Counter(rank.phase for rank in progress.ranks)
    return tuple(PhaseCount(phase, count) for phase, count in counts.items())


def _listed(
    processes: Sequence[LiveProcess], progress: RequestProgress | None
) -> tuple[JobProcess, ...]:
    """Return some processes for a table: those that failed first, then by rank."""
    of = {rank.worker: rank for rank in progress.ranks} if progress else {}

    def is_fine(process: LiveProcess) -> bool:
        rank = of.get(process.worker)
        return rank is None or rank.phase not in recording_request.FAILURES

    chosen = sorted(processes, key=is_fine)[:_MOST_LISTED]
    return tuple(_process(process, of.get(process.worker)) for process in chosen)


def _process(process: LiveProcess, progress: RankProgress | None) -> JobProcess:
    row = JobProcess(
        process.rank, process.worker, process.host, process.state, process.step, None, None
    )
    return replace(row, phase=progress.phase, error=progress.error) if progress else row


def _body(request: Request, names: Sequence[str]) -> dict[str, Any]:
    """Return the JSON object of a request. Raises TraceError ``bad_option``."""
    most = live_jobs.LONGEST_FILE_BYTES
    problem = TraceError(
        "bad_option", say("The body must be JSON of at most {most:,} bytes.", most=most)
    )
    # Without a length a body could go on for ever.
    if request.content_length is None or request.content_length > most:
        raise problem
    try:
        body = json.loads(request.get_data(cache=False))
    except (ValueError, RecursionError) as error:
        raise problem from error
    if not isinstance(body, dict):
        raise problem
    for name in body:
        if name not in names:
            message = say("{name} is no option of a request.", name=name[:80])
            raise TraceError("unknown_option", message)
    return body


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise TraceError("bad_option", say("{name} must be a text.", name=name))
    return value
