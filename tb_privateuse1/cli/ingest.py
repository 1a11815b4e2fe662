"""``ingest``: read every trace below a path into the cache that the dashboard uses."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
import time
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import asdict

from tb_privateuse1.cli.commands import (
    COMMANDS,
    UsageError,
    add_command,
    add_engine,
    add_vendor,
    vendors,
    write,
)
from tb_privateuse1.cli.progress import Line, State, duration, size

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands
    from tb_privateuse1.discovery.trace_files import TraceFiles
    from tb_privateuse1.storage.jobs import Progress
    from tb_privateuse1.storage.store import Store
    from tb_privateuse1.trace.errors import TraceError

_log = logging.getLogger(__name__)

_LOOK_S = 0.1
_START_BYTES = 40_000_000
"""A reader could read about so much in the time that it takes to start."""
_LONG_S = 60.0
"""Who waits longer hears of clusters."""
_JUDGED_S = 5.0
"""The time that is left is not estimated before."""
_PACKED = 12
"""How many bytes there are about in one of a packed file."""


def add(commands: Commands) -> None:
    """Add the command."""
    ingest = add_command(commands, "ingest", _ingest, COMMANDS["ingest"], "./log")
    ingest.add_argument("path", metavar="PATH", help="a logdir, a run or one trace file")
    ingest.add_argument("--jobs", type=int, metavar="N", help="readers at a time; a core each")
    add_engine(ingest)
    ingest.add_argument("--force", action="store_true", help="also what is in the cache already")
    add_vendor(ingest)
    ingest.add_argument("--json", action="store_true", help="the outcome for a program")


class Failure(Struct, frozen=True):
    """A trace that is not in the cache, and why."""

    run: str
    rank: int
    span: int
    file: str
    code: str
    message: str
    hint: str | None


class Outcome(Struct):
    """The result for all traces, as ``--json`` prints it."""

    traces: int
    read: int = 0
    """By this call."""
    cached: int = 0
    """Were there already."""
    failed: list[Failure] = field(default_factory=list)
    """In the order of run, rank and span."""
    removed: int = 0
    """Read, but no longer there, as all of them are more than the cache may hold."""
    bytes: int = 0
    """Of the files of those read and cached."""
    bytes_read: int = 0
    events: int = 0
    """In those read."""
    seconds: float = 0.0


class _Task(Struct):
    run: str
    rank: int
    span: int
    files: TraceFiles
    bytes_done: int = 0
    events: int = 0
    cached: bool = False
    error: TraceError | None = None
    done: bool = False

    @property
    def effort(self) -> int:
        """Return the cost of reading it, in bytes of JSON."""
        from tb_privateuse1.discovery import compressed_files

        file = self.files.trace
        return _START_BYTES + file.size * (
            _PACKED if file.name.lower().endswith(compressed_files.SUFFIXES) else 1
        )

    @property
    def share(self) -> float:
        """Return the share of the cost that is done, 0 to 1."""
        if self.done:
            return 1.0
        started = self.bytes_done * (self.effort - _START_BYTES) / max(self.files.trace.size, 1)
        return started / self.effort

    def hears(self, progress: Progress) -> None:
        """Record its reader's progress; the last phase has no number of events."""
        share = progress.bytes_done / max(progress.bytes_total, 1)
        self.bytes_done = int(min(share, 1.0) * self.files.trace.size)
        self.events = max(self.events, progress.events)


def _ingest(options: argparse.Namespace) -> int:
    from tb_privateuse1.discovery import catalog as discovery_catalog
    from tb_privateuse1.readers import READERS
    from tb_privateuse1.storage.engines import select_engine
    from tb_privateuse1.storage.store import Store
    from tb_privateuse1.trace.memory_budget import MemoryBudget
    from tb_privateuse1.views.encoding import encode
    from tb_privateuse1.views.reader import Reader

    jobs = _cores() if options.jobs is None else options.jobs
    if jobs < 1:
        raise UsageError(f"--jobs {jobs}: it takes at least one reader")
    known = vendors(options)
    engine = select_engine(options.engine, jobs)
    engine.check()
    at_a_time = engine.readers if options.jobs is None else jobs
    catalog = discovery_catalog.scan(options.path, READERS)
    catalog.find()  # no traces at all is an error
    tasks = [_Task(*place, files) for place, files in catalog.files.items()]
    for warning in catalog.runs.warnings:
        _say(f"{warning.message} {warning.hint or ''}")
    # Only the latest trace stays open: there may be thousands.
    by_path = {task.files.trace.path: task for task in tasks}
    store = Store(
        engine=engine,
        memory=MemoryBudget(0),
        on_progress=lambda files, progress: by_path[files.trace.path].hears(progress),
        vendors=known,
    )
    work = _Work(store, tasks, force=options.force, hints=engine.name == "local")
    with Line(sys.stderr).open() as line:
        try:
            work.run(min(at_a_time, len(tasks)), line)
        except KeyboardInterrupt:
            ready = sum(task.done and task.error is None for task in tasks)
            have = (
                f"{ready} of {len(tasks)} traces are in the cache, the same call reads the others"
            )
            raise KeyboardInterrupt(have) from None
    Reader(store, catalog).keep_groups(catalog)
    outcome = work.outcome()
    if options.json:
        write(encode(asdict(outcome)))
    else:
        _print(outcome)
    return 1 if outcome.failed or outcome.removed else 0


