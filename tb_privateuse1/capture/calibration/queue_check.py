"""Decide whether the device runs asynchronously: whether operators return before it is done.

A backend with a queue launches large work as fast as small work. Without one, an operator's call
lasts as long as its work at every size, so that it grows as the work does. A busy host delays both,
so the time in which the thread waited for a core is taken off, and the least of some tries counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from tb_privateuse1.capture.backend import synchronize

_OPERATORS = 8
"""Operators launched in a row."""
_SIZES = tuple(1 << power for power in range(14, 25))
"""Values that they work on, until that takes long: at most 64 MiB."""
_SMALLER = 16
"""How much smaller the small work is."""
_TRIES, _MOST_TRIES = 3, 9
_LONG_NS = 500_000
"""Work of this length is long enough: no host needs as long to launch a few operators."""
_GROWN_NS = 100_000
"""By how much work must have grown, at the least, to show anything."""
_QUEUE, _HOST = 0.25, 0.75
"""The share of the work's growth by which launches grow: at most with a queue, at least without."""
_MOST_CPU_NS = 100_000_000
"""Processor time of this thread after which no further try begins.

A calm host takes 3 to 10 ms for all. Where a machine's other guests take its cores away, a
single try took 86, and no verdict costs every duration of the recording its meaning.
"""


class Launch(NamedTuple):
    """Times in ns of operators in a row: until all were launched, and until all were done."""

    launched_ns: int
    done_ns: int


class Verdict(NamedTuple):
    """The outcome: whether operators run on the host's thread; None if in doubt, and why."""

    on_host: bool | None
    doubt: str | None = None


def check_queue(backend: str, evidence: dict[str, Any]) -> Verdict:
    """Return whether the operators of ``backend`` return only when their work is done.

    The single measurements go into ``evidence``. Raises what the backend raises.
    """
    until = time.thread_time_ns() + _MOST_CPU_NS
    with CoreClock() as clock:
        for size in _SIZES:
            values, fewer = _values(backend, size), _values(backend, size // _SMALLER)
            small, large, verdict = _tries(fewer, values, clock, until)
            long_enough = not _too_short(large) and _work_grew(small, large)
            if long_enough or time.thread_time_ns() >= until:
                break
        known = clock.known
    evidence["queue"] = {
        "sizes": [fewer.numel(), values.numel()],
        "launched_ns": [[each.launched_ns for each in side] for side in (small, large)],
        "done_ns": [[each.done_ns for each in side] for side in (small, large)],
        "without_waits_for_a_core": known,
    }
    return verdict


def judge(small: Sequence[Launch], large: Sequence[Launch]) -> Verdict:
    """Return the verdict on the launches of small and of large work."""
    if not _work_grew(small, large):
        return Verdict(None, "operators on more values did not take longer")
    launched = [min(each.launched_ns for each in side) for side in (small, large)]
    done = [min(each.done_ns for each in side) for side in (small, large)]
    launches_grew, work_grew = launched[1] - launched[0], done[1] - done[0]
    if launches_grew <= _QUEUE * work_grew:
        return Verdict(False)
    # The call lasts as long as its work at both sizes.
    if launches_grew >= _HOST * work_grew and launched[1] >= _HOST * done[1]:
        return Verdict(True)
    share = launches_grew / work_grew
    return Verdict(None, f"launches grew by {share:.0%} of what their work grew by")


def _work_grew(small: Sequence[Launch], large: Sequence[Launch]) -> bool:
    """Return whether large work lasted longer than small; late waits can hide it."""
    least, most = (min(each.done_ns for each in side) for side in (small, large))
    return most - least >= max(_GROWN_NS, least)


def _tries(
    fewer: Any, values: Any, clock: CoreClock, until: int
) -> tuple[list[Launch], list[Launch], Verdict]:
    """Return launches of small and of large work, and the verdict on them.

    ``until``: the thread's processor time after which no further try begins.
    """
    small, large = [], []
    while True:
        # In turn, so that a busy moment of the host meets both sizes.
        small.append(_launch(fewer, clock))
        large.append(_launch(values, clock))
        verdict = judge(small, large)
        tries = _TRIES if verdict.on_host is not None else _MOST_TRIES
        too_short = _too_short(large) and values.numel() < _SIZES[-1]
        spent = time.thread_time_ns() >= until
        if spent and len(large) < _TRIES and not verdict.on_host:
            verdict = Verdict(None, "a few operators took too much processor time to try again")
        if too_short or spent or len(large) >= tries:
            return small, large, verdict


def _too_short(launches: Sequence[Launch]) -> bool:
    """Return whether the work must grow: a wait that comes back late only seems long."""
    return min(each.done_ns for each in launches) < _LONG_NS


def _values(backend: str, size: int) -> Any:
    values = torch.ones(size, device=backend)
    values.mul_(1.0)  # what a backend prepares for a shape's first operator
    return values


def _launch(values: Any, clock: CoreClock) -> Launch:
    synchronize()
    start = clock.now_ns()
    for _ in range(_OPERATORS):
        values.mul_(1.0)
    launched = clock.now_ns()
    synchronize()
    return Launch(launched - start, clock.now_ns() - start)


class CoreClock:
    """The time without that in which this thread was ready but had no core.

    Linux counts that (Documentation/scheduler/sched-stats.rst); elsewhere it is the plain time.
    """

    def __init__(self) -> None:
        self._file = -1

    def __enter__(self) -> CoreClock:
        try:
            self._file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
            self.now_ns()
        except (OSError, ValueError, IndexError):
            self._close()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    @property
    def known(self) -> bool:
        """Return whether waits for a core are counted."""
        return self._file >= 0

    def now_ns(self) -> int:
        """Return the time in ns, of no certain beginning."""
        waited = self.waited_ns()
        while True:
            now, before, waited = time.perf_counter_ns(), waited, self.waited_ns()
            if waited == before:  # else the thread lost its core between the two readings
                return now - waited

    def waited_ns(self) -> int:
        """Return that time so far, 0 if it is not known."""
        return int(os.pread(self._file, 96, 0).split()[1]) if self.known else 0

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
