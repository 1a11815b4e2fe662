"""A real Dask scheduler and workers, as processes on the loopback interface."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.sources import PACKAGE

_LOOPBACK = "127.0.0.1"
_START_S = 60.0
_LOOK_S = 0.05
_LONGEST_S = "180"
"""A scheduler that nobody uses ends then, and its workers, if the tests were killed."""

HOLD = """
import os, time
from pathlib import Path
from tb_privateuse1.storage import ingest
read = getattr(ingest.readers.read, "original", ingest.readers.read)  # it may run twice
def held(path, progress, *more):
    if {only!r} in path:
        Path({began!r}, str(os.getpid())).touch()
        end = time.monotonic() + 120
        while not Path({done!r}).exists() and time.monotonic() < end:
            progress("reading", 1, 4, 7)
            time.sleep(0.02)
    return read(path, progress, *more)
held.original = read
ingest.readers.read = held
"""
"""A worker that leaves its process id in a folder when it reads, and waits for a file."""

GREEDY = """
import time
from tb_privateuse1.storage import ingest
read = getattr(ingest.readers.read, "original", ingest.readers.read)  # it may run twice
def greedy(path, progress, *more):
    taken = []
    while {only!r} in path:
        taken.append(bytearray(b"x" * (20 << 20)))
        progress("reading", 1, 4, 7)
        time.sleep(0.02)
    return read(path, progress, *more)
greedy.original = read
ingest.readers.read = greedy
"""
"""A worker that takes more and more memory for one trace."""


@dataclass
class Cluster:
    """Processes of Dask. ``folder`` has their logs, and what they spill."""

    folder: Path
    port: int = 0
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def engine(self) -> str:
        """The name of the engine."""
        return f"dask://{_LOOPBACK}:{self.port}"

    def start_scheduler(self) -> None:
        """Start it, always at the same address, and wait until it listens."""
        self.port = self.port or _free_port()
        self.scheduler = self._start(
            "scheduler",
            "--host",
            _LOOPBACK,
            "--port",
            str(self.port),
            "--no-dashboard",
            "--idle-timeout",
            _LONGEST_S,
        )
        _await(lambda: _listens(self.port))

    def start_worker(
        self,
        *arguments: str,
        preload: str = "",
        variables: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a worker, its nanny first, and wait until the scheduler has it."""
        if preload:
            script = self.folder / f"preload{len(self.workers)}.py"
            script.write_text(preload)
            arguments = (*arguments, "--preload", str(script))
        before = self._log("scheduler").count("Register worker")
        worker = self._start(
            "worker", f"tcp://{_LOOPBACK}:{self.port}", "--nthreads", "1", "--host", _LOOPBACK,
            "--no-dashboard", "--local-directory", str(self.folder), *arguments,
            variables=variables,
        )  # fmt: skip
        self.workers.append(worker)
        _await(lambda: self._log("scheduler").count("Register worker") > before)
        return worker

    def kill_scheduler(self) -> None:
        """As a crash would, and the workers with it: without a scheduler they end."""
        assert self.scheduler is not None
        kill(self.scheduler)
        for worker in self.workers:
            kill(worker)
        self.workers.clear()

    def close(self) -> None:
        """End everything."""
        for process in (*self.workers, self.scheduler):
            if process is not None:
                kill(process)

    def _log(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def _start(
        self, what: str, *arguments: str, variables: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), **(variables or {})}
        environment["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "1"
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + what, *arguments],
                stdout=log, stderr=log, env=environment, start_new_session=True,
                cwd=self.folder,  # it would be the first place for modules
            )  # fmt: skip


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A scheduler without workers. Everything is ended at the end of the block."""
    folder.mkdir()
    made = Cluster(folder)
    try:
        made.start_scheduler()
        yield made
    finally:
        made.close()


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with its children, and wait for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((_LOOPBACK, 0))
        port: int = free.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((_LOOPBACK, port)) == 0


def _await(condition: object) -> None:
    end = time.monotonic() + _START_S
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not start"
        time.sleep(_LOOK_S)
