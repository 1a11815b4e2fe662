"""Read what this process has used so far: operators that torch recorded, and memory.

Torch numbers operators in blocks, one at a time for each thread, by a counter in
``libtorch_cpu.so`` (``torch/csrc/profiler/collection.cpp``, ``EventBlock``). Nothing else of torch
tells it while a recording runs. Memory is known on Linux only; None elsewhere.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
from pathlib import Path

from tb_privateuse1.capture.backend import torch_library

_CGROUP = Path("/sys/fs/cgroup")
"""Of a container: its own limit."""
_BLOCK = 512
"""Operators; part of the symbol's name, so that another torch with another size has none."""
_COUNTER = (
    "_ZZN5torch8profiler4impl19ThreadLocalSubqueue14TorchOpStorage10EventBlockINS1_21Kineto"
    f"ObserverContext5EventELm{_BLOCK}EEC4EvE8counter_"
)


def operators_so_far() -> int | None:
    """Return the number of operators, rounded up for each thread; None if torch has no counter."""
    counter = _counter()
    return None if counter is None else counter.value * _BLOCK


@functools.cache
def _counter() -> ctypes.c_uint64 | None:
    try:
        return ctypes.c_uint64.in_dll(torch_library(), _COUNTER)
    except (OSError, ValueError):  # another platform or version of torch
        return None


def resident(proc: Path = Path("/proc")) -> int | None:
    """Return the bytes of this process that are in memory."""
    try:
        # Once a step, while Python's calls may be recorded: without calls of Python.
        with open(f"{proc}/self/statm", "rb", buffering=0) as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def available(proc: Path = Path("/proc"), cgroup: Path = _CGROUP) -> int | None:
    """Return the bytes that this process can still get, one of several on this host if a launcher
    says so.
    """
    limits = [left for left in (_of_host(proc), _of_cgroup(cgroup)) if left is not None]
    processes = os.environ.get("LOCAL_WORLD_SIZE", "")
    share = int(processes) if processes.isdecimal() and int(processes) else 1
    return min(limits) // share if limits else None


def _of_host(proc: Path) -> int | None:
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _text(proc / "meminfo"), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _of_cgroup(cgroup: Path) -> int | None:
    most, used = _text(cgroup / "memory.max").strip(), _text(cgroup / "memory.current").strip()
    if not most.isdecimal() or not used.isdecimal():
        return None
    # Files in memory count as used, and are let go when memory is short.
    files = re.search(r"^inactive_file (\d+)", _text(cgroup / "memory.stat"), re.MULTILINE)
    return max(0, int(most) - int(used) + (int(files[1]) if files else 0))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""
