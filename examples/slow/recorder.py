"""The profiled loop that all these scripts share: `python SCRIPT.py DIRECTORY` writes a trace."""

import sys
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

STEPS = 4


def record(step: Callable[[], object]) -> None:
    """Run two steps unseen, then record, with all that advice can use."""
    torch.set_num_threads(1)
    activities = [ProfilerActivity.CPU]
    if "refdevice" in sys.modules:
        activities.append(ProfilerActivity.PrivateUse1)
    for _ in range(2):
        step()
    with profile(
        activities=activities,
        schedule=schedule(wait=0, warmup=1, active=STEPS, repeat=1),
        on_trace_ready=tensorboard_trace_handler(sys.argv[1]),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
    ) as profiler:
        for number in range(1 + STEPS):
            step()
            if number == 0 and "refdevice" in sys.modules:
                torch.accelerator.synchronize()  # what is not recorded delays nothing that is
            profiler.step()
