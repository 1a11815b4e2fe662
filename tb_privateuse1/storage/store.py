"""The store: read every trace once, then serve it from memory or the cache on disk.

Reading happens in a few processes at a time (``jobs``), so that requests stay quick and one bad
trace cannot take the dashboard down; callers meanwhile get the progress. Servers that share
a cache leave a trace to the one that began with it.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable
from concurrent.futures import wait
from contextlib import AbstractContextManager
from pathlib import Path
from typing import cast

from tb_privateuse1.analysis.ranks.collectives import RankPart, reduce_trace
from tb_privateuse1.discovery.daemon_pool import DaemonPool
from tb_privateuse1.discovery.file import locate
from tb_privateuse1.discovery.trace_files import TraceFiles, is_unchanged, refresh
from tb_privateuse1.i18n import say
from tb_privateuse1.storage import cache_directory, disk_cache, part_file
from tb_privateuse1.storage.cache_directory import STALL_S
from tb_privateuse1.storage.engines import Engine, EngineUse, Reader, Reading, Reads, local_engine
from tb_privateuse1.storage.failure_cache import Failures, copy_error
from tb_privateuse1.storage.file_lock import Claim
from tb_privateuse1.storage.jobs import (
    CHANGED,
    Job,
    Jobs,
    Pending,
    Phase,
    Progress,
    canceled_error,
    unreadable_error,
)
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.memory_budget import BUDGET, MemoryBudget
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.vendors.user_file import OURS, Vendors

__all__ = ["Pending", "Progress", "Store"]

_LOOK_S = 0.25


class _NotStored(Exception):
    """The cache on disk has no such trace."""


class Store:
    """Traces by their files' content.

    ``jobs``: processes that read at a time, at most 2 by default; 0 reads in the caller's
    thread. ``engine`` reads instead, such as a cluster. ``cache_dir``: by default see
    ``cache_directory.cache_directories``; if it cannot be written, traces are kept in memory only.
    ``memory`` has the open ones; the latest trace always is open.
    ``stall_s``: a reader without progress for so long is ended. ``on_progress`` hears of every
    step, in the thread that makes it. ``vendors``: with those of the user's files.
    ``clock`` returns seconds that never decrease.
    """

    def __init__(
        self,
        jobs: int | None = None,
        cache_dir: Path | None = None,
        *,
        memory: MemoryBudget = BUDGET,
        stall_s: float = STALL_S,
        on_progress: Callable[[TraceFiles, Progress], None] | None = None,
        vendors: Vendors = OURS,
        clock: Callable[[], float] = time.monotonic,
        engine: Engine | None = None,
    ) -> None:
        self._clock = clock
        self._given_engine, self._readers = engine, jobs
        self.cache_dir = cache_dir
        self._on_progress = on_progress
        self.vendors = vendors
        self._pool: DaemonPool | None = None
        self._lock = threading.Lock()
        self._jobs = Jobs(stall_s, clock)
        self._failures = Failures(clock)
        self._memory = memory
        self._latest: dict[str, tuple[int, str]] = {}
        """Of each trace file the time of change and the key of its latest version."""
        self._room = cache_directory.Room()
        self._reads = Reads(clock)
        self._earlier = part_file.EarlierParts(clock)

    @functools.cached_property
    def _engine(self) -> Engine:
        # Made for the first trace to read: a stored one needs nothing that reads.
        return self._given_engine or local_engine(self._readers)

    def trace(self, files: TraceFiles, wait_s: float | None = None) -> Trace:
        """Return the trace of some files as they are now; as ``open`` does."""
        return self.open(files, wait_s)[0]

    def open(self, files: TraceFiles, wait_s: float | None = None) -> tuple[Trace, TraceFiles]:
        """Return the trace of some files as they are now, and these; read it if necessary.

        Waits at most ``wait_s``, by default until it is there. Clients take turns, and of a
        client's traces the one asked for most recently is read first. Raises Pending if it is not
        ready by then, TraceError if it cannot be read (at once, as long as the file is the same),
        or ``canceled`` (which is forgotten: ask again to have it read).
        """
        files, key = _current(files, self.vendors)
        end = None if wait_s is None else self._clock() + wait_s
        while True:
            if (known := self._recall(key)) is not None:
                return known, files
            if self._jobs.get(key) is None and (known := self._stored(key, files)) is not None:
                return known, files
            made = self._ask(key, files, end, columns=True)
            if isinstance(made, Trace):  # else it ended just before it was asked for columns
                return made, files

    def part(self, files: TraceFiles, wait_s: float | None = None) -> RankPart:
        """Return what views of all ranks need of a trace: stored, or made now and stored.

        A stored part is enough: its trace may be gone, and is not opened. Waits and raises as
        ``trace`` does.
        """
        files, key = _current(files, self.vendors)
        with self._lock:
            self._failures.check(key)
        if (known := self._stored_part(key, files)) is not None:
            return known
        made: Trace | RankPart | None = self._open(key)
        if made is None and self._jobs.get(key) is None:
            made = self._read_stored(key, files)  # for this once: a thousand would fill the memory
        if made is None:
            made = self._ask(key, files, None if wait_s is None else self._clock() + wait_s)
        if not isinstance(made, Trace):
            return made
        for word in made.meta.findings:
            if word.code == CHANGED:  # a part has no place for it
                raise TraceError(word.code, word.message, word.hint)
        part = reduce_trace(made)
        if is_unchanged(files):
            self._keep_part(part, key, files)
        return part

    def stored_part(self, files: TraceFiles) -> RankPart | None:
        """Return a part if it is stored; nothing is read for it. Raises TraceError."""
        files, key = _current(files, self.vendors)
        return self._stored_part(key, files)

    def _ask(
        self, key: str, files: TraceFiles, end: float | None, *, columns: bool = False
    ) -> Trace | RankPart:
        """Return what a job makes: the trace, or its part where nobody asks for ``columns``."""
        job, new = self._jobs.ask(key, files, columns=columns)
        try:
            if new and self._engine.readers == 0:
                self._jobs.start(job)
                self._run(job)
            elif new:
                job.reason = None if columns else self._earlier.note(self._paths(key, files))
                job.hears(None)
                self._submit()
            if not self._wait(job, end):
                raise Pending(job.progress)
        finally:
            self._jobs.leave(job)
        error = job.future.exception()
        if isinstance(error, TraceError):
            raise copy_error(error)
        return job.future.result()

    def engine_use(self) -> EngineUse | None:
        """Return what was read so far, by whom and how fast; None if nothing was read."""
        return self._reads.use(self._engine.name) if "_engine" in vars(self) else None

    def in_cache(self, files: TraceFiles) -> bool:
        """Return whether a trace is cached on disk; it counts as used now. Raises TraceError."""
        files, key = _current(files, self.vendors)
        for path in self._paths(key, files):
            if path.is_file():
                cache_directory.touch(path)
                return True
        return False

    def discard(self, files: TraceFiles) -> None:
        """Remove a trace from the disk, not from those who have it open. Raises TraceError."""
        files, key = _current(files, self.vendors)
        paths = self._paths(key, files)
        for path in paths:
            cache_directory.remove(path)
        self._engine.discard(paths)

    def cancel(self, files: TraceFiles, *, parts: bool = False) -> bool:
        """Give up reading a trace; whether it was being read, or waited for it.

        Its reader is killed, and who asked for it hears TraceError ``canceled``. With ``parts``
        it goes on if somebody needs more than its part.
        """
        return self._jobs.cancel(canceled_error(files), files.trace.path, parts=parts)

    def close(self) -> None:
        """Give up what is being read, and wait until nothing of it is left running or on disk.

        The store can still be asked for what it has.
        """
        with self._lock:
            pool, self._pool = self._pool, None
        self._jobs.cancel(TraceError("closed", say("The server is closing.")))
        if pool:
            pool.shutdown()
        if "_engine" in vars(self):
            self._engine.close()

    def _recall(self, key: str) -> Trace | None:
        with self._lock:
            self._failures.check(key)
        return self._open(key)

    def _open(self, key: str) -> Trace | None:
        return cast(Trace | None, self._memory.find(self, key))

    def _stored(self, key: str, files: TraceFiles) -> Trace | None:
        """Return the trace from the cache on disk, if any; it is opened once for all callers."""

        def read() -> Trace:
            if (known := self._read_stored(key, files)) is None:
                raise _NotStored
            return known

        try:
            known = self._memory.compute(self, key, read, owns=True)
        except _NotStored:
            return None
        self._forget_older(key, files)
        return known

    def _read_stored(self, key: str, files: TraceFiles) -> Trace | None:
        paths = self._paths(key, files)
        return next(filter(None, (disk_cache.read_trace(p, self.vendors) for p in paths)), None)

    def _stored_part(self, key: str, files: TraceFiles) -> RankPart | None:
        part = next(filter(None, map(part_file.read_part, self._paths(key, files))), None)
        if part is not None:
            self._forget_older(key, files)
        return part

    def _keep_part(self, part: RankPart, key: str, files: TraceFiles) -> None:
        """Store a part where it can be."""
        written = next((p for p in self._paths(key, files) if part_file.keep(part, p)), None)
        if written:
            self._room.wrote(written)

    def _forget_older(self, key: str, files: TraceFiles) -> None:
        """Remove the cached traces of a file's earlier, shorter versions from disk.

        No request can reach their keys any more, and readers that opened one hold it in memory.
        """
        path, now_ns = files.trace.path, files.trace.mtime_ns
        with self._lock:
            before_ns, before = self._latest.get(path, (now_ns, key))
            if before_ns <= now_ns:
                self._latest[path] = now_ns, key
        for stored in self._paths(before, files) if before_ns < now_ns else ():
            cache_directory.remove(stored)

    def _submit(self) -> None:
        """Submit one more job to the pool of processes."""
        with self._lock:
            if self._pool is None:
                self._pool = DaemonPool(self._engine.readers, "ingest")
            self._pool.submit(self._next)

    def _next(self) -> None:
        if (job := self._jobs.take()) is not None:
            self._run(job)

    def _wait(self, job: Job, end: float | None) -> bool:
        """Wait for a job until then, and look after all jobs meanwhile; whether it is done."""
        last = float("inf") if end is None else end
        while not wait([job.future], min(_LOOK_S, max(last - self._clock(), 0.0))).done:
            for waiting in self._jobs.look():
                if (known := self._ready(waiting)) is not None:
                    self._jobs.end(waiting, known)
                elif self._jobs.unpark(waiting):
                    self._submit()
            if self._clock() >= last:
                return job.future.done()
        return True

    def _run(self, job: Job) -> None:
        """Make the trace of a job, unless another server is at it."""
        try:
            claim = self._claim(job)
            if claim is None:
                self._jobs.park(job)
                return
            with claim as held:
                trace = self._made(job, held)
        except BaseException as error:
            outcome = job.verdict or error
            if isinstance(outcome, TraceError):
                with self._lock:
                    self._failures.put(job.key, outcome)
            self._jobs.end(job, outcome)
            if not isinstance(error, Exception):
                raise
        else:
            self._jobs.end(job, trace)

    def _claim(self, job: Job) -> AbstractContextManager[Claim | None] | None:
        """Return the lock to make a trace; None if another live server has it.

        Without processes of our own, this waits until the other one has finished. Where there are
        no locks, or nothing can be written, everybody has the right.
        """
        if self._engine.locks:
            return contextlib.nullcontext()
        for path in self._paths(job.key, job.files):
            with contextlib.suppress(OSError):
                while (claim := cache_directory.claim(path)) is None:
                    if not self._jobs.patient(job, cache_directory.beat_ns(path)):
                        return contextlib.nullcontext()
                    if self._engine.readers:
                        return None
                    self._say(job, "waiting", 0, job.files.trace.size, 0)
                    time.sleep(_LOOK_S)
                    self._jobs.look()
                return claim
        return contextlib.nullcontext()

    def _ready(self, job: Job) -> Trace | RankPart | None:
        """Return what a job is to make, if it was made since it was asked for."""
        if not job.columns and (part := self._stored_part(job.key, job.files)) is not None:
            return part
        return self._open(job.key) or self._stored(job.key, job.files)

    def _made(self, job: Job, claim: Claim | None) -> Trace | RankPart:
        if (known := self._ready(job)) is not None:
            return known
        made = self._read(job, claim)
        if isinstance(made, Trace):
            made = self._memory.put(self, job.key, made)
        self._forget_older(job.key, job.files)
        return made

    def _read(self, job: Job, claim: Claim | None) -> Trace | RankPart:
        reader = Reader(self._reads)

        def progress(phase: str, done: int, total: int, events: int) -> None:
            if claim:
                claim.beat()
            reader.hears(phase)
            self._say(job, phase, done, total, events)

        paths = self._paths(job.key, job.files)
        reading = Reading(
            job.files, paths, self.vendors, job.turn, lambda: job.columns,
            progress, functools.partial(self._jobs.runs_in, job), job.hears,
        )  # fmt: skip
        try:
            made = self._engine.read(reading)
            reader.has_read(job.files.trace.size)
            return made
        finally:
            reader.ends()
            for path in paths:
                self._room.wrote(path)

    def _say(self, job: Job, phase: str, done: int, total: int, events: int) -> None:
        left = None
        elapsed = self._clock() - job.started_s
        if phase == "reading" and 0 < done <= total and elapsed > 0.5:
            left = round(elapsed * (total - done) / done, 1)
        job.moves(Progress(cast(Phase, phase), done, total, events, left, note=job.note))
        if self._on_progress:
            self._on_progress(job.files, job.progress)

    def _paths(self, key: str, files: TraceFiles) -> list[Path]:
        """Return the paths for a trace, the preferred one first."""
        folders = cache_directory.cache_directories(files.trace.path, self.cache_dir)
        return [folder / f"{key}.arrow" for folder in folders]


def _current(files: TraceFiles, vendors: Vendors) -> tuple[TraceFiles, str]:
    """Return the files as they are now, and their key, from one look at each file.

    Remote ones are as the last search found them, so that a host that does not answer holds up
    nobody who asks; the reader notices if they have changed.
    """
    try:
        look = functools.cache(locate)
        files = refresh(files, look)
        return files, disk_cache.cache_key(files, vendors, look)
    except OSError as error:
        raise unreadable_error(files, error) from error
