"""Run a program in processes of its own, with a remedy and as it is, in turn."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from tb_privateuse1.cli import ending
from tb_privateuse1.cli.commands import UsageError

Arm = Literal["as it is", "with the remedy"]
_TURN: tuple[Arm, ...] = ("as it is", "with the remedy", "with the remedy", "as it is")
"""A drift of the machine costs both arms the same in this order."""

_LAST_LINES = 5
"""Of what a program that failed wrote to stderr: the exception and where it was raised."""
_GRACE_S = 5.0
"""How long a process may take to end when the user interrupts."""


class RemedyText(Struct, frozen=True):
    """The texts and limits of a remedy (``remedies/remedy.py``)."""

    what: str
    applies_to: str
    tolerance: float
    is_wider: bool
    keeps_backward: bool


class RunReport(Struct, frozen=True):
    """The report of a run (``python -m tb_privateuse1.cli.remedies``)."""

    remedy: RemedyText
    warmup: int
    """The steps that were not measured: as many as asked for, or as the remedy needs."""

    steps: int
    clock: str | None
    device: str
    applied: dict[str, int]
    calls_backward: bool
    wall_ns: list[int]
    """By measured step; empty if the program ended before the window did."""
    cpu_ns: list[int]
    losses: list[float] | None
    outputs: list[float] | None


_REPORT = msgspec.json.Decoder(RunReport)


class Program(Struct, frozen=True):
    """A program of Python's, as the command line names it."""

    interpreter: str
    options: tuple[str, ...]
    words: tuple[str, ...]
    """What follows: the file with its arguments, or ``-m``, the module and its arguments."""


class Window(Struct, frozen=True):
    """How each run is measured."""

    warmup: int
    steps: int
    steps_by: str
    seed: int
    imports: tuple[str, ...]


def parse_program(words: Sequence[str]) -> Program:
    """Read ``python train.py …``, ``python -m train …`` or ``train.py …``.

    Raises UsageError for what starts processes that cannot be seen from here, such as torchrun.
    """
    if not words:
        raise UsageError("try needs the program behind --, such as: -- python train.py")
    if words[0].endswith(".py"):
        return Program(sys.executable, (), tuple(words))
    if not re.fullmatch(r"python[\d.]*", Path(words[0]).name):
        raise UsageError(
            f"try runs python FILE or python -m MODULE, not {words[0]}: it cannot see the steps of "
            "processes that another program starts"
        )
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        at += 2 if words[at] in ("-X", "-W") else 1
    if at >= len(words) or "-c" in words[1:at]:
        raise UsageError("try needs a file or a module behind python")
    return Program(words[0], tuple(words[1:at]), tuple(words[at:]))


def run_all(
    program: Program,
    remedy: str,
    window: Window,
    runs: int,
    began: Callable[[int, int, Arm], None],
    check: Callable[[Arm, RunReport], bool],
) -> dict[Arm, list[RunReport]]:
    """Run each arm ``runs`` times, in turn; ``began`` hears of each run.

    It ends early if ``check`` refuses a report. Raises UsageError if the program fails.
    """
    found: dict[Arm, list[RunReport]] = {"as it is": [], "with the remedy": []}
    arms = [_TURN[index % len(_TURN)] for index in range(2 * runs)]
    with tempfile.TemporaryDirectory(prefix="tb-privateuse1-try-") as folder:
        for index, arm in enumerate(arms):
            began(index + 1, len(arms), arm)
            report = _run(program, remedy, window, Path(folder), arm)
            found[arm].append(report)
            if not check(arm, report):
                break
    return found


def _run(program: Program, remedy: str, window: Window, folder: Path, arm: Arm) -> RunReport:
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    command = [program.interpreter, *program.options, "-m", "tb_privateuse1.cli.remedies"]
    command += ["--report", str(report), "--warmup", str(window.warmup)]
    command += ["--steps", str(window.steps), "--steps-by", window.steps_by]
    command += ["--seed", str(window.seed)]
    command += ["--remedy", remedy, *(["--as-it-is"] if arm == "as it is" else [])]
    command += [word for name in window.imports for word in ("--import", name)]
    log = folder / "stderr"
    with log.open("wb") as stderr:
        code = _wait([*command, *program.words], stderr.fileno())
    if code or not report.exists():
        lines = log.read_text(errors="replace").strip().splitlines()[-_LAST_LINES:]
        why = " | ".join(line.strip() for line in lines) or "it wrote nothing to stderr"
        raise UsageError(f"the program {arm} failed with exit code {code}: {why}")
    return _REPORT.decode(report.read_bytes())


def _wait(command: Sequence[str], stderr: int) -> int:
    """Run a command to its end; what it started ends with it, by a signal as well."""
    env = {**os.environ, "PYTHONHASHSEED": "0"}
    with ending.by_signals() as signals:
        try:
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=stderr, env=env, start_new_session=True
            )
        except OSError as error:
            raise UsageError(f"{command[0]} cannot be run: {error.strerror}") from error
        with _group(process):
            signals.allow()
            return process.wait()


@contextlib.contextmanager
def _group(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the process and all that it started, such as workers of its data loader."""
    try:
        yield
    except BaseException:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
        raise
    finally:
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