class _Work:
    """Has a store read traces, as many at a time as it has readers."""

    def __init__(self, store: Store, tasks: Sequence[_Task], *, force: bool, hints: bool) -> None:
        self._store = store
        self._tasks = tasks
        self._force = force
        self._began_s = time.monotonic()
        self._stop = threading.Event()
        self._hints = hints

    def run(self, jobs: int, line: Line) -> None:
        """Read them all, the largest first: the last ones then end at about the same time."""
        from tb_privateuse1.discovery.daemon_pool import DaemonPool

        ended: SimpleQueue[None] = SimpleQueue()
        pool = DaemonPool(jobs, "ask")
        for task in sorted(self._tasks, key=lambda t: -t.files.trace.size):
            pool.submit(self._have, task).add_done_callback(lambda _: ended.put(None))
        left = len(self._tasks)
        try:
            while left:
                try:
                    ended.get(timeout=_LOOK_S)
                    left -= 1
                except Empty:
                    pass
                state = self._state(left)
                if self._hints and (hint := cluster_hint(state)):
                    line.clear()
                    _say(hint)
                    self._hints = False
                line.show(state)
        finally:
            self._stop.set()
            self._store.close()

    def outcome(self) -> Outcome:
        """Return the counts of its tasks."""
        found = Outcome(len(self._tasks), seconds=round(time.monotonic() - self._began_s, 3))
        for task in self._tasks:
            if task.error:
                found.failed.append(_failure(task, task.error))
                continue
            found.bytes += task.files.trace.size
            if task.cached:
                found.cached += 1
            else:
                found.read += 1
                found.bytes_read += task.files.trace.size
                found.events += task.events
            found.removed += not self._is_there(task.files)
        return found

    def _have(self, task: _Task) -> None:
        """Have a trace in the cache; what goes wrong is the task's."""
        from tb_privateuse1.discovery.file import printable
        from tb_privateuse1.storage.ingest import without_paths
        from tb_privateuse1.trace.errors import TraceError

        if self._stop.is_set():
            return
        try:
            task.cached = not self._force and self._store.in_cache(task.files)
            if not task.cached:
                self._read(task)
        except TraceError as error:
            task.error = error
        except Exception as error:
            _log.exception("reading %s", printable(task.files.trace.path))
            message = without_paths(f"{type(error).__name__}: {error}", task.files)
            task.error = TraceError("internal", message, "Please report this with the log above.")
        task.bytes_done = task.files.trace.size
        task.done = True

    def _read(self, task: _Task) -> None:
        from tb_privateuse1.trace.errors import TraceError

        if self._force:
            self._store.discard(task.files)
        # Not what was reported: a worker of a cluster may die before its last report.
        task.events = sum(self._store.trace(task.files).meta.events.values())
        if not self._store.in_cache(task.files):
            name = task.files.names[0]
            message = f"{name} was read, but could not be kept in the cache."
            hint = "Did it change meanwhile? Else TB_PRIVATEUSE1_CACHE may name a better place."
            raise TraceError("not_kept", message, hint)

    def _is_there(self, files: TraceFiles) -> bool:
        from tb_privateuse1.trace.errors import TraceError

        try:
            return self._store.in_cache(files)
        except TraceError:  # deleted since: nobody will ask for it
            return True

    def _state(self, left: int) -> State:
        tasks = self._tasks
        failed = sum(task.error is not None for task in tasks)
        what = f"{len(tasks) - left} of {len(tasks)} traces"
        read = [task for task in tasks if not task.cached]  # the others cost nothing
        effort = sum(task.effort for task in read)
        return State(
            what + (f" ({failed} failed)" if failed else ""),
            bytes_done=sum(task.bytes_done for task in tasks),
            bytes_total=sum(task.files.trace.size for task in tasks),
            events=sum(task.events for task in tasks),
            elapsed_s=time.monotonic() - self._began_s,
            effort=sum(task.share * task.effort for task in read) / effort if effort else 1.0,
        )


def cluster_hint(state: State) -> str | None:
    """Return what to do where this machine takes longer than a minute; None where it does not.

    By the share of the work that is done after some seconds.
    """
    if state.elapsed_s < _JUDGED_S or not 0 < state.share < 1:
        return None
    expected_s = state.elapsed_s / state.share
    if expected_s <= _LONG_S:
        return None
    return (
        f"this machine takes about {duration(expected_s)} in all: a cluster reads many traces at a "
        "time, with --engine dask://HOST:PORT (docs/guide/cluster.md)"
    )


def _failure(task: _Task, error: TraceError) -> Failure:
    name = task.files.names[0]
    return Failure(task.run, task.rank, task.span, name, error.code, error.message, error.hint)


def _print(outcome: Outcome) -> None:
    from tb_privateuse1.i18n.units import plain_text

    for failure in outcome.failed:
        place = f"run {failure.run}, rank {failure.rank}, span {failure.span}"
        _say(plain_text(f"{place}: {failure.message} {failure.hint or ''}"))
    if outcome.removed:
        _say(
            f"{outcome.removed} traces are not kept, as all of them are more than the cache may "
            "hold: set TB_PRIVATEUSE1_CACHE_BYTES, such as 100G"
        )
    parts = [f"{outcome.read} read"]
    if outcome.read:
        took = f"{size(outcome.bytes_read)}, {outcome.events:,} events"
        parts[0] += f" ({took}, {duration(outcome.seconds)})"
    parts.append(f"{outcome.cached} already in the cache")
    if outcome.failed:
        parts.append(f"{len(outcome.failed)} failed")
    print(f"{outcome.traces} traces: {', '.join(parts)}")


def _say(message: str) -> None:
    print(f"tb-privateuse1: {' '.join(message.split())}", file=sys.stderr)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # what a container or a scheduler leaves us
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
