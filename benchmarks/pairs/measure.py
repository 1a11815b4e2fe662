"""Time and record one pair: ``python -m benchmarks.pairs.measure MODULE NAME FOLDER``.

Both forms run in this process in turns (A B A B …): other programs on the machine slow both.
Prints the times as JSON. The traces are in ``FOLDER/before-0``, ``after-0``, ``before-1`` …
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import os
import time
from pathlib import Path
from types import ModuleType

import torch
from torch.profiler import ProfilerActivity, schedule

from benchmarks.pairs.pair import Forms, Pair, Step
from benchmarks.pairs.quiet import quietest

Times = dict[str, list[float] | float]
"""Step times ``before`` and ``after``, ns, and the cores that ``others`` used meanwhile."""

FORMS = ("before", "after")
STEPS = 4
"""Recorded steps."""

_SERIES_NS = 40_000_000
_FEWEST = 4
"""Steps of a series."""

_SECONDS = 7.0
"""To find quiet rounds, and quiet recordings."""

_STREAMS = 4
"""Of the reference device's pool."""

_PRIORITY = -15
"""Of the system's scheduler, where it allows that: other programs hold a step up less often."""


def pair_named(module: str, name: str) -> Pair:
    """Return a pair of a module of programs. Importing the module may load the reference device."""
    for pair in importlib.import_module(module).PAIRS:
        if isinstance(pair, Pair) and pair.name == name:
            return pair
    raise SystemExit(f"{module} has no pair {name!r}")


def wait(pair: Pair) -> None:
    """Wait for the device."""
    if pair.device != "cpu":
        torch.accelerator.synchronize()


def series(pair: Pair, step: Step, enter: Step | None, count: int) -> float:
    """Return the time of a step, ns: of ``count`` steps in a row, the device's end included."""
    if enter is not None:
        enter()
    for _ in range(pair.warm_steps):
        step()
    wait(pair)
    clock = time.process_time_ns if pair.of_process else time.perf_counter_ns
    begin = clock()
    for _ in range(count):
        step()
    wait(pair)
    return (clock() - begin) / count


def in_turns(pair: Pair, steps: tuple[Step, Step], forms: Forms, rounds: int) -> Times:
    """Return the step times of both forms, of the quietest rounds."""
    enter = forms.enter or (None, None)
    counts = []
    for step, setting in zip(steps, enter, strict=True):
        once = min(series(pair, step, setting, 2) for _ in range(3))
        counts.append(max(round(_SERIES_NS / once), _FEWEST))

    def one_round(number: int) -> list[float]:
        order = (0, 1) if number % 2 == 0 else (1, 0)
        times = {form: series(pair, steps[form], enter[form], counts[form]) for form in order}
        return [times[0], times[1]]

    found, others = quietest(one_round, rounds, _SECONDS)
    return {
        "before": [one[0] for one in found],
        "after": [one[1] for one in found],
        "others": others,
    }


def profiler_of(pair: Pair) -> ModuleType:
    """Return the module to profile with: ours where device times are inferred."""
    if pair.route == "inferred":
        return importlib.import_module("tb_privateuse1.capture")
    if pair.device != "cpu":
        importlib.import_module("refdevice").register_kineto()
    return torch.profiler


def record(pair: Pair, step: Step, out: Path, *, stacks: bool) -> None:
    """Write a trace of ``STEPS`` steps into a folder."""
    profiler = profiler_of(pair)
    activities = [ProfilerActivity.CPU]
    if pair.device != "cpu":
        activities.append(ProfilerActivity.PrivateUse1)
    for _ in range(pair.warm_steps):
        step()
    with profiler.profile(
        activities=activities,
        schedule=schedule(wait=0, warmup=1, active=STEPS, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(
            str(out), worker_name="pair", use_gzip=True
        ),
        with_stack=stacks,
        record_shapes=pair.data,
        profile_memory=pair.data,
    ) as recording:
        for number in range(1 + STEPS):
            step()
            if number in (0, STEPS):  # nothing unrecorded delays the first, all of the last is here
                wait(pair)
            recording.step()


def go_first() -> None:
    """Ask the system to run this process, which has a session of its own, before others."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
        Path("/proc/self/autogroup").write_text(str(_PRIORITY))


def record_all(pair: Pair, forms: Forms, folder: Path, wanted: int) -> list[int]:
    """Record both forms in turns; return the numbers of the quietest recordings."""
    after = pair.stacks if pair.stacks_after is None else pair.stacks_after

    def one_recording(number: int) -> int:
        for form, step, stacks in (
            (0, forms.before, pair.stacks), (1, forms.after, after),
        ):  # fmt: skip
            if forms.enter is not None:
                forms.enter[form]()
            record(pair, step, folder / f"{FORMS[form]}-{number}", stacks=stacks)
        return number

    return quietest(one_recording, wanted, _SECONDS)[0]


def separate_cores() -> None:
    """Let the host's threads run on the first core, and the device's own on the others.

    The reference device computes in threads. One that shares a core with the host's makes a launch
    up to twice as long, for as long as the scheduler likes.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2:
        return
    os.sched_setaffinity(0, cores[1:])
    pool = [torch.refdev.Stream() for _ in range(_STREAMS)]
    for stream in (torch.refdev.current_stream(), *pool):
        with torch.refdev.stream(stream):  # its thread begins with its first work
            torch.zeros(1, device="refdev")
    torch.accelerator.synchronize()
    os.sched_setaffinity(0, cores[:1])


def measure(pair: Pair, folder: Path, rounds: int, recordings: int) -> dict[str, object]:
    """Return the times of both forms, and of the part that the fix replaces, ns per step."""
    if pair.device != "cpu":
        refdevice = importlib.import_module("refdevice")
        refdevice.configure(**pair.settings)
        separate_cores()
    forms = pair.build()
    gc.collect()
    gc.freeze()
    found: dict[str, object] = {}
    if pair.stacks_after is None:
        found["steps"] = in_turns(pair, (forms.before, forms.after), forms, rounds)
    if forms.part is not None:
        found["part"] = in_turns(pair, forms.part, forms, max(rounds // 2, 3))
    found["recordings"] = record_all(pair, forms, folder, recordings)
    return found


def main() -> None:
    """Measure the pair that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", help="whose PAIRS have the pair")
    parser.add_argument("name")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--recordings", type=int, default=5)
    options = parser.parse_args()
    go_first()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    pair = pair_named(options.module, options.name)
    print(json.dumps(measure(pair, options.folder, options.rounds, options.recordings)))


if __name__ == "__main__":
    main()
