"""Processes that work on parts of one file, and memory that they share with their parent.

They are forked: a new interpreter would take longer to import NumPy than a part takes to read. So
this is for a program of our own that has no threads at work, as ``storage.reader_process`` is, and
for Linux. A worker ends when its connection closes: with its parent, however that ended.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import mmap
import os
import signal
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from types import TracebackType

from msgspec import Struct, field

Work = Callable[[bytes, memoryview], bytes]
"""Answers a request; it may read and write the memory of a slot."""

CAN_FORK = sys.platform == "linux"
_MOST_WAITING = 2
"""Requests of a worker at a time: the next one is there when it has answered one."""


class WorkerDied(Exception):
    """A worker ended without an answer."""


class _Worker(Struct, eq=False):
    pid: int
    connection: Connection
    slots: deque[int] = field(default_factory=deque)
    """Of its requests, in order."""


class Pool:
    """Workers, and slots of shared memory: each request has one until it is released."""

    def __init__(
        self,
        work: Work,
        count: int,
        slot_bytes: int,
        *,
        files: Sequence[int] = (),
        prepare: Callable[[], None] | None = None,
    ) -> None:
        # Anonymous: there is nothing to remove, however the processes end.
        self._memory = [mmap.mmap(-1, slot_bytes) for _ in range(3 * count)]
        self.slots = [memoryview(memory) for memory in self._memory]
        self._free = list(range(len(self.slots)))
        self._workers: list[_Worker] = []
        for _ in range(count):
            self._workers.append(self._start(work, files, prepare))

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Kill the workers, which hold nothing that must be saved, and wait for their end."""
        for worker in self._workers:
            worker.connection.close()
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)
        for worker in self._workers:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(worker.pid, 0)
        self._workers.clear()

    def pids(self) -> list[int]:
        """Return the process ids of the workers."""
        return [worker.pid for worker in self._workers]

    def take_slot(self) -> int | None:
        """Return a slot for a request; None while there is none, or all workers have enough."""
        is_full = all(len(worker.slots) >= _MOST_WAITING for worker in self._workers)
        return self._free.pop() if self._free and not is_full else None

    def submit(self, slot: int, request: bytes) -> None:
        """Send a request to the worker with the fewest. Raises WorkerDied."""
        worker = min(self._workers, key=lambda each: len(each.slots))
        worker.slots.append(slot)
        try:
            worker.connection.send_bytes(slot.to_bytes(4, "little") + request)
        except OSError:
            self._mourn(worker)

    def receive(self) -> Iterable[tuple[int, bytes]]:
        """Wait for answers, and return them with their slots. Raises WorkerDied."""
        by_connection = {worker.connection: worker for worker in self._workers}
        answers = []
        for connection in wait([w.connection for w in self._workers if w.slots]):
            assert isinstance(connection, Connection)
            worker = by_connection[connection]
            try:
                answers.append((worker.slots.popleft(), connection.recv_bytes()))
            except (EOFError, OSError):
                self._mourn(worker)
        return answers

    def release(self, slot: int) -> None:
        """Use a slot for another request."""
        self._free.append(slot)

    @staticmethod
    def _mourn(worker: _Worker) -> None:
        _, status = os.waitpid(worker.pid, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            os.kill(os.getpid(), signal.SIGXCPU)  # our time is over when one of them has used its
        raise WorkerDied(f"process {worker.pid} ended with status {status}")

    def _start(
        self, work: Work, files: Sequence[int], prepare: Callable[[], None] | None
    ) -> _Worker:
        ours, theirs = Pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # no thread of ours is at work
            pid = os.fork()
        if pid == 0:
            try:
                gc.freeze()  # a collection would copy the parent's pages
                _keep_only([2, theirs.fileno(), *files])
                if prepare:
                    prepare()
                _serve(theirs, work, self.slots)
            except BaseException:
                os._exit(1)
            os._exit(0)
        theirs.close()
        return _Worker(pid, ours)


def _keep_only(files: Sequence[int]) -> None:
    """Close all files but these: who waits for the end of a pipe must not wait for us."""
    edges = [-1, *sorted(files), os.sysconf("SC_OPEN_MAX")]
    for kept, following in itertools.pairwise(edges):
        os.closerange(kept + 1, following)


def _serve(connection: Connection, work: Work, slots: Sequence[memoryview]) -> None:
    while True:
        try:
            request = connection.recv_bytes()
        except (EOFError, OSError):
            return
        slot = slots[int.from_bytes(request[:4], "little")]
        connection.send_bytes(work(request[4:], slot))
