"""Run a circumstance with our profiler or with torch's, and see what came of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.support import warm_python
from tests.support.on_device import ROOT

CODE = re.compile(r"CaptureWarning: \[([a-z-]+)\]")
LIMIT_S = 120
"""A program that takes longer hangs."""

COMMON = """
import os, shutil, signal, sys, threading, time
import torch
from torch.profiler import ProfilerActivity as A, schedule

def in_thread(call, *arguments):
    thread = threading.Thread(target=call, args=arguments)
    thread.start()
    thread.join()

def code_of(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""
DEVICE = """
import refdevice

def work():
    (torch.ones(8, device="refdev") + 1).sum().item()
"""
HOST = """
def work():
    (torch.ones(8) + 1).sum().item()
"""
OURS = """
from tb_privateuse1 import capture
profile, handler = capture.profile, capture.tensorboard_trace_handler
"""
TORCH = """
def profile(**options):
    options.setdefault("activities", {activities})
    return torch.profiler.profile(**options)

handler = torch.profiler.tensorboard_trace_handler
"""


BUSY = {"kind-doubtful"}
"""What a calibration on a busy machine adds; it has tests of its own."""


@dataclass(frozen=True)
class Circumstance:
    """A program, and what is expected of it with our profiler.

    ``torch`` is the exit code with torch's own profiler if it is another one: a negative one is
    a crash, which need not come each time. Without ``device``, only the host is recorded.
    ``traces`` counts those that ours wrote; each has a sidecar if there is a device.
    """

    name: str
    program: str
    code: int = 0
    traces: int = 1
    warnings: tuple[str, ...] = ()
    torch: int | None = None
    device: bool = True
    own_process: bool = False
    """Run by Python itself, because other processes import the program."""


@dataclass(frozen=True)
class Outcome:
    """What became of a program; ``code`` is None if it had to be ended."""

    code: int | None
    traces: int
    sidecars: int
    warnings: tuple[str, ...]
    output: str


def source(circumstance: Circumstance, variant: str) -> str:
    """Return the whole program for ``torch`` or for ours."""
    activities = "[A.CPU, A.PrivateUse1]" if circumstance.device else "[A.CPU]"
    parts = [COMMON, DEVICE if circumstance.device else HOST]
    parts.append(TORCH.format(activities=activities) if variant == "torch" else OURS)
    return "".join(parts) + textwrap.dedent(circumstance.program)


class Runner:
    """Run programs with ``torch``, ``new`` (this checkout) and other checkouts."""

    def __init__(self, checkouts: dict[str, Path] | None = None) -> None:
        self._checkouts = {"torch": ROOT, "new": ROOT} | (checkouts or {})

    def run(self, circumstance: Circumstance, variant: str, folder: Path) -> Outcome:
        """Run a circumstance in ``folder``, which is empty."""
        program = source(circumstance, variant)
        start = self._alone if circumstance.own_process else self._forked
        with (folder / "output").open("wb") as output:
            process = start(program, variant, folder, output)
            try:
                code = process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = None
        text = (folder / "output").read_text(errors="replace")
        files = [path.name for path in folder.rglob("*") if path.is_file()]
        return Outcome(
            code,
            sum(".pt.trace.json" in name for name in files),
            sum(".kernel_event.json" in name for name in files),
            tuple(sorted(set(CODE.findall(text)) - BUSY)),
            text,
        )

    def _forked(
        self, program: str, variant: str, folder: Path, output: IO[bytes]
    ) -> warm_python.WarmProcess:
        return warm_python.start(
            warm_python.TORCH,
            ["-c", program],
            stdout=output,
            stderr=output,
            cwd=folder,
            env=self._environment(variant),
        )

    def _alone(
        self, program: str, variant: str, folder: Path, output: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        (folder / "program.py").write_text(program)
        return subprocess.Popen(
            [sys.executable, "program.py"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env=self._environment(variant),
            start_new_session=True,
        )

    def _environment(self, variant: str) -> dict[str, str]:
        path = os.pathsep.join(
            [str(self._checkouts[variant]), str(ROOT / "examples" / "refdevice")]
        )
        clean = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
        return clean | {"PYTHONPATH": path}
