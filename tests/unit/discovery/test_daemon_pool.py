"""The pool of daemon threads: bounds, results and shutdown."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

import pytest

from tb_privateuse1.discovery.daemon_pool import DaemonPool


def test_results_and_errors() -> None:
    with DaemonPool(2, "test") as pool:
        assert list(pool.map(abs, [-1, 2, -3])) == [1, 2, 3]
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result(5)


def test_bounded_daemons_that_start_with_the_work() -> None:
    before = threading.active_count()
    pool = DaemonPool(2, "test")
    assert threading.active_count() == before
    go = threading.Event()
    futures = [pool.submit(go.wait, 10) for _ in range(5)]
    started = [thread for thread in threading.enumerate() if thread.name.startswith("test-")]
    assert len(started) == 2
    assert all(thread.daemon for thread in started)
    go.set()
    assert all(future.result(5) for future in futures)
    pool.shutdown()
    assert threading.active_count() == before


def test_shutdown_can_drop_waiting_calls() -> None:
    pool = DaemonPool(1, "test")
    go, running = threading.Event(), threading.Event()

    def work() -> bool:
        running.set()
        return go.wait(10)

    first: Future[bool] = pool.submit(work)
    assert running.wait(5)
    second = pool.submit(go.wait)
    pool.shutdown(wait=False, cancel_futures=True)
    go.set()
    assert first.result(5)
    assert second.cancelled()


class _EmptiedAtOnce(SimpleQueue[Any]):
    """A queue whose last item a worker takes just after a check saw it."""

    def empty(self) -> bool:
        return False

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        assert not block, "it would wait for ever"
        return super().get(block, timeout)


def test_shutdown_never_waits_for_an_item(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = DaemonPool(0, "test")
    monkeypatch.setattr(pool, "_queue", _EmptiedAtOnce())
    waits = pool.submit(abs, 1)
    pool.shutdown(cancel_futures=True)
    assert waits.cancelled()
