"""Read what this process has used so far: operators that torch recorded, memory, and its pages.

Torch numbers operators in blocks, one at a time for each thread, by a counter in
``libtorch_cpu.so`` (``torch/csrc/profiler/collection.cpp``, ``EventBlock``). Nothing else of torch
tells it while a recording runs. Memory is known on Linux only; None elsewhere.

Freed tensors may give memory back, and the system clears new pages for the next ones. While torch
records, its own small blocks lie between those of the program, so that less goes back.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import os
import re
import time
from pathlib import Path
from typing import Any

from torch.profiler.profiler import ProfilerAction

from tb_privateuse1.capture.backend import torch_library

with contextlib.suppress(ImportError):  # Windows has none
    import resource

MEMORY_PAGES = "memory_pages"
"""The key in the trace: an entry of its metadata."""

_PAGES, _PROBES = 1024, 3
"""As many as a tensor of 4 MiB has; some ms."""
_MAPS = Path("/proc/self/maps")
_ALLOCATORS = re.compile(r"/lib(jemalloc|tcmalloc|mimalloc)[^/]*$", re.MULTILINE)
_SETTINGS = ("MALLOC_", "GLIBC_TUNABLES")
"""What an allocator keeps (mallopt(3))."""
_USUAL = ("steps", "faults", "growth_bytes")
_ENOUGH = 8  # steps: two reads take 27 us
_Counts = dict[str, int]

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


class MemoryPages:
    """The pages that the process, and the thread that records, mapped within one window."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] | None = None
        """Those of the last window; None where the system does not tell."""
        self._before: _Counts = {}
        self._step: _Counts = {}
        self._is_first = True  # it has the program's own start
        self._usual = dict.fromkeys(_USUAL, 0)

    def begin_step(self) -> None:
        """Tell that a step begins."""
        self._step = _read() if self._usual["steps"] < _ENOUGH else {}

    def end_step(self, action: ProfilerAction) -> None:
        """Tell that the step has ended in which the profiler did ``action``."""
        is_first, self._is_first = self._is_first, False
        if self._step and not is_first and action in (ProfilerAction.NONE, ProfilerAction.WARMUP):
            spent = {**_since(self._step), "steps": 1}
            self._usual = {key: self._usual[key] + spent.get(key, 0) for key in _USUAL}

    def start(self) -> None:
        """Begin a window; ``host`` was called before it."""
        self._before = _read()

    def stop(self) -> None:
        """End it."""
        spent, usual = _since(self._before), self._usual
        self._usual = dict.fromkeys(_USUAL, 0)
        self.facts = {**spent, "usual": usual, **host()} if spent else None


def _since(before: _Counts) -> _Counts:
    after = _read()
    return {key: after[key] - before[key] for key in after.keys() & before.keys()}


def _read() -> _Counts:
    """Return the counters of the process and of this thread; empty without any."""
    found: _Counts = {}
    with contextlib.suppress(NameError, AttributeError):  # another system than Linux
        for prefix, of in ("", resource.RUSAGE_SELF), ("thread_", resource.RUSAGE_THREAD):
            used = resource.getrusage(of)
            found[f"{prefix}faults"] = used.ru_minflt
            found[f"{prefix}major_faults"] = used.ru_majflt
            found[f"{prefix}user_ns"] = round(used.ru_utime * 1e9)
            found[f"{prefix}system_ns"] = round(used.ru_stime * 1e9)
        found["growth_bytes"] = resident() or 0
    return found


@functools.cache
def host() -> dict[str, Any]:
    """Return what a page takes here and who allocates, measured once, before a recording."""
    return {
        "page_bytes": mmap.PAGESIZE,
        "page_ns": _page_ns(),
        "allocator": _allocator(),
        "settings": {name: os.environ[name] for name in os.environ if name.startswith(_SETTINGS)},
    }


def _page_ns() -> int | None:
    """Return what a page takes that is mapped, written once and given back: the least of some."""
    try:
        return min(_probe() for _ in range(_PROBES))
    except (OSError, AttributeError):  # no memory is left, or Windows
        return None


def _probe() -> int:
    size, now = _PAGES * mmap.PAGESIZE, time.thread_time_ns
    begin = now()
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    first = (ctypes.c_char * size).from_buffer(pages)
    ctypes.memset(first, 0, size)
    new = now()
    ctypes.memset(first, 0, size)
    again = now()
    del first
    pages.close()
    return max(2 * new - begin - again + now() - again, 0) // _PAGES


def _allocator() -> str | None:
    """Return the library that allocates; None if it is not known."""
    try:
        found = _ALLOCATORS.search(_MAPS.read_text())
        return found[1] if found else os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError, AttributeError):
        return None
