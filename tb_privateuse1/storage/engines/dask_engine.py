"""The engine that has the workers of a Dask cluster read: one task for each trace.

Dask runs a task again elsewhere if its worker dies, and runs equal tasks of several servers once.
What is left to do here is to say what happened, and to submit it again where the scheduler itself
was lost. The lock of a cached trace is taken by the worker: who waits for the scheduler must not
hold it, or workers would wait for a trace that waits for a worker.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from distributed import Client, Future, KilledWorker
from msgspec import Struct, field

from tb_privateuse1.analysis.ranks.collectives import RankPart
from tb_privateuse1.discovery.file import printable
from tb_privateuse1.discovery.remote import RemoteError
from tb_privateuse1.i18n import say
from tb_privateuse1.storage import cache_directory, object_cache
from tb_privateuse1.storage.engines import cluster_task
from tb_privateuse1.storage.engines.dask_connection import Connection
from tb_privateuse1.storage.engines.engine import EngineName, Reading, open_stored
from tb_privateuse1.storage.jobs import canceled_error, vanished_error
from tb_privateuse1.storage.reader_process import no_room
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace

_READERS = 256
"""A thread waits for each. More than that are submitted as others end."""
_LOOK_S = 1.0
_RESULT_S = 60.0
_PATIENCE_S = 300.0
"""A scheduler that does not answer is given up after so long."""
_VISIBLE_S = 60.0
"""A network file system may remember for so long that there was no such file."""
_RETRIES = 2
_READ_TWICE = 2
_NOT_THERE = (ImportError, AttributeError)
"""What a worker raises that does not have the task."""
_log = logging.getLogger(__name__)


class _Lost(Exception):
    """The scheduler forgot the task, or is lost itself."""


class _Task(Struct, eq=False):
    """A task of the cluster, as its waiting thread sees it."""

    woken: threading.Event = field(default_factory=threading.Event)
    killed: bool = False
    worker: str | None = None
    """The one that reported progress last; None: it waits for one."""
    state: tuple[Any, ...] | None = None
    """Progress that was not passed on yet."""
    happened: str | None = None
    """What the user reads until the trace is there."""

    def kill(self) -> None:
        """End it, from any thread."""
        self.killed = True
        self.woken.set()

    def hears(self, worker: str, state: Sequence[Any]) -> None:
        """Record its progress."""
        self.worker, self.state = worker, tuple(state)
        self.woken.set()


class DaskEngine:
    """Reads on a Dask cluster. ``address`` is Dask's own, None that of Dask's configuration.

    With ``url`` the cache of server and workers is below it, else it is a directory of all.
    """

    name: EngineName = "dask"
    readers = _READERS
    locks = True

    def __init__(self, address: str | None, url: str | None = None) -> None:
        self._url = url
        self._connection = Connection(address, self._heard)
        self._tasks: dict[str, _Task] = {}

    def check(self) -> None:
        """Raise TraceError ``cluster_unreachable`` if the scheduler does not answer."""
        if self._connection.client() is None:
            raise self._unreachable()

    def read(self, reading: Reading) -> Trace | RankPart:
        """Return a trace that a worker has read, or its part. Raises TraceError."""
        request = _request(reading, self._url)
        for _ in range(_READ_TWICE):
            written = self._bring(Path(self._written(request, reading)), reading)
            stored = open_stored(written, reading)
            if written.name != reading.paths[0].name:  # the trace changed: nobody finds it again
                cache_directory.remove(written)
            if stored is not None:
                return stored
        raise vanished_error(reading.files)

    def discard(self, paths: Sequence[Path]) -> None:
        """Do nothing: it shares nothing but the paths."""

    def close(self) -> None:
        """Leave the cluster."""
        self._connection.close()

    def _heard(self, message: dict[str, Any]) -> None:
        task = self._tasks.get(message.get("key", ""))
        if task is not None:
            task.hears(message["worker"], message["state"])

    def _written(self, request: bytes, reading: Reading) -> str:
        """Return the path that a worker stored the trace at, however often it is submitted."""
        key = f"tb_privateuse1-{reading.paths[0].stem}-{hashlib.sha256(request).hexdigest()[:16]}"
        happened = None
        while True:
            client = self._await_client(reading)
            task = _Task(happened=happened)
            # Dask cancels by key: one that is being canceled would take this one along.
            while self._tasks.setdefault(key, task) is not task:
                self._wait(task, reading)
            try:
                answer = json.loads(self._answer(client, key, request, task, reading))
            except _Lost as error:
                _log.warning("%s: %s", printable(reading.files.trace.path), error)
                happened = say("The scheduler of the cluster was lost. The trace is read again.")
                continue
            finally:
                del self._tasks[key]
            if "versions" in answer:
                raise _differ(answer["versions"])
            if "error" in answer:
                raise _on_worker(TraceError.unpacked(answer["error"]))
            return str(answer["done"])

    def _await_client(self, reading: Reading) -> Client:
        end, waits = time.monotonic() + _PATIENCE_S, _Task()
        while (client := self._connection.client()) is None:
            if time.monotonic() > end:
                raise self._unreachable()
            reading.tell(_silent())
            self._wait(waits, reading)
        return client

    def _answer(
        self, client: Client, key: str, request: bytes, task: _Task, reading: Reading
    ) -> bytes:
        """Return the answer of a worker. Raises _Lost, or TraceError."""
        try:
            future = client.submit(
                cluster_task.read_on_worker,
                request,
                key=key,
                priority=reading.turn,
                retries=_RETRIES,
            )
        except Exception as error:  # it was closed just now
            raise _Lost(str(error)) from error
        try:
            future.add_done_callback(lambda _: task.woken.set())
            while not future.done():
                self._wait(task, reading)
                self._look(task, reading)
            reading.progress("waiting", reading.files.trace.size, reading.files.trace.size, 0)
            return _result(future, reading)
        except BaseException:
            _cancel(future)
            raise
        finally:
            future.release()

    def _wait(self, task: _Task, reading: Reading) -> None:
        """Wait for news, and pass them on. Raises TraceError if it was killed."""
        if task.worker is None:
            reading.started(task)  # its time does not run yet
        task.woken.wait(_LOOK_S)
        task.woken.clear()
        if task.killed:
            raise canceled_error(reading.files)
        state, task.state = task.state, None
        if state is not None:
            reading.progress(*state)

    def _look(self, task: _Task, reading: Reading) -> None:
        """Say so if there is no worker, or the one that read the trace is gone."""
        workers = self._connection.workers()
        if workers is None:  # its machine may be lost, which closes no connection
            reading.tell(_silent())
            return
        if task.worker is not None and task.worker not in workers:
            task.worker = None
            reading.progress("waiting", 0, reading.files.trace.size, 0)
            task.happened = say("A worker of the cluster ended. The trace is read again.")
        nobody = say("The cluster has no worker. Reading begins when there is one.")
        reading.tell(task.happened if workers else nobody)

    def _bring(self, path: Path, reading: Reading) -> Path:
        """Return where the file that a worker wrote is seen here. Raises TraceError."""
        if self._url is None:
            self._see(path, reading)
            return path
        here = reading.paths[0].with_name(path.name)
        try:
            object_cache.bring(here, self._url, columns=reading.columns())
        except RemoteError:
            raise
        except OSError as error:
            raise no_room([here]) from error
        return here

    def _see(self, path: Path, reading: Reading) -> None:
        """Wait until a file that a worker wrote is seen here, too. Raises TraceError."""
        end, waits = time.monotonic() + _VISIBLE_S, _Task()
        while not path.is_file():
            if time.monotonic() > end:
                raise _not_shared(path, reading)
            reading.tell(say("A worker stored the trace, and this server does not see it yet."))
            self._wait(waits, reading)

    def _unreachable(self) -> TraceError:
        message = say(
            "The Dask scheduler at {address} does not answer.", address=self._connection.address
        )
        hint = say("Start it, or name another one with --engine or TB_PRIVATEUSE1_ENGINE.")
        return TraceError("cluster_unreachable", message, hint)


def _silent() -> str:
    return say("The scheduler of the cluster does not answer. It is tried again.")


def _request(reading: Reading, url: str | None) -> bytes:
    return json.dumps(
        {
            "versions": cluster_task.versions(),
            "files": msgspec.to_builtins(reading.files),
            "vendors": msgspec.to_builtins(reading.vendors.files),
            "targets": [str(target.absolute()) for target in reading.paths],
            "url": url,
        }
    ).encode()


def _result(future: Future, reading: Reading) -> bytes:
    if future.status == "finished":
        try:
            return bytes(future.result(timeout=_RESULT_S))
        except TimeoutError as error:
            raise _Lost("its result does not come") from error
    if future.status != "error":
        raise _Lost(f"the task is {future.status}")
    raise _failed(future.exception(timeout=_RESULT_S), reading)


def _failed(error: BaseException, reading: Reading) -> TraceError:
    """Return what Dask says of a task in words for the user."""
    name = printable(reading.files.trace.name)
    _log.warning("%s: %s", printable(reading.files.trace.path), error)
    if isinstance(error, KilledWorker):
        message = say(
            "{count} workers of the cluster died one after the other while they read {name}.",
            count=error.allowed_failures + 1,
            name=name,
        )
        hint = say("If it was for memory: give workers more of it, or record fewer steps.")
        return TraceError("reader_died", message, hint)
    if isinstance(error, _NOT_THERE):
        message = say("The cluster cannot load tb-privateuse1: {error}.", error=error)
        return TraceError("cluster_versions", message, _same_versions())
    kind = type(error).__name__
    message = say("Reading {name} failed: {kind}: {error}", name=name, kind=kind, error=error)
    return TraceError("cluster_failed", message, say("The logs of the cluster say more."))


def _cancel(future: Future) -> None:
    try:
        future.cancel()
    except Exception as error:  # the cluster is gone: nothing is left to cancel
        _log.info("cancelling: %s", error)


def _differ(theirs: dict[str, str]) -> TraceError:
    ours = cluster_task.versions()
    names = [name for name in ours if ours[name] != theirs.get(name)]
    # The sources of another version differ anyway.
    name = next((name for name in names if theirs.get(name) and ours[name]), names[0])
    message = say(
        "A worker of the cluster has another version of {name}: {theirs} instead of {ours}.",
        name=name,
        theirs=theirs.get(name, "?"),
        ours=ours[name],
    )
    return TraceError("cluster_versions", message, _same_versions())


def _same_versions() -> str:
    return say("Install the same versions on the server, the scheduler and all workers.")


def _on_worker(error: TraceError) -> TraceError:
    """Return the error of a worker, with a hint if it may be that the worker sees other files."""
    if error.code != "unreadable":
        return error
    hint = say("Workers of the cluster must see the traces under the same paths as this server.")
    return TraceError(error.code, error.message, hint)


def _not_shared(path: Path, reading: Reading) -> TraceError:
    name = printable(reading.files.trace.name)
    message = say(
        "A worker of the cluster stored {name} in {place}, which this server does not see.",
        name=name,
        place=path.parent,
    )
    hint = say("Set TB_PRIVATEUSE1_CACHE to a directory that the server and all workers share.")
    return TraceError("cluster_cache", message, hint)
