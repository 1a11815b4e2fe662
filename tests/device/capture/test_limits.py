"""Limits of a window: what is measured, on both sides of each, and how the schedule goes on."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerAction, schedule

from tb_privateuse1 import capture
from tb_privateuse1.capture.limits import limits, process_use, window_limits
from tb_privateuse1.capture.limits.limits import Limits
from tb_privateuse1.capture.limits.window_limits import LimitedSchedule, Watch
from tb_privateuse1.capture.warnings import Notes
from tests.support.capture import CPU, read, written
from tests.support.on_device import device

MB = 1_000_000


class Process:
    """What a process has recorded, and what it takes of memory and time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.operators: int | None = 1_000
        self.resident: int | None = 500 * MB
        self.available: int | None = 8_000 * MB
        self.now = 100.0
        monkeypatch.setattr(process_use, "operators_so_far", lambda: self.operators)
        monkeypatch.setattr(process_use, "resident", lambda: self.resident)
        monkeypatch.setattr(process_use, "available", lambda: self.available)
        monkeypatch.setattr(limits.time, "monotonic", lambda: self.now)


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Process:
    return Process(monkeypatch)


def unit(tested: Limits) -> str | None:
    reached = tested.reached()
    return reached.unit if reached else None


def test_operators_are_counted_from_the_start_of_the_window(process: Process) -> None:
    tested = Limits(10_000, None, None)
    tested.start(stacks=False)
    process.operators = 11_000
    assert unit(tested) is None
    process.operators = 11_001
    assert unit(tested) == "events"
    assert "10,001 operators; max_events is 10,000" in str(tested.reached())


def test_operators_without_a_counter_have_no_limit(process: Process) -> None:
    process.operators = None
    tested = Limits(1, None, None)
    tested.start(stacks=False)
    assert unit(tested) is None


def test_bytes_are_the_growth_of_the_resident_memory(process: Process) -> None:
    tested = Limits(None, 100 * MB, None)
    tested.start(stacks=False)
    process.operators = 1_001_000
    process.resident = 600 * MB
    assert unit(tested) is None
    process.resident = 601 * MB
    assert unit(tested) == "bytes"


def test_growth_that_operators_cannot_have_caused_is_the_programs(process: Process) -> None:
    tested = Limits(None, 100 * MB, None)
    tested.start(stacks=False)
    process.resident = 5_000 * MB
    process.operators = 11_000
    assert unit(tested) is None
    tested.start(stacks=True)  # whose calls no counter counts
    process.resident = 5_101 * MB
    assert unit(tested) == "bytes"


@pytest.mark.parametrize(("stacks", "most"), [(False, 1_000), (True, 250)])
def test_bytes_are_a_share_of_the_available_memory(
    process: Process, stacks: bool, most: int
) -> None:
    process.operators = None
    tested = Limits(None, "auto", None)
    tested.start(stacks)
    process.resident = (500 + most) * MB
    assert unit(tested) is None
    process.resident = (501 + most) * MB
    assert unit(tested) == "bytes"


def test_where_memory_cannot_be_read_it_has_no_limit(process: Process) -> None:
    process.resident = process.available = None
    tested = Limits(None, "auto", None)
    tested.start(stacks=False)
    assert unit(tested) is None


def test_seconds_are_those_of_the_window(process: Process) -> None:
    tested = Limits(None, None, 10)
    tested.start(stacks=False)
    process.now = 110.0
    assert unit(tested) is None
    process.now = 110.5
    assert unit(tested) == "seconds"
    assert "has taken 10.5 s; max_seconds is 10" in str(tested.reached())


@pytest.mark.parametrize(
    "bad",
    [{"max_events": 0}, {"max_bytes": -1}, {"max_seconds": "auto"}, {"max_bytes": "most"}],
)
def test_a_limit_is_a_positive_number(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        capture.profile(activities=[CPU], **bad)


# -- What is read ----------------------------------------------------------------------------


def test_the_counter_of_torch_counts_operators() -> None:
    before = process_use.operators_so_far()
    assert before is not None
    with torch.profiler.profile(activities=[CPU]) as prof:
        for _ in range(4_000):
            torch.ones(1)
    operators = len(prof.events() or ())
    counted = (process_use.operators_so_far() or 0) - before
    assert operators <= counted < operators + 1_024


def test_the_available_memory_is_that_of_the_host_and_the_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert process_use.available(tmp_path, tmp_path) is None
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    4000 kB\n")
    assert process_use.available(tmp_path, tmp_path) == 4_096_000
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("900000\n")
    assert process_use.available(tmp_path, tmp_path) == 4_096_000
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 50000\n")
    assert process_use.available(tmp_path, tmp_path) == 150_000
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    assert process_use.available(tmp_path, tmp_path) == 50_000


def test_the_resident_memory_is_in_pages(tmp_path: Path) -> None:
    assert process_use.resident(tmp_path) is None
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "statm").write_text("900 7 3 1 0 1 0\n")
    assert process_use.resident(tmp_path) == 7 * os.sysconf("SC_PAGE_SIZE")
    assert (process_use.resident() or 0) > 1_000_000


