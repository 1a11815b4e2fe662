"""The command line and the profiled loop that all workloads share."""

import argparse
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch
from torch.profiler import ProfilerActivity, schedule

import refdevice
from refdevice.settings import Value

Step = Callable[[], torch.Tensor]
WARM_UP = 2  # steps before the profile: the first ones find out shapes and fill caches


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Make the parser of the options that every workload has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="directory for the trace, a run of TensorBoard's logdir",
    )
    parser.add_argument("--steps", type=int, default=4, help="steps to record")
    parser.add_argument("--device", choices=["refdev", "cpu"], default="refdev")
    parser.add_argument(
        "--worker-name", help="start of the trace's file name; host and process id if not given"
    )
    parser.add_argument("--gzip", action="store_true", help="compress the trace")
    parser.add_argument(
        "--truth",
        action="store_true",
        help="write the device's true times beside it: truth.json.gz",
    )
    parser.set_defaults(truth_name="truth.json.gz")
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting of the device, e.g. speed=2.0 (README.md lists them); may be repeated",
    )
    return parser


def settings(pairs: list[str]) -> dict[str, Value]:
    """Turn --set NAME=VALUE into values of the types that the settings have."""
    kinds = {name: type(value) for name, value in refdevice.config().items()}
    chosen = dict(pair.split("=", 1) for pair in pairs)
    return {name: kinds.get(name, str)(value) for name, value in chosen.items()}


def capture() -> ModuleType:
    """Import our capture late, so that a workload can be built and run without it."""
    from tb_privateuse1 import capture

    return capture


def record(step: Step, options: argparse.Namespace, profiler: ModuleType | None = None) -> None:
    """Run the step and write its trace.

    `profiler` is the module to profile with, such as `torch.profiler`; our capture if not given.
    """
    profiler = profiler or capture()
    options.out.mkdir(parents=True, exist_ok=True)
    for _ in range(WARM_UP):
        step()
    activities = [ProfilerActivity.CPU]
    if options.device == "refdev":
        activities.append(ProfilerActivity.PrivateUse1)
    with profiler.profile(
        activities=activities,
        schedule=schedule(wait=0, warmup=1, active=options.steps, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(
            str(options.out), worker_name=options.worker_name, use_gzip=options.gzip
        ),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
    ) as profile:
        if options.truth:  # from here on: what the profiler measured before is not of the program
            torch.refdev.synchronize()
            refdevice.truth.start()
        for _ in range(1 + options.steps):
            step()
            profile.step()
    if options.truth:
        torch.refdev.synchronize()
        refdevice.truth.stop()
        refdevice.truth.write(options.out / options.truth_name)


def main(build: Callable[[str], Step], description: str | None) -> None:
    """Run a workload from the command line."""
    options = arguments(description).parse_args()
    refdevice.configure(**settings(options.set))
    torch.manual_seed(0)
    record(build(options.device), options)
