"""``try`` on the command line: programs that can be run, errors, and what a trial says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1 import cli
from tb_privateuse1.cli import ending, trial_report, trial_runs
from tb_privateuse1.cli.commands import UsageError
from tb_privateuse1.cli.trial_runs import RemedyText, RunReport


def report(step_ns: int, **other: Any) -> RunReport:
    """Return a run of four steps that takes about so long for each."""
    values: dict[str, Any] = {
        "remedy": RemedyText(
            "does it", "what it is for", 1e-3, is_wider=False, keeps_backward=True
        ),
        "warmup": 3,
        "steps": 7,
        "clock": "SGD",
        "device": "cpu",
        "applied": {"SGD with fused=True": 1},
        "calls_backward": True,
        "wall_ns": [step_ns, step_ns + 1, step_ns - 1, step_ns],
        "cpu_ns": [step_ns] * 4,
        "losses": [1.0, 0.9, 0.8, 0.7],
        "outputs": None,
    }
    return RunReport(**{**values, **other})


def judged(now: list[RunReport]) -> trial_report.Trial:
    """Return the trial of these runs against runs of 1 ms a step."""
    base = [report(1_000_000 + run, applied={}) for run in range(len(now))]
    found: Any = {"as it is": base, "with the remedy": now}
    return trial_report.trial("optimizer_loop", "fused_optimizer", found, "wall", "mean", None)


def test_a_gain() -> None:
    trial = judged([report(900_000), report(900_002)])
    text = trial_report.text(trial)
    assert (trial.verdict, trial_report.exit_code(trial)) == ("faster", 0)
    assert "1.000 ms a step, 900.001 µs with it: 10.0 % ± 0.0 (the verdict's)" in text
    assert "equal: losses differ by 0 % at most" in text


def test_no_gain() -> None:
    trial = judged([report(1_000_000), report(1_000_001)])
    assert (trial.verdict, trial_report.exit_code(trial)) == ("within_noise", 1)


def test_a_gain_with_another_loss_is_none() -> None:
    trial = judged([report(900_000, losses=[1.0, 0.9, 0.8, 0.6])] * 2)
    assert (trial.verdict, trial_report.exit_code(trial)) == ("results_differ", 1)
    assert "not equal: losses differ by 12 % at most" in trial_report.text(trial)


def test_outputs_stand_for_losses() -> None:
    trial = judged([report(900_000, losses=None)] * 2)
    assert trial.results is not None
    assert (trial.results.verdict, trial.results.of) == ("unknown", None)
    assert "nobody knows whether they are equal" in trial_report.text(trial)


def test_nothing_to_apply() -> None:
    trial = judged([report(500_000, applied={})])
    assert (trial.verdict, trial.wall, trial_report.exit_code(trial)) == ("not_applied", None, 1)
    assert "nothing that it changes. It is for what it is for. No gain is claimed." in (
        trial_report.text(trial)
    )


def test_a_program_with_backward_has_no_inference_mode() -> None:
    about = RemedyText("does it", "inference", 1e-3, is_wider=False, keeps_backward=False)
    found: Any = {"as it is": [report(1000, remedy=about)], "with the remedy": []}
    trial = trial_report.trial("x", "inference_mode", found, "wall", "mean", None)
    assert trial.verdict == "not_applied"
    assert "the program calls backward()" in trial_report.text(trial)


@pytest.mark.parametrize(
    ("words", "interpreter", "options", "rest"),
    [
        (["python", "a.py", "-x"], "python", (), ("a.py", "-x")),
        (["/usr/bin/python3.12", "-u", "-X", "dev", "a.py"], "/usr/bin/python3.12",
         ("-u", "-X", "dev"), ("a.py",)),
        (["python3", "-m", "train", "--lr", "1"], "python3", (), ("-m", "train", "--lr", "1")),
        (["a.py", "-m"], sys.executable, (), ("a.py", "-m")),
    ],
)  # fmt: skip
def test_programs_that_can_be_run(
    words: list[str], interpreter: str, options: tuple[str, ...], rest: tuple[str, ...]
) -> None:
    assert trial_runs.parse_program(words) == trial_runs.Program(interpreter, options, rest)


@pytest.mark.parametrize("words", [[], ["torchrun", "a.py"], ["python"], ["python", "-c", "1"]])
def test_programs_that_cannot_be_run(words: list[str]) -> None:
    with pytest.raises(UsageError):
        trial_runs.parse_program(words)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["optimizer_loop"], "behind --"),
        (["optimizer_loop", "--", "bash", "a.sh"], "python FILE or python -m MODULE, not bash"),
        (["nothing", "--", "a.py"], "there is no finding nothing. These have a remedy: data_load"),
        (["item_sync", "--", "a.py"], "no remedy of item_sync is mechanical"),
        (["optimizer_loop", "--runs", "1", "--", "a.py"], "--runs must be 2 or more"),
    ],
)
def test_what_cannot_be_tried(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["try", *arguments]) == 2
    assert says in capsys.readouterr().err


def interpreter(folder: Path, body: str) -> str:
    """Write a stand-in for Python that does not import torch; ``arguments`` are those of a run."""
    file = folder / "python3"
    file.write_text(
        f"#!{sys.executable}\nimport json, os, signal, sys\narguments = sys.argv\n"
        "path = arguments[arguments.index('--report') + 1]\n"
        f"report = json.loads({json.dumps(as_json(report(1_000_000)))!r})\n{body}\n"
        "open(path, 'w').write(json.dumps(report))\n"
    )
    file.chmod(0o755)
    return str(file)


def as_json(value: RunReport) -> dict[str, Any]:
    """Return what a run writes."""
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(value)
    return found


def test_runs_take_turns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "report['wall_ns'] = [1000000 if '--as-it-is' in arguments else 900000] * 4"
    python = interpreter(tmp_path, body)
    command = ["try", "optimizer_loop", "--runs", "2", "--json", "--", python, "a.py"]
    assert cli.main(command) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["wall"]["gain"] == pytest.approx(0.1)
    assert [line.partition(", ")[2] for line in err.splitlines()] == [
        "as it is", "with the remedy", "with the remedy", "as it is",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("sys.exit('no data')", "the program as it is failed with exit code 1: no data"),
        (
            "report.update(wall_ns=[], clock=None, steps=0)",
            "no steps were found, and a run needs 23",
        ),
        (
            "report.update(wall_ns=[], steps=9)",
            "the program had 9 steps by SGD, and a run needs 23",
        ),
        ("report.update(wall_ns=[], steps=9)", "Give --steps 6 or less"),
    ],
)
def test_programs_that_fail_or_are_too_short(
    tmp_path: Path, body: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["try", "optimizer_loop", "--", interpreter(tmp_path, body), "a.py"]
    assert cli.main(command) == 2
    assert says in capsys.readouterr().err


def test_a_remedy_without_effect_ends_the_trial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = interpreter(tmp_path, "report['applied'] = {}")
    assert cli.main(["try", "optimizer_loop", "--", python, "a.py"]) == 1
    out, err = capsys.readouterr()
    assert "No gain is claimed" in out
    assert len(err.splitlines()) == 2


def test_an_interrupt_ends_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run interrupts the command that waits for it, and would go on forever."""
    pid = tmp_path / "pid"
    body = (
        f"open({str(pid)!r}, 'w').write(str(os.getpid()))\n"
        "os.kill(os.getppid(), signal.SIGINT)\nsignal.pause()"
    )
    command = ["try", "optimizer_loop", "--", interpreter(tmp_path, body), "a.py"]
    assert cli.main(command) == 130
    assert "interrupted" in capsys.readouterr().err
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_ends_the_command_and_its_run(name: str, tmp_path: Path) -> None:
    """The run ends the command that waits for it, and would go on forever."""
    pid, number = tmp_path / "pid", signal.Signals[name]
    body = (
        f"open({str(pid)!r}, 'w').write(str(os.getpid()))\n"
        f"os.kill(os.getppid(), signal.{name})\nsignal.pause()"
    )
    command = ["try", "optimizer_loop", "--", interpreter(tmp_path, body), "a.py"]
    code = f"import sys\nfrom tb_privateuse1 import cli\nsys.exit(cli.main({command!r}))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    run = int(pid.read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(run, signal.SIGKILL)
    assert ended.returncode == 128 + number


def test_a_signal_waits_until_there_is_a_run_to_end() -> None:
    with ending.by_signals() as signals:
        os.kill(os.getpid(), signal.SIGTERM)  # nothing is raised yet
        with pytest.raises(SystemExit) as raised:
            signals.allow()
    assert raised.value.code == 128 + signal.SIGTERM


def test_handlers_of_signals_are_as_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with ending.by_signals():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
