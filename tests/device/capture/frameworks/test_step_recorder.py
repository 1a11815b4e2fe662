"""The recorder below the callbacks, with a trainer that is a loop on the CPU."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity

from tb_privateuse1 import capture
from tb_privateuse1.capture.frameworks.step_recorder import StepRecorder
from tests.support.capture import read, written

pytestmark = pytest.mark.filterwarnings(
    "ignore:Warning. Profiler clears events", "ignore:Profiler won't be using warmup"
)
CPU: dict[str, Any] = {"activities": [ProfilerActivity.CPU]}


def run(recorder: StepRecorder, steps: int, evaluate: int | None = None) -> None:
    """Train, with an evaluation behind one of the steps."""
    for step in range(steps):
        recorder.begin_step()
        torch.ones(8).add(1)
        recorder.end_step()
        if step == evaluate:
            recorder.pause("evaluation")
            torch.ones(8).tanh()
            recorder.resume()


def names(path: Path) -> list[str]:
    rows = [e for e in read(path)["traceEvents"] if e.get("ph") == "X"]
    wanted = ("ProfilerStep", "evaluation", "aten::add", "aten::tanh")
    return [e["name"] for e in sorted(rows, key=lambda e: e["ts"]) if e["name"].startswith(wanted)]


def test_an_evaluation_is_between_two_steps(tmp_path: Path) -> None:
    recorder = StepRecorder(str(tmp_path), wait=1, warmup=1, active=2, **CPU)
    run(recorder, 6, evaluate=2)
    recorder.stop()
    (path,) = written(tmp_path)
    first, second = ["ProfilerStep#2", "aten::add"], ["ProfilerStep#3", "aten::add"]
    assert names(path) == [*first, "evaluation", "aten::tanh", *second]


@pytest.mark.parametrize("step", [1, 3], ids=["before", "behind"])
def test_an_evaluation_outside_of_the_window_is_not_recorded(tmp_path: Path, step: int) -> None:
    recorder = StepRecorder(str(tmp_path), wait=1, warmup=1, active=2, repeat=2, **CPU)
    run(recorder, 8, evaluate=step)
    recorder.stop()
    steps = [[name for name in names(path) if "#" in name] for path in written(tmp_path)]
    assert steps == [[f"ProfilerStep#{n}" for n in pair] for pair in ((2, 3), (6, 7))]
    assert not any("evaluation" in names(path) for path in written(tmp_path))


def test_only_the_chosen_ranks_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    for ranks in ({0}, {1, 7}):
        recorder = StepRecorder(str(tmp_path), wait=0, warmup=0, active=1, ranks=ranks, **CPU)
        run(recorder, 2)
        recorder.stop()
    (path,) = written(tmp_path)
    assert "_rank1." in path.name


def test_a_new_training_ends_the_recording_of_one_that_failed(tmp_path: Path) -> None:
    for name in ("first", "second"):
        recorder = StepRecorder(str(tmp_path / name), wait=0, warmup=1, active=9, **CPU)
        run(recorder, 3)
    assert len(written(tmp_path / "first")) == 1
    recorder.stop()
    recorder.stop()
    assert len(written(tmp_path / "second")) == 1


def test_a_profiler_that_fails_does_not_end_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(capture.profile):
        def step(self) -> None:
            raise RuntimeError("broken")

    monkeypatch.setattr(capture, "profile", Broken)
    recorder = StepRecorder(str(tmp_path), wait=0, warmup=1, active=9, **CPU)
    with pytest.warns(capture.CaptureWarning, match=r"\[recording-ended\].*broken"):
        run(recorder, 3)
    recorder.stop()
    assert not torch.autograd._profiler_enabled()
    unknown = StepRecorder(str(tmp_path), no_such_option=1)
    with pytest.warns(capture.CaptureWarning, match=r"\[recording-ended\].*no_such_option"):
        run(unknown, 2)
    run(unknown, 2)


def test_wrong_steps_are_refused_at_once_and_the_rest_can_be_sent() -> None:
    with pytest.raises(AssertionError):
        StepRecorder(active=0)
    assert isinstance(
        pickle.loads(pickle.dumps(StepRecorder("log", with_stack=True))), StepRecorder
    )
