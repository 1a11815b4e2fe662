"""The last recordings of a job are kept when something happens."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from tb_privateuse1 import capture
from tb_privateuse1.capture.demand import service as demand
from tb_privateuse1.capture.demand.files import FOLDER
from tb_privateuse1.capture.warnings import CaptureWarning
from tests.support.capture import read
from tests.support.demand import ask, recorded_steps, status

pytestmark = [
    pytest.mark.filterwarnings("ignore:Warning. Profiler clears events"),
    pytest.mark.usefixtures("host_alone"),
]

NAN = float("nan")


class Clock:
    """Steps that take as long as the test says."""

    def __init__(self) -> None:
        self.now = 0

    def perf_counter_ns(self) -> int:
        return self.now

    def time_ns(self) -> int:
        return 10**18 + self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(demand, "time", made)
    return made


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    return tmp_path / "log"


def work(job: capture.on_demand, clock: Clock, steps: int, ms: int = 120, loss: Any = 1.0) -> None:
    for _ in range(steps):
        torch.ones(8).add(1)
        clock.now += ms * 1_000_000
        job.step(loss)


def facts(logdir: Path) -> list[dict[str, Any]]:
    found = [read(path) for path in logdir.glob("*.pt.trace.json")]
    for trace in found:
        window = trace["tb_privateuse1_window"]
        assert recorded_steps(trace)[0] == window["first_step"]
    return sorted(
        (one["tb_privateuse1_window"] for one in found), key=lambda one: one["first_step"]
    )


def hidden(logdir: Path) -> list[Path]:
    return sorted((logdir / FOLDER).glob("recordings-*/*/*.pt.trace.json"))


def test_only_the_last_are_held_and_none_is_seen(logdir: Path, clock: Clock) -> None:
    with capture.on_demand(logdir, ring=2, every=5) as job:
        work(job, clock, 33)
        assert len(hidden(logdir)) == 2
        assert facts(logdir) == []
    assert [path.name for path in (logdir / FOLDER).iterdir()] == [
        f"job-{status(logdir)['worker']}.json"
    ]


def test_a_slow_step_keeps_them_and_records_the_next(logdir: Path, clock: Clock) -> None:
    with capture.on_demand(logdir, ring=2, every=20) as job:
        work(job, clock, 110)
        work(job, clock, 1, ms=340)
        work(job, clock, 40)
        assert len(hidden(logdir)) == 2
    before, middle, behind = facts(logdir)
    assert (before["first_step"], middle["first_step"], behind["first_step"]) == (81, 101, 112)
    reason = {"kind": "slow_step", "step": 110, "step_ns": 340_000_000, "usual_ns": 120_000_000}
    assert before["reason"] == behind["reason"] == reason
    assert before["usual_ns"] == 120_000_000


@pytest.mark.parametrize("make", [float, torch.tensor])
def test_a_loss_that_is_not_finite_keeps_them(logdir: Path, clock: Clock, make: Any) -> None:
    with capture.on_demand(logdir, ring=1, every=5) as job:
        work(job, clock, 9, loss=make(1.0))
        work(job, clock, 30, loss=make(NAN))
    kept = facts(logdir)
    assert [one["first_step"] for one in kept] == [6, 11]
    assert {str(one["reason"]) for one in kept} == {str({"kind": "loss", "step": 9})}


def test_an_exception_of_the_program_keeps_them(logdir: Path, clock: Clock) -> None:
    def program() -> None:
        with capture.on_demand(logdir, ring=3, every=5) as job:
            work(job, clock, 19)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        program()
    assert [one["first_step"] for one in facts(logdir)] == [6, 11, 16]
    assert facts(logdir)[0]["reason"]["message"] == "ZeroDivisionError"


def test_no_more_than_a_few_times(logdir: Path, clock: Clock) -> None:
    with capture.on_demand(logdir, ring=1, every=5) as job:
        for _ in range(30):
            work(job, clock, 9)
            work(job, clock, 9, loss=NAN)
    assert len({one["reason"]["step"] for one in facts(logdir)}) == 10


def test_a_request_comes_before_the_ring(logdir: Path, clock: Clock) -> None:
    with capture.on_demand(logdir, ring=2, every=3, poll_s=0) as job:
        work(job, clock, 2)
        ask(logdir, from_step=7, created_ns=clock.time_ns(), expires_ns=1 << 62)
        work(job, clock, 8)
    (one,) = facts(logdir)
    assert (one["first_step"], one["steps"], one["reason"]) == (7, 2, None)


def test_the_ring_ends_when_it_cannot_be_written(
    logdir: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.warns(CaptureWarning) as caught,
        capture.on_demand(logdir, ring=2, every=5) as job,
    ):
        work(job, clock, 50)
    codes = [str(one.message).partition("]")[0] for one in caught]
    assert codes == ["[disk-full", "[ring-failed"]
    assert job.count == 50