# -- The schedule ----------------------------------------------------------------------------

NONE, WARMUP = ProfilerAction.NONE, ProfilerAction.WARMUP
RECORD, SAVE = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE


def test_the_rest_of_a_window_is_not_recorded_and_the_next_one_is() -> None:
    tested = LimitedSchedule(schedule(wait=1, warmup=1, active=3, repeat=2))
    before = [tested(step) for step in range(3)]
    tested.end_window()
    after = [tested(step) for step in range(3, 11)]
    assert before == [NONE, WARMUP, RECORD]
    assert after == [NONE, NONE, NONE, WARMUP, RECORD, RECORD, SAVE, NONE]


def test_a_window_without_an_end_is_over_until_the_profiler_starts_again() -> None:
    tested = LimitedSchedule(lambda _: RECORD)
    tested.end_window()
    assert [tested(step) for step in range(5)] == [NONE] * 5
    assert tested.begin_again(5) is RECORD
    assert tested(6) is RECORD


def steps_of(path: Path) -> list[str]:
    events = read(path)["traceEvents"]
    names = {event["name"] for event in events if event["name"].startswith("ProfilerStep#")}
    return sorted(names)


def run(prof: Any, steps: int, calls: Callable[[int], int]) -> None:
    """Run steps; each number is that of a step's calls, of eight operators each."""
    with prof:
        for step in range(steps):
            for _ in range(calls(step)):
                torch.ones(8).add(1)
            prof.step()


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_a_window_ends_at_a_limit_and_the_schedule_goes_on(tmp_path: Path) -> None:
    stopped: list[str | None] = []
    write = capture.tensorboard_trace_handler(str(tmp_path))

    def ready(prof: Any) -> None:
        stopped.append(prof.stopped_by)
        write(prof)

    cycles = schedule(wait=0, warmup=1, active=4, repeat=2)
    prof = capture.profile(
        activities=[CPU], schedule=cycles, on_trace_ready=ready, max_events=2_500
    )
    with pytest.warns(capture.CaptureWarning, match=r"\[limit-reached\].* after 2 steps, because"):
        run(prof, 10, lambda step: 200 if step < 5 else 20)
    assert stopped == ["events", None]
    first, second = written(tmp_path)
    assert steps_of(first) == ["ProfilerStep#1", "ProfilerStep#2"]
    assert steps_of(second) == [f"ProfilerStep#{n}" for n in (6, 7, 8, 9)]


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_a_recording_without_a_schedule_ends_at_a_limit_once(tmp_path: Path) -> None:
    write = capture.tensorboard_trace_handler(str(tmp_path))
    prof = capture.profile(activities=[CPU], on_trace_ready=write, max_events=2_500)
    with pytest.warns(capture.CaptureWarning, match="limit-reached"):
        run(prof, 10, lambda _: 400)
    assert prof.stopped_by == "events"
    assert len(written(tmp_path)) == 1
    with prof:  # again
        torch.ones(8)
    assert prof.stopped_by is None
    assert len(written(tmp_path)) == 2


def test_no_limit_no_end(tmp_path: Path) -> None:
    write = capture.tensorboard_trace_handler(str(tmp_path))
    no: dict[str, Any] = {"max_events": None, "max_bytes": None, "max_seconds": None}
    cycles = schedule(wait=0, warmup=1, active=3, repeat=1)
    with capture.profile(activities=[CPU], schedule=cycles, on_trace_ready=write, **no) as prof:
        for _ in range(4):
            torch.ones(8)
            prof.step()
    assert len(steps_of(written(tmp_path)[0])) == 3


def test_the_event_route_leaves_a_whole_pair_at_a_limit(tmp_path: Path) -> None:
    done = device(
        tmp_path,
        """
        cycles = schedule(wait=0, warmup=1, active=200, repeat=1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            prof = train(steps=201, schedule=cycles, on_trace_ready=log("run"), max_events=3000)
        answer["stopped_by"] = prof.stopped_by
        answer["warned"] = [str(one.message)[:15] for one in caught]
        """,
    )
    assert done.answer["stopped_by"] == "events"
    assert "[limit-reached]" in done.answer["warned"]
    (trace,), (sidecar,) = done.traces("run"), done.sidecars("run")
    assert 1 < len(steps_of(trace)) < 200
    assert [one["code"] for one in read(sidecar)["warnings"]] == ["limit-reached"]


# -- A program without steps -----------------------------------------------------------------


def test_a_program_without_steps_is_warned_while_it_records(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window_limits, "_LOOK_S", 0.001)
    tested, notes = Limits(5, None, None), Notes()
    tested.start(stacks=False)
    process.operators = 1_006
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # would end the thread, if it were not caught
        watch = Watch(tested, notes)
        watch.start()
        watch.thread.join()
    assert list(notes.found) == ["limit-passed"]


def test_the_watch_ends_with_the_window(process: Process) -> None:
    tested, notes = Limits(5, None, None), Notes()
    tested.start(stacks=False)
    watch = Watch(tested, notes)
    watch.start()
    watch.stop()
    watch.thread.join()
    assert notes.found == {}
