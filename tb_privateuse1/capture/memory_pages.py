"""Read the pages that the process maps anew within a window, and what one costs on this host.

A C library may give the memory of freed tensors back to the system. The system clears a page of
the next one at its first touch, in an operator that shows none of that. The counters are read at
the window's ends alone. Pages of the profiler's own buffers stay: they are part of the growth.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import os
import re
import threading
import time
from pathlib import Path
from typing import Any

from torch.profiler.profiler import ProfilerAction

from tb_privateuse1.capture.limits.process_use import resident

with contextlib.suppress(ImportError):  # Windows has none
    import resource

MEMORY_PAGES = "memory_pages"
"""The key in the trace: an entry of its metadata, as ``torch_threads`` is."""

_PROBE_PAGES, _PROBES = 1024, 3
"""Of 4 KiB: as large as a small tensor of those that go back to the system. It takes some ms."""
_MAPS = Path("/proc/self/maps")
_ALLOCATORS = re.compile(r"/lib(jemalloc|tcmalloc|mimalloc)[^/]*$", re.MULTILINE)
"""Libraries that stand in for the C library: those of PyTorch's tuning guide, and one more."""
_SETTINGS = ("MALLOC_", "GLIBC_TUNABLES")
"""How the names of environment variables begin that say what an allocator keeps (mallopt(3))."""


_USUAL = ("steps", "faults", "growth_bytes")
_NOT_RECORDED = (ProfilerAction.NONE, ProfilerAction.WARMUP)


class MemoryPages:
    """The pages that the process, and the thread that records, mapped within one window."""

    def __init__(self) -> None:
        self._before: dict[str, int] = {}
        self._step: dict[str, int] = {}
        self._is_first = True
        self._usual = dict.fromkeys(_USUAL, 0)
        self._facts: dict[str, Any] | None = None

    def prepare(self) -> None:
        """Measure what a page costs, before anything is recorded; once for the process."""
        _page_ns()
        _allocator()

    def begin_step(self) -> None:
        """Tell that a step begins."""
        self._step = _read()

    def end_step(self, action: ProfilerAction) -> None:
        """Tell that the step has ended in which the profiler did ``action``.

        The first step has the program's own start.
        """
        before, self._step = self._step, {}
        is_first, self._is_first = self._is_first, False
        if is_first or not before or action not in _NOT_RECORDED:
            return
        spent = {**_spent(before, _read()), "steps": 1}
        self._usual = {key: self._usual[key] + spent.get(key, 0) for key in _USUAL}

    def start(self) -> None:
        """Begin a window."""
        self._facts, self._before = None, _read()

    def stop(self) -> None:
        """End it."""
        spent, usual = _spent(self._before, _read()), self._usual
        self._usual = dict.fromkeys(_USUAL, 0)
        if not spent:
            return
        self._facts = {
            **spent,
            "usual": usual,
            "page_bytes": mmap.PAGESIZE,
            "page_ns": _page_ns(),
            "allocator": _allocator(),
            "settings": {
                name: value for name, value in os.environ.items() if name.startswith(_SETTINGS)
            },
        }

    def facts(self) -> dict[str, Any] | None:
        """Return what the trace has of the last window; None where the system does not tell."""
        return self._facts


def _spent(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Return what was counted in between; empty where a read failed, or for two threads."""
    if before.get("thread") != after.get("thread"):
        return {}
    return {key: after[key] - before[key] for key in after.keys() & before.keys() - {"thread"}}


def _read() -> dict[str, int]:
    """Return the counters until now, of the process and of this thread; empty without any."""
    try:
        own = resource.getrusage(resource.RUSAGE_SELF)
        thread = resource.getrusage(resource.RUSAGE_THREAD)
    except (NameError, AttributeError):  # another system than Linux
        return {}
    found = {
        "thread": threading.get_native_id(),
        "faults": own.ru_minflt,
        "major_faults": own.ru_majflt,
        "user_ns": round(own.ru_utime * 1e9),
        "system_ns": round(own.ru_stime * 1e9),
        "thread_faults": thread.ru_minflt,
        "thread_user_ns": round(thread.ru_utime * 1e9),
        "thread_system_ns": round(thread.ru_stime * 1e9),
    }
    size = resident()
    return found if size is None else {**found, "growth_bytes": size}


@functools.cache
def _page_ns() -> int | None:
    """Return what a page takes that is mapped, written once and given back, by this thread's clock.

    The least of some: what else runs on the machine only makes it longer.
    """
    try:
        return min(_probe() for _ in range(_PROBES))
    except (OSError, AttributeError):  # no memory is left, or another system than Linux
        return None


def _probe() -> int:
    size, now = _PROBE_PAGES * mmap.PAGESIZE, time.thread_time_ns
    begin = now()
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    first = (ctypes.c_char * size).from_buffer(pages)
    ctypes.memset(first, 0, size)
    new = now()
    ctypes.memset(first, 0, size)
    again = now()
    del first
    pages.close()
    return max(2 * new - begin - again + now() - again, 0) // _PROBE_PAGES


@functools.cache
def _allocator() -> str | None:
    """Return the library that allocates, as far as its name tells; None if it does not."""
    try:
        found = _ALLOCATORS.search(_MAPS.read_text())
        return found[1] if found else os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError, AttributeError):
        return None
