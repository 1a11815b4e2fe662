"""Every trace is read once: then it is in memory, or in the cache on disk.

Reading happens in a few processes at a time (``jobs``), so that requests stay quick and one bad
trace cannot take the dashboard down; who asks meanwhile is told how far it is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from tb_privateuse1 import cache
from tb_privateuse1.discover.base import file_at, shown
from tb_privateuse1.ingest import in_process, ingest
from tb_privateuse1.pool import DaemonPool
from tb_privateuse1.runs import Files
from tb_privateuse1.trace import TABLES, Trace, TraceError

Phase = Literal["waiting", "reading", "inferring", "storing"]

_RETRY_S = 60.0
"""A reader that died (it was killed, memory ran out) may do better later; other errors stay."""
_MOST_FAILURES = 1000


@dataclass(frozen=True)
class Progress:
    """How far a trace is that is being read."""

    phase: Phase
    bytes_done: int
    bytes_total: int
    events: int
    seconds_left: float | None


class Pending(Exception):
    """The trace is not ready yet; ``progress`` says how far it is."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(progress.phase)
        self.progress = progress


@dataclass
class _Job:
    files: Files
    progress: Progress
    future: Future[Trace] = field(default_factory=Future)
    started_s: float = 0.0
    task: Future[None] | None = None
    """Its place in the pool, to be able to withdraw it."""
    process: subprocess.Popen[bytes] | None = None


