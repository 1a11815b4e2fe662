"""Read how much processor time each Python thread of the process takes within a window.

torch records the operators of some threads only, and what another one launches is in no trace. Its
processor time tells whether it can have launched at all. It is read at the window's ends alone.
"""

from __future__ import annotations

import os
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

_PROCESS = 0
"""The key of the whole process, ended threads included; no thread has this number."""

_Times = dict[int, tuple[str, int]]


class ThreadTimes:
    """The processor time of the process's threads within one window."""

    def __init__(self) -> None:
        self._before: _Times = {}
        self._after: _Times = {}

    def start(self) -> None:
        """Begin a window."""
        self._before, self._after = read_times(begins=True), {}

    def stop(self) -> None:
        """End it."""
        self._after = read_times(begins=False)

    def facts(self, config: Any) -> dict[str, Any]:
        """Return what the sidecar has of them; ``config`` is the profiler's experimental one."""
        return {
            "host_threads": columns_between(self._before, self._after),
            "ended_threads_ns": ended_between(self._before, self._after),
            "all_threads": records_all(config),
        }


def columns_between(before: _Times, after: _Times) -> dict[str, list[Any]] | None:
    """Return per Python thread its system number, its name, and ns of processor time in between.

    Only threads that live at the second read have a row; of one that began in between, all its
    time counts. None where the system does not tell.
    """
    if not before or not after:
        return None
    mine = {number: name for number, (name, _) in after.items() if name}
    return {
        "thread": list(mine),
        "name": list(mine.values()),
        "cpu_ns": [_took(number, before, after) for number in mine],
    }


def ended_between(before: _Times, after: _Times) -> int | None:
    """Return the processor time in ns, at least, of all threads that ended between two reads.

    It is what the process took beyond the threads that still live; None as above.
    """
    if not before or not after:
        return None
    alive = sum(_took(number, before, after) for number in after if number != _PROCESS)
    return max(_took(_PROCESS, before, after) - alive, 0)


def _took(number: int, before: _Times, after: _Times) -> int:
    return max(after[number][1] - before.get(number, ("", 0))[1], 0)


def read_times(*, begins: bool) -> _Times:
    """Return the name and the ns of processor time until now, by the thread's system number.

    Only Python's threads have names, but for the capture's own. The process is read last where a
    window ``begins``, and first where it ends: so what runs meanwhile is in no ended thread.
    Empty where the system does not tell: only Linux has such clocks.
    """
    if not sys.platform.startswith("linux"):
        return {}
    try:
        numbers = [int(number) for number in os.listdir("/proc/self/task")]
    except OSError:
        return {}
    names = _names()
    times: _Times = {}
    process = None if begins else time.process_time_ns()
    for number in numbers:
        try:
            spent = time.clock_gettime_ns(~number << 3 | _THREAD_CLOCK)
        except OSError:  # it has ended
            continue
        times[number] = names.get(number, ""), spent
    times[_PROCESS] = "", time.process_time_ns() if process is None else process
    return times


def _names() -> dict[int, str]:
    """Return the names of Python's threads by number; a fork may not know its first thread's."""
    own = {threading.current_thread(): threading.get_native_id()}
    threads = (one for one in threading.enumerate() if not one.name.startswith(OWN))
    return {own.get(one, one.native_id) or _PROCESS: one.name for one in threads}


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
