"""Jobs of several processes, ended by signals, forked, and started by the launcher."""

from __future__ import annotations

import functools
import os
import signal
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tb_privateuse1.capture.demand.files import FOLDER
from tests.support import warm_python
from tests.support.capture import read
from tests.support.demand import ask, recorded_steps, status, statuses
from tests.support.on_device import ROOT
from tests.support.warm_python import WarmProcess

PATHS = os.pathsep.join([str(ROOT), str(ROOT / "examples" / "refdevice")])

COUNTING = """
import os
steps = open("steps-" + os.environ.get("RANK", "0"), "wb", buffering=0)

def count():
    steps.write(b".")
"""
TRAINING = """
import pathlib, refdevice, sys, time, torch
from tb_privateuse1 import capture
model = torch.nn.Linear(64, 64).to("refdev")
batch = torch.randn(16, 64).to("refdev")

def train():
    model.zero_grad()
    model(batch).pow(2).sum().backward()
    time.sleep(0.005)
    count()
"""
SERVED = """
with capture.on_demand("log", poll_s=0.02) as job:
    while not pathlib.Path("end").exists():
        train()
        job.step()
"""
LAUNCHED = """
import pathlib, refdevice, time, torch
model = torch.nn.Linear(8, 8).to("refdev")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while not pathlib.Path("end").exists():
    model(torch.ones(4, 8, device="refdev")).sum().backward()
    optimizer.step()
    time.sleep(0.005)
    count()
"""


@contextmanager
def process(folder: Path, *command: str, **environment: str) -> Iterator[WarmProcess]:
    """A job in a process of its own, which is killed if the test fails."""
    clean = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE")}
    with (folder / "errors").open("ab") as errors:
        job = warm_python.start(
            warm_python.TORCH,
            command,
            cwd=folder,
            env=clean | {"PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"} | environment,
            stdout=errors,
            stderr=errors,
        )
    try:
        yield job
    finally:
        job.kill()
        job.wait()


def script(folder: Path, code: str) -> str:
    path = folder / "program.py"
    path.write_text(COUNTING + TRAINING + textwrap.dedent(code))
    return str(path)


def steps(folder: Path, rank: int = 0) -> int:
    """Return the program's own number of steps: that of its status is up to 10 s old."""
    return (folder / f"steps-{rank}").stat().st_size


def wait(job: WarmProcess, done: Callable[[], object]) -> None:
    """Wait until ``done()`` holds; the job must not end before."""
    while True:
        try:
            if done():
                return
        except (ValueError, OSError):  # not yet there
            pass
        assert job.poll() is None, "the job ended"
        time.sleep(0.02)


def traces(folder: Path) -> list[Path]:
    return sorted(folder.glob("log/*.pt.trace.json*"))


@pytest.mark.long
def test_two_ranks_record_the_same_steps_on_the_device(tmp_path: Path) -> None:
    program = script(tmp_path, SERVED)
    log = tmp_path / "log"
    with (
        process(tmp_path, program, RANK="0", WORLD_SIZE="2") as first,
        process(tmp_path, program, RANK="1", WORLD_SIZE="2") as second,
    ):
        for rank, job in enumerate((first, second)):
            wait(job, functools.partial(steps, tmp_path, rank))
        ask(log, steps=3)
        wait(first, lambda: all(s["last"] for s in statuses(log)))
        ahead = max(steps(tmp_path, rank) for rank in (0, 1)) + 400
        ask(log, "0" * 16, from_step=ahead, steps=3)
        wait(first, lambda: all(s["last"]["id"] == "0" * 16 for s in statuses(log)))
        (tmp_path / "end").touch()
        assert (first.wait(), second.wait()) == (0, 0)
    jobs = statuses(log)
    assert {(s["rank"], s["state"], s["backend"], s["route"]) for s in jobs} == {
        (0, "ended", "refdev", "events"),
        (1, "ended", "refdev", "events"),
    }
    assert [s["last"]["error"] for s in jobs] == [None, None]
    one, other = ([*recorded_steps(read(log / s["last"]["trace"]))] for s in jobs)
    assert one == other
    assert len(one) == 3
    assert len(traces(tmp_path)) == len(list(log.glob("*.kernel_event.json"))) == 4


@pytest.mark.long
@pytest.mark.parametrize("command", [(), ("-m", "tb_privateuse1.capture", "--on-demand")])
def test_a_signal_ends_the_job_and_writes_what_was_recorded(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    program = script(tmp_path, SERVED)
    if command:
        Path(program).write_text(COUNTING + LAUNCHED)
    log = tmp_path / "log"
    with process(tmp_path, *command, program) as job:
        wait(job, lambda: status(log)["pid"] == job.pid)
        ask(log, steps=1000)
        wait(job, lambda: status(log)["state"] == "recording")
        began = steps(tmp_path)
        wait(job, lambda: steps(tmp_path) > began + 2)
        job.send_signal(signal.SIGTERM)
        assert job.wait() == -signal.SIGTERM
    assert status(log)["state"] == "ended"
    assert status(log)["last"]["error"] is None
    assert status(log)["last"]["trace"] == traces(tmp_path)[0].name
    assert 0 < status(log)["last"]["steps"] < 1000
    assert read(traces(tmp_path)[0])["tb_privateuse1_window"]["cut_short"] == "SIGTERM"
    assert len(recorded_steps(read(traces(tmp_path)[0]))) >= 1


@pytest.mark.long
def test_the_launcher_serves_a_program_that_knows_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(COUNTING + LAUNCHED)
    log = tmp_path / "log"
    command = ("-m", "tb_privateuse1.capture", "--on-demand", "--ring", "2", "--every", "50")
    with process(tmp_path, *command, "program.py") as job:
        wait(job, lambda: status(log)["step"] == 0)
        ask(log, steps=2)
        wait(job, lambda: status(log)["last"])
        (tmp_path / "end").touch()
        assert job.wait() == 0
    (trace,) = traces(tmp_path)
    content = read(trace)
    assert len(recorded_steps(content)) == 2
    assert "Optimizer.step#SGD.step" in {str(e.get("name")) for e in content["traceEvents"]}
    assert [path.name for path in (log / FOLDER).glob("recordings-*")] == []


@pytest.mark.long
def test_forked_workers_neither_serve_nor_say_anything(tmp_path: Path) -> None:
    program = """
    import json, os, pathlib, sys, torch, warnings
    from tb_privateuse1 import capture
    warnings.simplefilter("ignore", DeprecationWarning)
    with capture.on_demand("log", poll_s=0, period_s=0.01) as job:
        job.step()
        status = next(pathlib.Path("log/.tb_privateuse1").glob("job-*.json"))
        child = os.fork()
        if child == 0:
            for _ in range(20):
                job.step()
            job.stop()
            assert job.count == 1, job.count
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert json.loads(status.read_text())["state"] == "ready"
        loader = torch.utils.data.DataLoader(range(8), num_workers=2)
        for one in loader:
            job.step()
        assert job.count == 9
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    with process(tmp_path, "program.py") as job:
        assert job.wait() == 0, (tmp_path / "errors").read_text()
    assert status(tmp_path / "log")["pid"] == job.pid
    assert status(tmp_path / "log")["state"] == "ended"


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--on-demand", "--steps-by", "none"), "--on-demand needs steps"),
        (("--on-demand", "--ring", "1", "--every", "2"), "--every must be 3 or more"),
    ],
)
def test_wrong_options_of_the_launcher(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    with process(tmp_path, "-m", "tb_privateuse1.capture", *arguments, "x.py") as job:
        assert job.wait() == 2
    assert message in (tmp_path / "errors").read_text()
