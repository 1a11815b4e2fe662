"""Scripts that train and record on the reference device, in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

from tests.support import warm_python

ROOT = Path(__file__).parents[2]

PRELUDE = """
import json, threading, warnings
import refdevice, torch
from torch.profiler import ProfilerActivity as A, schedule
from tb_privateuse1 import capture
from tb_privateuse1.capture.calibration import calibration

warnings.filterwarnings("ignore", "Warning: Profiler clears events")

def train(steps=8, make=capture.profile, **options):
    options.setdefault("schedule", schedule(wait=1, warmup=1, active=2, repeat=2))
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 8))
    model = model.to("refdev")
    batch = torch.randn(16, 64).to("refdev")
    with make(**options) as prof:
        for _ in range(steps):
            model.zero_grad()
            model(batch).pow(2).sum().backward()
            prof.step()
    return prof

def codes(prof):
    return [*prof.notes.found, *prof._cycle.found]

def log(name, **options):
    return capture.tensorboard_trace_handler(name, **options)

answer = {}
"""


class Done(NamedTuple):
    """What a script on the device left behind."""

    directory: Path
    answer: dict[str, Any]
    stderr: str

    def traces(self, run: str) -> list[Path]:
        return sorted((self.directory / run).glob("*.pt.trace.json*"))

    def sidecars(self, run: str) -> list[Path]:
        return sorted((self.directory / run).glob("*.kernel_event.json*"))


def device(directory: Path, script: str, **environment: str) -> Done:
    """Run ``script`` with the device; it fills ``answer`` and writes runs into ``directory``."""
    code = PRELUDE + textwrap.dedent(script) + "\nprint(json.dumps(answer))\n"
    done = run_python(directory, "-c", code, **environment)
    return Done(directory, json.loads(done.stdout.splitlines()[-1]), done.stderr)


def record_program(directory: Path, program: str, *options: str, **environment: str) -> None:
    """Record a program with ``python -m tb_privateuse1.capture``; it must end well."""
    (directory / "program.py").write_text(program)
    run_python(directory, "-m", "tb_privateuse1.capture", *options, "program.py", **environment)


def run_python(
    directory: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Python with the device and our package in reach; it must end well."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "examples" / "refdevice")])
    clean = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE")}
    done = warm_python.run(
        warm_python.TORCH,
        arguments,
        cwd=directory,
        env=clean | {"PYTHONPATH": path} | environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done