class Store:
    """Traces by their files' identity.

    ``jobs``: processes that read at a time, at most 2 by default; 0 reads in the caller's
    thread. ``cache_dir``: see ``cache.directory``; if it cannot be written, traces are kept in
    memory only. ``memory_bytes`` bounds the columns kept open; the latest trace always is.
    ``on_progress`` hears of every step, in the thread that makes it.
    """

    def __init__(
        self,
        jobs: int | None = None,
        cache_dir: Path | None = None,
        *,
        memory_bytes: int = 1 << 30,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._workers = min(2, os.cpu_count() or 1) if jobs is None else jobs
        self._cache_dir = cache_dir or cache.directory()
        self._on_progress = on_progress
        self._pool: DaemonPool | None = None
        self._lock = threading.Lock()
        self._jobs: dict[str, _Job] = {}
        self._failures: OrderedDict[str, tuple[TraceError, float]] = OrderedDict()
        self._memory = _Memory(memory_bytes)

    def trace(self, files: Files, wait_s: float | None = None) -> Trace:
        """The trace of some files as they are now, read if it has to be.

        Waits at most ``wait_s``, by default until it is there. Raises Pending if it is not
        ready by then, TraceError if it cannot be read: at once, as long as the file is the same.
        """
        files = _current(files)
        key = cache.key(files)
        with self._lock:
            known = self._recall(key)
            busy = key in self._jobs
        if known is None and not busy and (known := cache.read(self._path(key))) is not None:
            with self._lock:
                self._memory.put(key, known)
        if known is not None:
            return known
        job, mine = self._job(key, files)
        if mine:
            self._run(key, job)
        if not wait([job.future], wait_s).done:
            raise Pending(job.progress)
        error = job.future.exception()
        if isinstance(error, TraceError):
            raise _again(error)
        return job.future.result()

    def close(self) -> None:
        """Give up what is being read; the store can still be asked for what it has."""
        with self._lock:
            pool, self._pool = self._pool, None
            jobs = dict(self._jobs)
        for key, job in jobs.items():
            if job.task and job.task.cancel():
                with self._lock:
                    self._jobs.pop(key, None)
                job.future.set_exception(TraceError("closed", "The server is closing."))
            elif job.process:
                job.process.kill()
        if pool:
            pool.shutdown()

    def _recall(self, key: str) -> Trace | None:
        if failure := self._failures.get(key):
            error, when = failure
            if error.code != "reader_died" or time.monotonic() - when < _RETRY_S:
                raise _again(error)
            del self._failures[key]
        return self._memory.get(key)

    def _job(self, key: str, files: Files) -> tuple[_Job, bool]:
        """The job that reads a trace, and whether the caller's thread has to do it."""
        with self._lock:
            if key in self._jobs:
                return self._jobs[key], False
            job = _Job(files, Progress("waiting", 0, files.trace.size, 0, None))
            if (done := self._memory.get(key)) is not None:  # just finished
                job.future.set_result(done)
                return job, False
            self._jobs[key] = job
            if self._workers == 0:
                return job, True
            if self._pool is None:
                self._pool = DaemonPool(self._workers, "ingest")
            job.task = self._pool.submit(self._run, key, job)
            return job, False

    def _run(self, key: str, job: _Job) -> None:
        job.started_s = time.monotonic()
        try:
            trace = self._read(key, job)
            with self._lock:
                self._memory.put(key, trace)
        except BaseException as error:
            if isinstance(error, TraceError):
                self._remember(key, error)
            job.future.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            job.future.set_result(trace)
        finally:
            with self._lock:
                del self._jobs[key]

    def _remember(self, key: str, error: TraceError) -> None:
        with self._lock:
            self._failures[key] = error, time.monotonic()
            if len(self._failures) > _MOST_FAILURES:
                self._failures.popitem(last=False)

    def _read(self, key: str, job: _Job) -> Trace:
        def progress(phase: str, done: int, total: int, events: int) -> None:
            left = None
            elapsed = time.monotonic() - job.started_s
            if phase == "reading" and 0 < done <= total and elapsed > 0.5:
                left = round(elapsed * (total - done) / done, 1)
            job.progress = Progress(cast(Phase, phase), done, total, events, left)
            if self._on_progress:
                self._on_progress(job.progress)

        target = self._path(key)
        if self._workers == 0:
            trace = ingest(job.files, progress)
            with contextlib.suppress(OSError):  # a cache is a convenience
                cache.write(trace, target)
            return trace
        with tempfile.TemporaryDirectory(prefix="tb_privateuse1-") as spare:

            def started(process: subprocess.Popen[bytes]) -> None:
                job.process = process

            targets = [target, Path(spare, target.name)]
            written = in_process(job.files, targets, progress, started)
            stored = cache.read(written)  # the mapping outlives the file
        if stored is None:
            message = f"The cache of {shown(job.files.trace.name)} vanished while it was made."
            raise TraceError("reader_died", message, "Try again.")
        return stored

    def _path(self, key: str) -> Path:
        return self._cache_dir / f"{key}.arrow"


class _Memory:
    """The latest traces up to a sum of bytes; the owner's lock guards it."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._traces: OrderedDict[str, tuple[Trace, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> Trace | None:
        if key not in self._traces:
            return None
        self._traces.move_to_end(key)
        return self._traces[key][0]

    def put(self, key: str, trace: Trace) -> None:
        if key in self._traces:
            return
        self._traces[key] = trace, _bytes(trace)
        self._bytes += self._traces[key][1]
        while self._bytes > self._limit_bytes and len(self._traces) > 1:
            self._bytes -= self._traces.popitem(last=False)[1][1]


def _bytes(trace: Trace) -> int:
    columns: int = sum(c.nbytes for name in TABLES for _, c in getattr(trace, name).columns())
    return columns + sum(map(len, trace.strings)) + 57 * len(trace.strings)


def _current(files: Files) -> Files:
    """The files as they are now: a trace that grew or was replaced is another one."""
    try:
        trace = file_at(files.trace.path)
    except OSError as error:
        name = shown(files.trace.name)
        hint = "It may have been deleted: reload the list of runs."
        raise TraceError("unreadable", f"{name} cannot be read: {error.strerror}.", hint) from error
    sidecar = files.sidecar
    if sidecar:
        try:
            sidecar = file_at(sidecar.path)
        except OSError:
            sidecar = None
    return dataclasses.replace(files, trace=trace, sidecar=sidecar)


def _again(error: TraceError) -> TraceError:
    return TraceError(error.code, error.message, error.hint)
