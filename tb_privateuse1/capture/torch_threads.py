"""The threads of torch on the host, and the processors that they may use."""

from __future__ import annotations

import os
from pathlib import Path

import torch

TORCH_THREADS = "torch_threads"
"""The key in the trace: an entry of its metadata that the page *Recording* shows."""
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Of the control group, as a container sees it: microseconds of processors in a period, or max."""


def torch_threads(world_size: int | None) -> dict[str, int]:
    """Return torch's threads within an operator, and this process's processors.

    The processes of a job on this host share its processors: ``LOCAL_WORLD_SIZE`` of torchrun. In a
    job that does not say how many these are, the processors are left out.
    """
    found = {"intra_op": torch.get_num_threads()}
    processes = os.environ.get("LOCAL_WORLD_SIZE", "")
    if processes.isdigit() and int(processes):
        found["processors"] = max(1, _processors() // int(processes))
    elif world_size in (None, 1):
        found["processors"] = _processors()
    return found


def _processors() -> int:
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        count = os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text().split()
        return max(1, min(count, int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        return count  # no quota
