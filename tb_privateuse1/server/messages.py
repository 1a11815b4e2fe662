"""The bodies of HTTP answers without a view's result."""

from __future__ import annotations

from msgspec import Struct

from tb_privateuse1.storage.engines import EngineUse
from tb_privateuse1.trace.findings import Finding


class Problem(Struct, frozen=True):
    """An error in words for the user, and what to do about it."""

    code: str
    message: str
    hint: str | None


class ApiError(Struct, frozen=True):
    """The body of every answer with an error status."""

    error: Problem


class Canceled(Struct, frozen=True):
    """The answer to ``cancel``: whether a trace was being read or in the queue."""

    canceled: bool


API_VERSION = 1
"""Of the HTTP routes; docs/reference/http.md says when it rises."""


class Extras(Struct, frozen=True):
    """Versions and abilities of this server, which depend on installed packages and its address."""

    api_version: int
    version: str
    build: str
    """As in a result's provenance."""
    perfetto: bool
    """It has Perfetto's pages."""
    sql_installed: bool
    sql_allowed: bool
    running_jobs: int | None
    """How many jobs can be asked for a recording; null: this client may not ask."""
    read: EngineUse | None
    """What was read since the server started; null: nothing."""
    local_readers: int
    """How many traces this machine reads at a time without a cluster."""


class AskedRecording(Struct, frozen=True):
    """The answer to ``record``: the job that was asked, and the request."""

    job: str
    id: str


class JobProcess(Struct, frozen=True):
    """A process of a running job."""

    rank: int | None
    worker: str
    host: str
    state: str
    """Ready, waiting, recording, writing or ended."""
    step: int
    phase: str | None
    """Its progress with the request; null: the request is not for it."""
    error: str | None


class PhaseCount(Struct, frozen=True):
    """How many processes are in a phase of a request."""

    phase: str
    processes: int


class RecordingPlace(Struct, frozen=True):
    """The place of a new recording."""

    run: str
    rank: int
    span: int


class RequestState(Struct, frozen=True):
    """The progress of a request. Null: its file is gone, so this is not known any more."""

    id: str
    by: str | None
    steps: int | None
    from_step: int | None
    is_pending: bool
    """Its file is there."""
    is_done: bool
    phases: tuple[PhaseCount, ...]
    recorded: RecordingPlace | None
    """Null until one of its traces is listed."""


class RunningJob(Struct, frozen=True):
    """A job that can be asked for a recording."""

    job: str
    backend: str | None
    processes: int
    """Alive; 0: the job is gone."""
    least_step: int | None
    greatest_step: int | None
    step_ns: int | None
    """Of the slowest process."""
    listed: tuple[JobProcess, ...]
    """Some of its processes: failures first."""
    request: RequestState | None


class RunningJobs(Struct, frozen=True):
    """The jobs of a logdir that can be asked for a recording."""

    jobs: tuple[RunningJob, ...]
    warnings: tuple[Finding, ...]
