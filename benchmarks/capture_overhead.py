"""What recording costs: torch's own profiler and ours, beside the program alone.

    PYTHONPATH=.:examples/refdevice python -m benchmarks.capture_overhead [--repeat 9] [--case NAME]

A training loop on the CPU and on the reference device is recorded without a profiler, with torch's
and with ours, in turns in one process and with the same arguments. In the event route torch's own
``torch.profiler.profile`` records the host alone; ``torch, events`` is its older
``torch.autograd.profiler.profile``, which records the same events and writes none of their times.
``ours, elapsed`` is ours with a backend that has no ``event_times()``.

``step``: processor time of the process for a recorded step; ``total``: for all from the
construction of the profiler until its results are let go, so with start, stop, export and sidecar.
The first turn is left out: it also calibrates, once in a process. Ratios are those of each turn:
median and quartiles. The threads of the reference device are left out: they stand for hardware, and
wait by spinning.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

WARMUP, ACTIVE = 1, 8
ELAPSED = "ours, elapsed"
BY = ("none", "torch", "torch, events", ELAPSED, "ours")


@dataclass(frozen=True)
class Case:
    """A training loop on a device, and what is recorded of it."""

    name: str
    device: str
    width: int
    layers: int
    batch: int
    options: dict[str, bool]


SMALL, LARGE = (32, 60, 8), (512, 8, 128)
SHAPES = {"record_shapes": True}
STACKS = {"record_shapes": True, "with_stack": True}
MEMORY = {"profile_memory": True}
CASES = (
    Case("cpu, large", "cpu", *LARGE, {}),
    Case("cpu, small", "cpu", *SMALL, {}),
    Case("cpu, small, shapes", "cpu", *SMALL, SHAPES),
    Case("cpu, small, stacks", "cpu", *SMALL, STACKS),
    Case("events, large", "refdev", *LARGE, MEMORY),
    Case("events, small", "refdev", *SMALL, MEMORY),
    Case("events, small, shapes", "refdev", *SMALL, {**SHAPES, **MEMORY}),
    Case("events, small, stacks", "refdev", *SMALL, {**STACKS, **MEMORY}),
)


class Clock:
    """The processor time of this process without that of its simulated devices."""

    def __init__(self, device: str) -> None:
        self._devices: list[int] = []
        if device == "cpu":
            return
        before = set(os.listdir("/proc/self/task"))
        import refdevice
        import torch

        refdevice.configure(speed=100.0)
        torch.ones(8, device=device).cpu()
        made = set(os.listdir("/proc/self/task")) - before
        # A thread's clock by its number, as pthread_getcpuclockid() makes it (Linux).
        self._devices = [(~int(thread) << 3) | 6 for thread in made]

    def seconds(self) -> float:
        """Return the seconds so far."""
        return time.process_time() - sum(map(time.clock_gettime, self._devices))


def training(case: Case) -> Callable[[], None]:
    """Return a step of training that leaves nothing behind it on the device."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    layer = lambda: (torch.nn.Linear(case.width, case.width), torch.nn.ReLU())  # noqa: E731
    model = torch.nn.Sequential(*(part for _ in range(case.layers) for part in layer()))
    model = model.to(case.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    batch = torch.randn(case.batch, case.width).to(case.device)

    def step() -> None:
        optimizer.zero_grad()
        model(batch).pow(2).mean().backward()
        optimizer.step()
        if case.device != "cpu":
            torch.accelerator.synchronize()

    return step


class EventProfiler:
    """Torch's own profiler by events, with a schedule."""

    def __init__(self, case: Case, folder: str) -> None:
        import torch

        device = None if case.device == "cpu" else case.device
        options: Any = {"use_device": device, "use_kineto": device is None, **case.options}
        self._inner = torch.autograd.profiler.profile(**options)
        self._folder = folder
        self._left = WARMUP + ACTIVE

    def start(self) -> None:
        """Do nothing: the first step is not recorded."""

    def step(self) -> None:
        """Start behind the first step, write behind the last."""
        if self._left == WARMUP + ACTIVE:
            self._inner.__enter__()
        self._left -= 1
        if self._left == 0:
            self._inner.__exit__(None, None, None)
            self._inner.export_chrome_trace(f"{self._folder}/x.pt.trace.json")

    def stop(self) -> None:
        """Do nothing: the last step has ended it."""


def profiler(by: str, case: Case, folder: str) -> Any:
    """Return a profiler that writes its trace into a folder; None for the program alone."""
    import torch

    from tb_privateuse1 import capture

    if by == "none":
        return None
    if by == "torch, events":
        return EventProfiler(case, folder)
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if case.device != "cpu":
        kinds.append(torch.profiler.ProfilerActivity.PrivateUse1)
    made: Any = capture if by in ("ours", ELAPSED) else torch.profiler
    return made.profile(
        activities=kinds,
        schedule=torch.profiler.schedule(wait=0, warmup=WARMUP, active=ACTIVE, repeat=1),
        on_trace_ready=made.tensorboard_trace_handler(folder),
        **case.options,
    )


def turn(by: str, case: Case, step: Callable[[], None], clock: Clock) -> dict[str, float]:
    """Return the milliseconds of a recorded step and of all."""
    if by == ELAPSED and case.device != "cpu":
        with without_event_times():
            return turn("ours", case, step, clock)
    folder = tempfile.mkdtemp()
    began = clock.seconds()
    prof = profiler(by, case, folder)
    if prof is not None:
        prof.start()
    steps = []
    for number in range(WARMUP + ACTIVE):
        before = clock.seconds()
        step()
        if number >= WARMUP:
            steps.append(clock.seconds() - before)
        if prof is not None:
            prof.step()
    if prof is not None:
        prof.stop()
        del prof
        gc.collect()  # it refers to itself
    total = clock.seconds() - began
    shutil.rmtree(folder)
    return {"step": 1e3 * statistics.median(steps), "total": 1e3 * total}


@contextmanager
def without_event_times() -> Iterator[None]:
    """Let the backend not report when the device executed its events."""
    import torch

    module = torch.refdev  # type: ignore[attr-defined]
    function = module.event_times
    del module.event_times
    try:
        yield
    finally:
        module.event_times = function


def turns(case: Case, repeat: int) -> list[dict[str, dict[str, float]]]:
    """Return what each turn took, by profiler; each begins with another one."""
    clock = Clock(case.device)
    step = training(case)
    gc.collect()
    gc.freeze()  # so that collecting costs what the recording left
    found = []
    for number in range(repeat + 1):
        order = BY[number % len(BY) :] + BY[: number % len(BY)]
        found.append({by: turn(by, case, step, clock) for by in order})
    return found[1:]


def rows(case: Case, found: list[dict[str, dict[str, float]]]) -> Iterator[str]:
    """Return the rows of the table."""
    for what in ("step", "total"):
        times = {by: statistics.median(one[by][what] for one in found) for by in BY}
        cells = [case.name, what, *(f"{times[by]:.1f}" for by in BY)]
        for to in BY[1:-1]:
            ratios = [one["ours"][what] / one[to][what] for one in found]
            low, middle, high = statistics.quantiles(ratios, n=4)
            cells.append(f"{middle:.2f} ({low:.2f} to {high:.2f})")
        yield f"| {' | '.join(cells)} |"


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Kineto's notes off the terminal."""
    out = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(out, 2)


def main() -> None:
    """Measure the cases, each in a process of its own, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--case", action="append", help="one of the cases; may be repeated")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        (case,) = (one for one in CASES if one.name == options.child)
        with quiet():
            found = turns(case, options.repeat)
        print(json.dumps(found))
        return
    heads = ["case", "what", "alone, ms", *(f"{by}, ms" for by in BY[1:])]
    heads += [f"ours to {by}" for by in BY[1:-1]]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for case in CASES:
        if options.case and case.name not in options.case:
            continue
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.capture_overhead"]
        command += ["--child", case.name, "--repeat", str(options.repeat)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        for row in rows(case, json.loads(done.stdout.splitlines()[-1])):
            print(row, flush=True)


if __name__ == "__main__":
    main()
