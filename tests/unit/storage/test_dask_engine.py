"""The engine for Dask without a cluster: what its threads do to each other."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.discovery.file import File
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.storage.engines.engine import Reading
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.vendors.user_file import OURS

pytest.importorskip("distributed")
from tb_privateuse1.storage.engines import dask_engine

_SOON_S = 20
_ANSWER = {"error": TraceError("told", "by the worker").packed()}


class Future:
    """A task of a cluster that does nothing until the test runs it."""

    def __init__(self, happened: Callable[[str], None], may_cancel: threading.Event) -> None:
        self.status = "pending"
        self._happened, self._may_cancel = happened, may_cancel

    def done(self) -> bool:
        return self.status != "pending"

    def add_done_callback(self, _: object) -> None:
        """Notify no caller: callers poll."""

    def result(self, timeout: float) -> bytes:
        return json.dumps(_ANSWER).encode()

    def cancel(self) -> None:
        self._happened("cancel")
        assert self._may_cancel.wait(_SOON_S)

    def release(self) -> None:
        self._happened("release")


class Cluster:
    """A client whose tasks wait, and what happened to them."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.futures: list[Future] = []
        self.may_cancel = threading.Event()
        self.has_news = threading.Condition()
        self.pool = ThreadPoolExecutor(2)

    def client(self) -> Cluster:
        return self

    def workers(self) -> frozenset[str]:
        return frozenset(["worker"])

    def submit(self, *_: object, **__: object) -> Future:
        self.futures.append(Future(self.happens, self.may_cancel))
        self.happens("submit")
        return self.futures[-1]

    def happens(self, event: str) -> None:
        with self.has_news:
            self.events.append(event)
            self.has_news.notify_all()

    def until(self, event: str, count: int = 1) -> None:
        with self.has_news:
            assert self.has_news.wait_for(lambda: self.events.count(event) >= count, _SOON_S)


def reading(waits: Callable[[Any], None]) -> Reading:
    files = TraceFiles(File("/log/t.json", 1, 1), None, "w", 0)
    nothing: Any = lambda *_: None  # noqa: E731
    return Reading(files, [Path("/cache/t.arrow")], OURS, 1, lambda: True, nothing, waits, nothing)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Return the cluster of each engine that is made; in the end it answers all."""
    made = Cluster()
    monkeypatch.setattr(dask_engine, "Connection", lambda *_: made)
    monkeypatch.setattr(dask_engine, "_LOOK_S", 0.01)
    yield made
    made.may_cancel.set()
    for future in made.futures:
        future.status = "finished"
    made.pool.shutdown()


def test_who_asks_while_the_same_task_is_being_canceled_is_not_canceled(cluster: Cluster) -> None:
    """Dask cancels by name: a task that is submitted too early goes with the one before."""
    engine = dask_engine.DaskEngine("tcp://cluster")
    tasks: list[Any] = []

    def waits(task: Any) -> None:
        tasks.append(task)
        cluster.happens("waits")

    first = cluster.pool.submit(engine.read, reading(waits))
    cluster.until("waits")
    tasks[0].kill()
    cluster.until("cancel")
    second = cluster.pool.submit(engine.read, reading(lambda _: cluster.happens("waits too")))
    cluster.until("waits too", 3)
    assert cluster.events.count("submit") == 1, "it waits for the end of the first one"
    cluster.may_cancel.set()
    cluster.until("submit", 2)
    cluster.futures[1].status = "finished"
    for asked, code in ((first, "canceled"), (second, "told")):
        with pytest.raises(TraceError) as caught:
            asked.result(_SOON_S)
        assert caught.value.code == code
