"""With stacks, a recorded step shows the calls of the program and none of the capture's."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.capture import read
from tests.support.on_device import run_python

PROGRAM = """
import itertools, pathlib, torch
from torch import profiler
from torch.profiler import ProfilerActivity as A, schedule
from tb_privateuse1 import capture
from tests.support.demand import ask

model = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(3)])

def train(end_step, steps):
    for _ in range(steps):
        model(torch.ones(2, 8)).sum().backward()
        end_step()

for name, module in ("torch", profiler), ("ours", capture):
    steps = schedule(wait=1, warmup=1, active=3, repeat=1)
    write = module.tensorboard_trace_handler(name)
    with module.profile(
        activities=[A.CPU], with_stack=True, schedule=steps, on_trace_ready=write
    ) as prof:
        train(prof.step, 7)
with capture.on_demand("demand", activities=[A.CPU], with_stack=True, poll_s=0) as job:
    train(job.step, 2)
    ask(pathlib.Path("demand"), steps=3)
    train(job.step, 8)
"""
_UNAVOIDABLE = {"demand": {"_is_serving"}}
"""Another thread or a forked child must not end the range of a step."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stacks")
    run_python(folder, "-c", PROGRAM)
    return folder


def calls_in_steps(runs: Path, name: str) -> list[Counter[str]]:
    """Return the functions that were called and returned in each step."""
    (path,) = (runs / name).glob("*.pt.trace.json")
    events: list[dict[str, Any]] = read(path)["traceEvents"]
    steps = [
        (event["ts"], event["ts"] + event["dur"])
        for event in events
        if event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep#")
    ]
    calls = [event for event in events if event.get("cat") == "python_function"]
    return [
        Counter(
            call["name"].partition(" at 0x")[0]
            for call in calls
            if start <= call["ts"] and call["ts"] + call["dur"] <= end
        )
        for start, end in steps
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", ["ours", "demand"])
def test_no_call_of_the_capture_is_in_a_step(runs: Path, name: str) -> None:
    steps = calls_in_steps(runs, name)
    assert len(steps) == 3
    ours = {call for step in steps for call in step if "tb_privateuse1/capture" in call}
    assert {call.rpartition(": ")[2] for call in ours} == _UNAVOIDABLE.get(name, set())


@pytest.mark.long
def test_a_step_has_the_calls_of_torchs_own_recording_and_one_more(runs: Path) -> None:
    """It asks whether this process is a forked child, which must not end the range."""
    for torch, ours in zip(
        *(calls_in_steps(runs, name) for name in ("torch", "ours")), strict=True
    ):
        assert not torch - ours
        assert ours - torch == Counter({"<built-in function getpid>": 1})
