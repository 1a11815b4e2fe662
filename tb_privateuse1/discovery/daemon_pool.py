"""A bounded pool of threads that does not keep its process from ending.

``concurrent.futures.ThreadPoolExecutor`` waits at exit for running calls: an interrupted server
would read a large trace for minutes more.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import Empty, SimpleQueue
from typing import Any


class DaemonPool(Executor):
    """An Executor of up to ``workers`` daemon threads, started as they are needed."""

    def __init__(self, workers: int, name: str) -> None:
        self._workers = workers
        self._name = name
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call ``fn`` in one of the threads; only one thread at a time may submit."""
        future: Future[Any] = Future()
        self._queue.put((future, lambda: fn(*args, **kwargs)))
        if len(self._threads) < self._workers:
            name = f"{self._name}-{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
            self._threads[-1].start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads after all submitted calls, or after the running ones."""
        with contextlib.suppress(Empty):
            while cancel_futures:
                # A worker may take the last item at any time, so a blocking get could hang.
                if (item := self._queue.get_nowait()) is not None:
                    item[0].cancel()
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            future, call = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:  # the future's owner handles it
                future.set_exception(error)
