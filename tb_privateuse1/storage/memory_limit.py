"""Limit the memory of a server's child process, and make it the first one to be killed.

The limit is on what a process allocates (``RLIMIT_DATA``): beyond it an allocation fails, which is
a MemoryError here and no matter for any other process. Where a system has no such limit, there is
none.
"""

from __future__ import annotations

import contextlib
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
    """Yield the limits of our control group and of its parents, if any (version 2)."""
    try:
        lines = (_PROC / "cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        if line.startswith("0::/"):
            group = _CGROUPS / line.removeprefix("0::/")
            for folder in (group, *group.parents):
                with contextlib.suppress(OSError, ValueError):  # ``max`` is no number
                    found.append(int((folder / "memory.max").read_text()))
    return found


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
