"""Limit memory and time of a server's child process, and make it the first one to be killed.

The limit is on what a process allocates (``RLIMIT_DATA``): beyond it an allocation fails, which is
a MemoryError here and no matter for any other process. Where a system has no such limit, there is
none.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from pathlib import Path

_PROC, _CGROUPS = Path("/proc/self"), Path("/sys/fs/cgroup")
_FIRST_TO_GO = 500
"""Of 1,000: as if it had half of the machine's memory more."""


def machine_bytes() -> int | None:
    """Return the memory of the machine, or of our control group if less; None if unknown."""
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return None
    return min([machine, *_group_limits()])


def _group_limits() -> list[int]:
    """Return the limits of our control group and of its parents, if any."""
    return [int(text) for text in group_values("memory.max") if text.isdigit()]


def group_values(name: str) -> list[str]:
    """Return what a file of our control group and of its parents holds, if any (version 2)."""
    try:
        lines = (_PROC / "cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        if line.startswith("0::/"):
            group = _CGROUPS / line.removeprefix("0::/")
            for folder in (group, *group.parents):
                with contextlib.suppress(OSError, ValueError):
                    found.append((folder / name).read_text().strip())
    return found


def limit_processor(more_s: int) -> None:
    """Limit the processor time that this process may still take; beyond it the system ends it.

    Each call begins anew.
    """
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = math.ceil(used.ru_utime + used.ru_stime) + more_s
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        if most != resource.RLIM_INFINITY:
            soft = min(soft, most)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def confine(more_bytes: int) -> None:
    """Limit what this process may still allocate, and make it the first one to be killed."""
    with contextlib.suppress(OSError, ValueError):
        score = _PROC / "oom_score_adj"
        score.write_text(str(max(int(score.read_text()), _FIRST_TO_GO)))
    with contextlib.suppress(ImportError, OSError):
        import resource

        status = (_PROC / "status").read_text().splitlines()
        (now_kb,) = (int(line.split()[1]) for line in status if line.startswith("VmData:"))
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        limit = min((now_kb << 10) + more_bytes, sys.maxsize)
        if most != resource.RLIM_INFINITY:
            limit = min(limit, most)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
