"""Read how much processor time each Python thread of the process takes within a window.

torch records the operators of some threads only, and what another one launches is in no trace. Its
processor time tells whether it can have launched at all. It is read at the window's ends alone.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import torch

OWN = "tb_privateuse1 "
"""How the names of the capture's own threads begin: they launch nothing."""

_THREAD_CLOCK = 6
"""Linux (``kernel/time/posix-cpu-timers.c``): the flags of the clock of a thread's processor time.
``time.pthread_getcpuclockid`` makes the same number, but may crash if the thread has just ended."""

_Times = dict[int, tuple[str, int]]


def columns_between(before: _Times, after: _Times) -> dict[str, list[Any]] | None:
    """Return per thread its system number, its name, and ns of processor time between two reads.

    Only threads that live at the second read have a row; of one that began in between, all its
    time counts. None where the system does not tell.
    """
    if not before or not after:
        return None
    return {
        "thread": list(after),
        "name": [name for name, _ in after.values()],
        "cpu_ns": [max(ns - before.get(i, ("", 0))[1], 0) for i, (_, ns) in after.items()],
    }


def read_times() -> _Times:
    """Return the name and the ns of processor time until now, by the thread's system number.

    Empty where the system does not tell: only Linux has such clocks.
    """
    if not sys.platform.startswith("linux"):
        return {}
    times = {}
    for thread in threading.enumerate():
        number = thread.native_id
        if number is None or thread.name.startswith(OWN):
            continue
        try:
            times[number] = thread.name, time.clock_gettime_ns(~number << 3 | _THREAD_CLOCK)
        except OSError:  # it has ended
            continue
    return times


def records_all(config: Any) -> bool:
    """Return whether an ``_ExperimentalConfig`` lets torch record all threads; None is none.

    It has no attributes, so the place of the option in its state is looked up.
    """
    try:
        kind = torch._C._profiler._ExperimentalConfig
        states = [one.__getstate__() for one in (kind(), kind(profile_all_threads=True), config)]
        return any(usual != on == own for usual, on, own in zip(*states))
    except (AttributeError, TypeError):  # without a config, or a torch without the option
        return False
