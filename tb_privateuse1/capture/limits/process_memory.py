"""Read how much memory this process has and could still get. Linux only; None elsewhere."""

from __future__ import annotations

import os
import re
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
"""Of a container: its own limit."""


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
