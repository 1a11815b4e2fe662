"""Processes that answer one request after another, and what becomes of those that wait."""

from __future__ import annotations

import gc
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import reader_process, worker_process
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tests.support.trace_files import trace

ECHO = """
import os, sys, time
from tb_privateuse1.storage import worker_process
def answer(request, say):
    print("no answer")
    say(progress=["reading", 1, 2, 3])
    if request.get("die"): os.kill(os.getpid(), 9)
    say(done=request["n"], pid=os.getpid())
worker_process.serve(answer)
"""


@pytest.fixture
def process() -> Any:
    started = worker_process.start(ECHO)
    yield started
    worker_process.end(started)


def test_one_request_after_another(process: worker_process.Process) -> None:
    heard: list[Any] = []
    for n in range(3):
        answer = worker_process.ask(process, {"n": n}, lambda *state: heard.append(state))
        assert answer == {"done": n, "pid": process.pid}
    assert heard == [("reading", 1, 2, 3)] * 3
    assert worker_process.end(process) == 1


def test_one_that_dies_has_no_answer(process: worker_process.Process) -> None:
    heard: list[Any] = []
    assert (
        worker_process.ask(process, {"n": 1, "die": 1}, lambda *state: heard.append(state)) is None
    )
    assert worker_process.end(process) == -signal.SIGKILL
    assert len(heard) == 1


def timers(process: worker_process.Process) -> list[threading.Timer]:
    found = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    return [timer for timer in found if process in timer.args]


def test_one_that_waits_in_vain_is_gone_altogether(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not ``<defunct>`` until somebody asks for something."""
    monkeypatch.setattr(worker_process, "IDLE_S", 0.05)
    waiting, process = worker_process.Waiting(), worker_process.start(ECHO)
    assert worker_process.ask(process, {"n": 1}, lambda *_: None)
    waiting.give(process)
    for timer in timers(process):
        timer.join(10)
    assert process.returncode == 1
    assert waiting.take() is None


def test_one_that_is_taken_in_time_is_left_alone(process: worker_process.Process) -> None:
    waiting = worker_process.Waiting()
    waiting.give(process)
    (timer,) = timers(process)
    assert waiting.take() is process
    timer.join(10)
    timer.function(*timer.args)  # its time had just come
    assert worker_process.ask(process, {"n": 1}, lambda *_: None)


def test_those_that_wait() -> None:
    waiting = worker_process.Waiting()
    assert waiting.take() is None
    first, second = worker_process.start(ECHO), worker_process.start(ECHO)
    waiting.give(first)
    waiting.give(second)
    assert waiting.take() is second
    waiting.give(second)
    waiting.close()
    assert waiting.take() is None
    assert first.returncode == second.returncode == 1


@pytest.mark.long
def test_nothing_is_left_without_close() -> None:
    waiting, process = worker_process.Waiting(), worker_process.start(ECHO)
    waiting.give(process)
    del waiting
    gc.collect()
    assert process.returncode == 1


@pytest.fixture
def log(tmp_path: Path) -> list[TraceFiles]:
    for rank in range(4):
        trace(tmp_path / "log" / f"host_{rank}.1.pt.trace.json", rank=rank)
    return list(catalog.scan(str(tmp_path / "log"), READERS).files.values())


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[worker_process.Process]:
    found: list[worker_process.Process] = []
    start = worker_process.start

    def noted(code: str) -> worker_process.Process:
        found.append(start(code))
        return found[-1]

    monkeypatch.setattr(worker_process, "start", noted)
    return found


@pytest.mark.long
def test_small_traces_share_a_process(
    log: list[TraceFiles], tmp_path: Path, started: list[worker_process.Process]
) -> None:
    made = Store(1, tmp_path / "cache")
    assert [made.trace(files).meta.rank for files in log] == [0, 1, 2, 3]
    assert len(started) == 1
    made.close()
    assert started[0].returncode is not None


@pytest.mark.long
def test_a_large_one_has_its_own(
    log: list[TraceFiles],
    tmp_path: Path,
    started: list[worker_process.Process],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader_process, "_SMALL_BYTES", 10)
    made = Store(1, tmp_path / "cache")
    for files in log[:2]:
        made.trace(files)
        assert started[-1].returncode is not None
    assert len(started) == 2
    made.close()


@pytest.mark.long
def test_one_that_ended_while_it_waited_is_replaced(
    log: list[TraceFiles], tmp_path: Path, started: list[worker_process.Process]
) -> None:
    made = Store(1, tmp_path / "cache")
    made.trace(log[0])
    os.kill(started[0].pid, signal.SIGKILL)
    assert made.trace(log[1]).meta.rank == 1
    assert len(started) == 2
    made.close()


@pytest.mark.long
def test_an_unreadable_trace_spoils_nothing(
    log: list[TraceFiles], tmp_path: Path, started: list[worker_process.Process]
) -> None:
    made = Store(1, tmp_path / "cache")
    Path(log[1].trace.path).write_text("nothing")
    made.trace(log[0])
    with pytest.raises(TraceError):
        made.trace(log[1])
    assert made.trace(log[2]).meta.rank == 2
    assert len(started) == 1
    made.close()


@pytest.mark.long
def test_cancelling_one_does_not_touch_the_next(
    log: list[TraceFiles], tmp_path: Path, started: list[worker_process.Process]
) -> None:
    made = Store(1, tmp_path / "cache")
    made.trace(log[0])
    assert not made.cancel(log[0])  # it is done
    assert made.trace(log[1]).meta.rank == 1
    assert len(started) == 1
    made.close()
