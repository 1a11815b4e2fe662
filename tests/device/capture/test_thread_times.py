"""The processor time of Python threads stands in the sidecar, with what torch was to record."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
import torch

from tb_privateuse1.capture import thread_times
from tb_privateuse1.readers.sidecar import read_sidecar
from tests.support.capture import read
from tests.support.on_device import device

THREADS = """
stop, launched = threading.Event(), threading.Event()
class Paced(capture.profile):
    def step(self):
        launched.clear()
        launched.wait()
        super().step()
def launches():
    own = torch.refdev.Stream()
    left = torch.randn(32, 32).to("refdev")
    while not stop.is_set():
        with torch.refdev.stream(own):
            left @ left
        own.synchronize()
        launched.set()
def waits():
    stop.wait()
for target in (launches, waits):
    threading.Thread(target=target, name=target.__name__, daemon=True).start()
config = torch._C._profiler._ExperimentalConfig
for name in ("some", "all"):
    given = config(profile_all_threads=name == "all")
    train(make=Paced, on_trace_ready=log(name), experimental_config=given)
stop.set()
"""


def test_a_thread_that_launches_takes_time_and_one_that_waits_takes_none(tmp_path: Path) -> None:
    done = device(tmp_path, THREADS)
    for name in ("some", "all"):
        for path in done.sidecars(name):
            assert read(path)["all_threads"] is (name == "all")
            took = {one.name: one.cpu_ns for one in read_sidecar(str(path)).host_threads}
            assert set(took) == {"MainThread", "launches", "waits"}
            assert took["launches"] > 0
            assert took["waits"] == 0


def test_a_thread_that_began_in_between_counts_whole() -> None:
    before, after = {1: ("main", 5), 0: ("", 9)}, {1: ("main", 8), 2: ("new", 7), 0: ("", 20)}
    columns = {"thread": [1, 2], "name": ["main", "new"], "cpu_ns": [3, 7]}
    assert thread_times.columns_between(before, after) == columns
    assert thread_times.ended_between(before, after) == 1
    assert thread_times.columns_between({}, after) is None
    assert thread_times.ended_between({}, after) is None


def test_threads_of_the_system_alone_have_no_row_and_have_not_ended() -> None:
    before, after = {1: ("main", 5), 3: ("", 1), 0: ("", 6)}, {1: ("main", 6), 3: ("", 5)}
    after[0] = ("", 11)
    columns = thread_times.columns_between(before, after)
    assert columns == {"thread": [1], "name": ["main"], "cpu_ns": [1]}
    assert thread_times.ended_between(before, after) == 0


def test_a_thread_that_ended_is_told_by_the_time_of_the_process() -> None:
    before = thread_times.read_times(begins=True)
    thread = threading.Thread(target=lambda: sum(range(1_000_000)))
    thread.start()
    thread.join()
    while Path(f"/proc/self/task/{thread.native_id}").exists():  # Python's end comes first
        os.sched_yield()
    after = thread_times.read_times(begins=False)
    ended = thread_times.ended_between(before, after)
    assert ended is not None
    assert ended > 0


@pytest.mark.parametrize("begins", [True, False])
def test_other_systems_and_ended_threads_tell_nothing(
    monkeypatch: pytest.MonkeyPatch, begins: bool
) -> None:
    def ended(_: int) -> int:
        raise OSError(22, "Invalid argument")

    assert len(thread_times.read_times(begins=begins)) > 1
    monkeypatch.setattr(thread_times.time, "clock_gettime_ns", ended)
    assert len(thread_times.read_times(begins=begins)) == 1
    monkeypatch.setattr(thread_times.os, "listdir", ended)
    assert thread_times.read_times(begins=begins) == {}
    monkeypatch.setattr(thread_times.sys, "platform", "darwin")
    assert thread_times.read_times(begins=begins) == {}


def test_a_config_tells_whether_all_threads_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = torch._C._profiler._ExperimentalConfig
    assert thread_times.records_all(kind(profile_all_threads=True))
    assert not thread_times.records_all(kind(verbose=True))
    assert not thread_times.records_all(None)
    monkeypatch.setattr(torch._C._profiler, "_ExperimentalConfig", object)
    assert not thread_times.records_all(kind(profile_all_threads=True))
