"""Record runs of one program: ``python -m benchmarks.gate.record PROGRAM FOLDER PLAN``.

``PLAN`` is a list like ``base:0:5,3:0.03:3,loaded:0:3:1``: a folder's name, the slow-down, the
number of runs, and the number of other busy processes meanwhile. Each run is a process of its own.
Without busy ones it runs before others where the system allows that, and of several recordings it
leaves the one during which other programs used the processor least.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch.profiler

from benchmarks.gate.programs import Program, Step
from benchmarks.pairs.measure import go_first
from benchmarks.pairs.quiet import quietest

STEPS, WARM_UP = 16, 4

_SECONDS = 2.0
"""For a quiet recording."""


def main() -> None:
    """Record the runs of the plan."""
    name, folder, plan = sys.argv[1:]
    for entry in plan.split(","):
        label, slow, runs, busy = (*entry.split(":"), "0")[:4]
        with others(int(busy)):
            for run in range(int(runs)):
                out = Path(folder, f"{name}-{label}", f"run{run}")
                out.mkdir(parents=True, exist_ok=True)
                if not in_a_child(name, float(slow), out, int(busy) == 0):
                    raise SystemExit(f"{out} was not recorded")


@contextlib.contextmanager
def others(count: int) -> Iterator[None]:
    """Keep other processes busy meanwhile."""
    spawn = multiprocessing.get_context("fork")
    busy = [spawn.Process(target=spin, daemon=True) for _ in range(count)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch's threads are idle
        for process in busy:
            process.start()
    try:
        yield
    finally:
        for process in busy:
            process.terminate()
            process.join()


def spin() -> None:
    """Use a core."""
    while True:
        sum(range(100_000))


def in_a_child(name: str, slow: float, out: Path, is_first: bool) -> bool:
    """Record in a copy of this process, which has torch but no device yet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        os.setsid()
        if is_first:
            go_first()
        quietest_recording(name, slow, out, _SECONDS if is_first else 0.0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def quietest_recording(name: str, slow: float, out: Path, seconds: float) -> None:
    """Record a program until other programs were quiet, or time is over; leave the best one."""
    from benchmarks.gate.programs import PROGRAMS

    program = PROGRAMS[name]
    if program.device != "cpu":
        import refdevice

        refdevice.configure(**program.settings)
        if program.is_measured:
            refdevice.register_kineto()
    torch.manual_seed(0)
    step = program.build(slow)
    for _ in range(WARM_UP):
        step()

    def measure(number: int) -> Path:
        folder = out / str(number)
        record(program, step, folder)
        return folder

    (best,), _ = quietest(measure, 1, seconds)
    for file in best.iterdir():
        file.rename(out / file.name)
    for folder in out.iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)


def record(program: Program, step: Step, out: Path) -> None:
    """Record one window of a program."""
    from tb_privateuse1 import capture

    activities = [torch.profiler.ProfilerActivity.CPU]
    if program.device != "cpu":
        activities.append(torch.profiler.ProfilerActivity.PrivateUse1)
    ours = program.device != "cpu" and not program.is_measured
    profiler = capture if ours else torch.profiler
    with profiler.profile(
        activities=activities,
        schedule=torch.profiler.schedule(wait=0, warmup=2, active=STEPS, repeat=1),
        on_trace_ready=capture.tensorboard_trace_handler(str(out), use_gzip=True),
        record_shapes=True,
        profile_memory=True,
    ) as profile:
        for _ in range(2 + STEPS):
            step()
            if program.device != "cpu":
                torch.accelerator.synchronize()
            profile.step()


if __name__ == "__main__":
    main()
