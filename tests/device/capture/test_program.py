"""A program is recorded without a change, and behaves as it does without us."""

from __future__ import annotations

import os
import signal
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.support import warm_python
from tests.support.capture import read
from tests.support.on_device import ROOT

PATHS = os.pathsep.join([str(ROOT), str(ROOT / "examples" / "refdevice")])

TRAINING = """
import refdevice, sys, torch
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2)).to("refdev")
critic = torch.nn.Linear(2, 1).to("refdev")
first, second = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, critic))
scheduler = torch.optim.lr_scheduler.StepLR(first, 2)
for _ in range(int(sys.argv[1])):
    critic(model(torch.ones(4, 8, device="refdev"))).sum().backward()
    second.step()
    first.step()
    scheduler.step()
"""
INFERENCE = """
import torch
embed, model = torch.nn.Linear(8, 8), torch.nn.Sequential(torch.nn.Linear(8, 8))
with torch.no_grad():
    x = embed(torch.ones(4, 8))
    for _ in range(8):
        x = model(x)
"""
VALIDATED = """
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch.no_grad():
    for _ in range(9):
        model(torch.ones(8)).tanh()
for _ in range(4):
    for _ in range(2):
        model(torch.ones(8)).sum().backward()
    optimizer.step()
"""
NOTHING = "import torch\ntorch.ones(8).add(1)\n"


def run(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Record a program with ``arguments`` around ``@``, which stands for its file."""
    (folder / "program.py").write_text(textwrap.dedent(program))
    command = ["-m", "tb_privateuse1.capture"]
    command += [argument.replace("@", "program.py") for argument in arguments]
    clean = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE")}
    environment = clean | {"PYTHONPATH": PATHS}
    return warm_python.run(warm_python.TORCH, command, cwd=folder, env=environment, timeout=300)


def names(folder: Path) -> list[set[str]]:
    """The names of the events of each trace."""
    traces = sorted(folder.glob("log/*.pt.trace.json*"))
    return [{str(e.get("name")) for e in read(path)["traceEvents"]} for path in traces]


def test_training_is_recorded_by_the_steps_of_its_first_optimizer(tmp_path: Path) -> None:
    done = run(tmp_path, TRAINING, "--wait", "1", "--active", "2", "--gzip", "@", "6")
    assert done.returncode == 0, done.stderr
    (recorded,) = names(tmp_path)
    assert {name for name in recorded if name.startswith("ProfilerStep")} == {
        "ProfilerStep#2",
        "ProfilerStep#3",
    }
    assert "Optimizer.step#SGD.step" in recorded
    assert len(list(tmp_path.glob("log/*.kernel_event.json.gz"))) == 1


def test_a_validation_before_the_training_is_no_step(tmp_path: Path) -> None:
    done = run(tmp_path, VALIDATED, "--wait", "1", "--active", "2", "@")
    assert done.returncode == 0, done.stderr
    (recorded,) = names(tmp_path)
    assert "Optimizer.step#SGD.step" in recorded
    assert "aten::tanh" not in recorded


def test_inference_is_recorded_by_the_calls_of_its_model(tmp_path: Path) -> None:
    done = run(tmp_path, INFERENCE, "--wait", "1", "--active", "2", "@")
    assert done.returncode == 0, done.stderr
    (recorded,) = names(tmp_path)
    assert {"ProfilerStep#2", "ProfilerStep#3", "aten::linear"} < recorded


def test_a_program_without_steps(tmp_path: Path) -> None:
    done = run(tmp_path, NOTHING, "@")
    assert done.returncode == 0
    assert names(tmp_path) == []
    assert "nothing was recorded" in done.stderr
    done = run(tmp_path, NOTHING, "--steps-by", "none", "@")
    assert "nothing was recorded" not in done.stderr
    assert "aten::add" in names(tmp_path)[0]


def test_the_whole_program_on_a_backend_that_is_imported_first(tmp_path: Path) -> None:
    done = run(tmp_path, TRAINING, "--steps-by", "none", "--import", "refdevice", "@", "2")
    assert done.returncode == 0, done.stderr
    assert "Optimizer.step#SGD.step" in names(tmp_path)[0]
    assert len(list(tmp_path.glob("log/*.kernel_event.json"))) == 1


def test_too_few_steps_say_so(tmp_path: Path) -> None:
    done = run(tmp_path, TRAINING, "@", "2")
    assert "starts after 3 steps, and the program had 2 by calls of SGD" in done.stderr


@pytest.mark.parametrize(
    ("end", "code"), [("sys.exit(7)", 7), ("1 / 0", 1), ("sys.exit('no')", 1), ("os._exit(3)", 3)]
)
def test_the_exit_code_is_the_programs(tmp_path: Path, end: str, code: int) -> None:
    done = run(tmp_path, f"import os, sys, torch\ntorch.ones(2)\n{end}", "--steps-by", "none", "@")
    assert done.returncode == code
    assert ("ZeroDivisionError" in done.stderr) == (end == "1 / 0")
    assert len(names(tmp_path)) == (0 if "_exit" in end else 1)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, -signal.SIGINT)]
)
def test_a_signal_ends_the_program_and_saves_the_recording(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    program = f"""
    import os, time, torch
    torch.ones(8).add(1)
    os.kill(os.getpid(), {int(number)})
    time.sleep(60)
    """
    done = run(tmp_path, program, "--steps-by", "none", "@")
    assert done.returncode == code
    assert "aten::add" in names(tmp_path)[0]


@pytest.mark.parametrize("moment", ["before", "behind"])
def test_a_signal_while_a_step_begins_saves_the_steps_before_it(
    tmp_path: Path, moment: str
) -> None:
    """It comes where torch has not begun the range yet, or has not said so yet."""
    program = f"""
    import os
    from torch.autograd.profiler import record_function
    begin = record_function.__enter__

    def ended(own):
        if own.name == "ProfilerStep#4":
            os.kill(os.getpid(), {int(signal.SIGTERM)})

    def begun(own):
        "{moment}" == "before" and ended(own)
        begin(own)
        ended(own)
        return own

    record_function.__enter__ = begun
    """
    program = textwrap.dedent(program) + TRAINING
    done = run(tmp_path, program, "--wait", "1", "--active", "9", "@", "9")
    assert done.returncode == -signal.SIGTERM
    assert {"ProfilerStep#2", "ProfilerStep#3"} < names(tmp_path)[0], done.stderr


def test_the_program_sees_its_own_arguments_and_folder(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("VALUE = 5\n")
    program = """
    import beside, sys
    assert __name__ == "__main__" and beside.VALUE == 5
    print(sys.argv)
    """
    done = run(tmp_path, program, "--steps-by", "none", "@", "--wait", "a b")
    assert done.stdout.splitlines()[-1] == "['program.py', '--wait', 'a b']"
    done = run(tmp_path, program, "--steps-by", "none", "-m", "program", "x")
    assert done.stdout.strip().endswith("program.py', 'x']")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--active", "0", "@"), "--active must be 1 or more"),
        (("--wait", "-1", "@"), "'-1' is no number of steps"),
        (("--wait", "x", "@"), "'x' is no number of steps"),
        ((), "required: program"),
    ],
)
def test_wrong_options_are_named(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run(tmp_path, NOTHING, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
