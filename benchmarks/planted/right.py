"""Record right programs, each as people record theirs, and list what the advice says of them.

``python -m benchmarks.planted.right record FOLDER`` and ``table FOLDER``. A finding with a share
above ``SILENT`` accuses the program, unless following it gains.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks.pairs.measure import go_first, separate_cores
from benchmarks.pairs.pair import Step
from benchmarks.pairs.prediction import load
from benchmarks.pairs.record import ROOT, trace_in
from benchmarks.planted.fault import DEVICE_SPEED, Device
from benchmarks.planted.table import loud, named
from tb_privateuse1.advice.engine import advise

MODULES = (
    "right_on_host",
    "right_in_rounds",
    "right_on_device",
    "right_later",
    "right_last",
    "right_unlike",
    "right_against_new",
    "unseen_one_right",
    "unseen_two_right",
    "right_by_experts",
    "right_against_common",
    "right_with_states",
    "right_against_common_on_device",
)
STEPS = 4
"""Recorded steps."""

_WARM_STEPS = 4


class Recording(Struct, frozen=True):
    """How a program is recorded."""

    steps: bool = True
    """With ``ProfilerStep``, by a schedule."""
    stacks: bool = False
    shapes: bool = False
    events: bool = False
    """Device times by events around operators, as our capture has them."""


FULL = Recording(stacks=True, shapes=True)
STACKS = Recording(stacks=True)
SHAPES = Recording(steps=False, shapes=True)
BARE = Recording(steps=False)
BY_EVENTS = Recording(stacks=True, shapes=True, events=True)


class RightProgram(Struct, frozen=True):
    """A program that wastes nothing, so far as its author knows."""

    name: str
    what: str
    device: Device
    build: Callable[[], Step]
    recording: Recording


def programs() -> dict[str, RightProgram]:
    """Return all programs by name. The modules need torch and the reference device."""
    found = (importlib.import_module(f"benchmarks.planted.{module}") for module in MODULES)
    return {program.name: program for module in found for program in module.PROGRAMS}


def record(program: RightProgram, folder: Path) -> None:
    """Write a trace of ``STEPS`` steps of a program into a folder."""
    go_first()
    torch = importlib.import_module("torch")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if program.device != "cpu":
        importlib.import_module("refdevice").configure(**DEVICE_SPEED)
        separate_cores()
    step = program.build()
    for _ in range(_WARM_STEPS):
        step()
    wanted = program.recording
    profiler = profiler_of(program)
    handler = profiler.tensorboard_trace_handler(str(folder), worker_name="right", use_gzip=True)
    activities = [torch.profiler.ProfilerActivity.CPU]
    if program.device != "cpu":
        torch.accelerator.synchronize()
        activities.append(torch.profiler.ProfilerActivity.PrivateUse1)
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=STEPS, repeat=1)
    with profiler.profile(
        activities=activities, on_trace_ready=handler, with_stack=wanted.stacks,
        record_shapes=wanted.shapes, schedule=schedule if wanted.steps else None,
    ) as recorder:  # fmt: skip
        for _ in range(1 + STEPS):
            step()
            if wanted.steps:
                recorder.step()
        if program.device != "cpu":
            torch.accelerator.synchronize()


def profiler_of(program: RightProgram) -> Any:
    """Return the module to profile with: ours where device times are inferred."""
    if program.recording.events:
        return importlib.import_module("tb_privateuse1.capture")
    if program.device != "cpu":
        importlib.import_module("refdevice").register_kineto()
    return importlib.import_module("torch.profiler")


def record_all(folder: Path, only: str) -> None:
    """Record programs, each in a process of its own."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "examples" / "refdevice")])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    for name in programs():
        if only in name:
            command = [sys.executable, "-W", "ignore", "-m", __spec__.name]
            subprocess.run(
                [*command, "one", str(folder / name), "--only", name],
                cwd=ROOT, env=environment, check=False, start_new_session=True,
            )  # fmt: skip


def report(folder: Path) -> str:
    """Return what is said of each program, in Markdown."""
    found = ["| program | device | said, above 3 % |", "|---|---|---|"]
    for name, program in programs().items():
        if (folder / name).is_dir():
            said = named(loud(advise(load(trace_in(folder / name)))))
            found.append(f"| `{name}`: {program.what} | {program.device} | {said} |")
    return "\n".join(found)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["record", "one", "table"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="programs with this in their name")
    options = parser.parse_args()
    sys.path.append(str(ROOT / "examples" / "refdevice"))
    if options.command == "table":
        print(report(options.folder))
    elif options.command == "record":
        record_all(options.folder, options.only)
    else:
        record(programs()[options.only], options.folder)


if __name__ == "__main__":
    main()
