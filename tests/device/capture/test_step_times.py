"""What recording costs stands in the recording: steps with the profiler, and without."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch.profiler import ProfilerAction, schedule

from tb_privateuse1 import capture, inference
from tb_privateuse1.capture import step_times
from tb_privateuse1.capture.step_times import StepTimes
from tb_privateuse1.readers import chrome
from tests.support.capture import CPU, read, written
from tests.support.on_device import device

NONE, WARMUP, RECORD = ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD
SAVE = ProfilerAction.RECORD_AND_SAVE


def times(monkeypatch: pytest.MonkeyPatch, *steps: tuple[ProfilerAction, int]) -> StepTimes:
    """Return those of steps with known durations; between two steps the profiler takes 1 s."""
    clock = [0]
    monkeypatch.setattr(step_times.time, "perf_counter_ns", lambda: clock[0])
    tested = StepTimes()
    for action, duration in steps:
        clock[0] += 1_000_000_000
        tested.begin()
        clock[0] += duration
        tested.end(action)
    return tested


def test_recorded_steps_stand_beside_those_without_the_profiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cold = (NONE, 9_000)
    steps = [cold, (NONE, 10), (NONE, 12), (NONE, 90), (WARMUP, 500), (RECORD, 20), (SAVE, 24)]
    tested = times(monkeypatch, *steps)
    found = tested.take()
    assert found is not None
    assert (found["steps"], found["recorded_ns"], found["usual_ns"]) == (2, 22, 12)
    assert found["recorded_range_ns"] is found["usual_range_ns"] is None
    assert tested.take() is None  # the next window has steps of its own


def test_the_range_of_a_median_takes_five_steps() -> None:
    """Of n steps, all lie on one side of their median in 2 / 2**n of all cases."""
    assert step_times.figures("usual", [])["usual_ns"] is None
    assert step_times.figures("usual", [5, 1, 2, 3])["usual_range_ns"] is None
    found = step_times.figures("usual", [5, 1, 2, 3, 4])
    assert found == {"usual_ns": 3, "usual_range_ns": [1, 5]}
    assert step_times.figures("usual", range(16))["usual_range_ns"] == [4, 11]


@pytest.mark.parametrize("steps", [[], [(NONE, 10)], [(WARMUP, 10), (RECORD, 20)]])
def test_one_kind_alone_says_nothing(
    monkeypatch: pytest.MonkeyPatch, steps: list[tuple[ProfilerAction, int]]
) -> None:
    assert times(monkeypatch, *steps).take() is None


def test_a_run_without_a_device_has_torchs_keys_only(tmp_path: Path) -> None:
    with capture.profile(
        activities=[CPU],
        schedule=schedule(wait=2, warmup=1, active=2),
        on_trace_ready=capture.tensorboard_trace_handler(str(tmp_path)),
    ) as prof:
        for _ in range(6):
            prof.step()
    assert step_times.FACTS not in read(written(tmp_path)[0])


def test_the_recording_of_a_device_says_what_it_cost(tmp_path: Path) -> None:
    done = device(
        tmp_path,
        "steps = schedule(wait=6, warmup=1, active=5, repeat=1)\n"
        "train(steps=14, schedule=steps, on_trace_ready=log('run'))",
    )
    (path,) = done.traces("run")
    facts = read(path)[step_times.FACTS]
    assert facts["steps"] == 5
    for kind in ("recorded", "usual"):
        low, high = facts[f"{kind}_range_ns"]
        assert 0 < low <= facts[f"{kind}_ns"] <= high
    trace = inference.build_trace(chrome.read(str(path)), None)
    assert "recording_cost" in {finding.code for finding in trace.meta.findings}
