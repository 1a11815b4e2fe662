"""Measure what event records and gaps between kernels cost on a busy device.

Behind a long piece of work, ranges without work take the device its marks only, and short operators
take it their kernels, gaps and marks. A kernel alone on the idle device takes no gap. So the
differences are the two costs. It takes at most 20 ms of the host's processor time.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.profiler import profile as autograd_profile
from torch.autograd.profiler import record_function

from tb_privateuse1.capture.backend import make_event, synchronize
from tb_privateuse1.capture.calibration.queue_check import CoreClock
from tb_privateuse1.capture.result_rows import duration_ns, start_ns

BUSY, MARKS, KERNELS = (f"tb_privateuse1::costs_{name}" for name in ("busy", "marks", "kernels"))
_RANGES, _OPERATORS, _TRIES = 24, 24, 7
_LEAST_SIZE, _MOST_SIZE = 1 << 16, 1 << 24
_SHORTER = 16
"""How much smaller the operators are whose kernels are timed: still longer than their launch."""
_BUSY_NS = 1_200_000
"""The device's work, behind which ranges and operators are recorded in far less time."""
_MOST_NS = 7_000_000
"""Processor time after which no further part of the measurement begins."""
_RESOLUTION_NS = 1_000
"""torch cuts elapsed times to whole microseconds."""
_TIMEOUT_NS = 5_000_000
_ALONE_NS = 1_000
"""How far off the time of a kernel alone may be, as it is the host that times it."""
SELF_TEST = "tb_privateuse1::self_test"
_TEST_NS = 150_000
"""Of one operator: many times its launch, and short enough to be timed between other threads."""
_ROWS = (1,) * 5 + (8,) * 3
"""Kernels between two waits: a row takes longer than one by the time from kernel to kernel."""


@dataclass(frozen=True)
class Costs:
    """The time of a mark and the gap before a kernel on a busy device, in ns; None if unknown.

    The truth is within the bounds.
    """

    mark_ns: int | None = None
    mark_bound_ns: int | None = None
    gap_ns: int | None = None
    gap_bound_ns: int | None = None


def measure_costs(backend: str, latency_ns: int, evidence: dict[str, Any]) -> Costs:
    """Return the costs on the current device, which is idle; raises what the backend raises.

    ``latency_ns``: from the recording of an event on the idle device until it is done.
    """
    if torch._C._autograd._profiler_enabled():
        return Costs()
    began = time.process_time_ns()
    long = _long_work(backend, began)
    short = torch.ones(long[0].numel() // _SHORTER, device=backend)
    with autograd_profile(use_device=backend, use_kineto=False) as probe:
        with record_function(BUSY):
            for _ in range(long[1]):
                long[0].mul_(1.0)
        with record_function(MARKS):
            for _ in range(_RANGES):
                with record_function("mark"):
                    pass
        with record_function(KERNELS):
            for _ in range(_OPERATORS):
                short.mul_(1.0)
        synchronize()
    range_of = {row.name(): row for row in probe.kineto_results.events()}
    inside = sum(1 for row in probe.kineto_results.events() if _within(row, range_of[KERNELS]))
    elapsed = {n: range_of[n].privateuse1_elapsed_us() * 1000 for n in (BUSY, MARKS, KERNELS)}
    host = sum(duration_ns(range_of[n]) for n in (BUSY, MARKS, KERNELS))
    evidence["costs"] = {"elapsed_ns": elapsed, "host_ns": host, "rows": inside}
    # The device was behind all the time: it had more to do than the host took to tell it.
    if elapsed[BUSY] < host:
        return Costs()
    marks = 2 * _RANGES + 1
    mark = (elapsed[MARKS] + _RESOLUTION_NS // 2) // marks
    mark_bound = _RESOLUTION_NS // 2 // marks + 10
    if time.process_time_ns() - began > _MOST_NS:
        return Costs(mark, mark_bound)
    period = (elapsed[KERNELS] + _RESOLUTION_NS // 2 - (2 * inside + 1) * mark) / _OPERATORS
    least, most = _alone(short, latency_ns, backend, evidence)
    return Costs(mark, mark_bound, *gap_between(period, least, most))


def plant_test(backend: str) -> list[list[int]]:
    """Time kernels by which the reader judges its bounds; never raises.

    Returns of each row: operators, ns until they were done, and by how much that may be too late:
    the thread had no core while it launched them, and did not look just before.
    """
    rows: list[list[int]] = []
    with suppress(Exception), record_function(SELF_TEST), CoreClock() as clock:
        values = _long_work(backend, time.process_time_ns(), _TEST_NS)[0]
        for count in _ROWS:
            waited, start = clock.waited_ns(), time.perf_counter_ns()
            for _ in range(count):
                values.mul_(1.0)
            waited = clock.waited_ns() - waited
            done, unseen = _until_idle(backend, clock)
            rows.append([count, done - start, waited + unseen])
    return rows


def _until_idle(backend: str, clock: CoreClock) -> tuple[int, int]:
    """Return when the device was seen idle, and for how long before it was not looked at, in ns.

    It asks: a thread that sleeps wakes later behind a long row than behind a short one. Where the
    backend's events cannot be asked it waits, and the time without a core is what it did not see.
    """
    waited = clock.waited_ns()
    with suppress(Exception):
        event = make_event(backend)
        event.record()
        began = last = time.perf_counter_ns()
        while last - began < _TIMEOUT_NS:
            asked = time.perf_counter_ns()
            if event.query():
                synchronize()
                done = time.perf_counter_ns()
                return done, done - last
            last = asked
    synchronize()
    return time.perf_counter_ns(), clock.waited_ns() - waited


def gap_between(period: float, least: float, most: float) -> tuple[int, int] | tuple[None, None]:
    """Return the gap between kernels and its bound, in ns, or None for both if it is not known.

    ``period`` is the time from a kernel to the next one in a row, ``least`` and ``most`` are limits
    of the time of one alone.
    """
    # An event behind a kernel that is shorter than its launch waits for the host instead. One alone
    # that takes longer than in a row waited for something else: a busy host, or a device at rest.
    if period < 2 * (most - least) or period + _ALONE_NS < least:
        return None, None
    low, high = max(period - most - _ALONE_NS, 0.0), max(period - least, 0.0) + _ALONE_NS
    return round((low + high) / 2), round((high - low) / 2)


def _within(row: Any, outer: Any) -> bool:
    """Return whether a row of the profiler lies inside another one."""
    start, end = start_ns(outer), start_ns(outer) + duration_ns(outer)
    inside = start <= start_ns(row) and start_ns(row) + duration_ns(row) <= end
    return inside and row.name() != outer.name()


def _long_work(backend: str, began: int, least_ns: int = _BUSY_NS // 4) -> tuple[Any, int]:
    """Return values, and how many products in place the device needs long enough for.

    ``began``: the processor's time in ns at the start. Raises TimeoutError if it takes too much.
    """
    size = _LEAST_SIZE
    while True:
        values = torch.ones(size, device=backend)
        values.mul_(1.0)
        synchronize()
        start = time.perf_counter_ns()
        values.mul_(1.0)
        synchronize()
        taken = time.perf_counter_ns() - start
        if time.process_time_ns() - began > _MOST_NS:
            raise TimeoutError("the device takes too much of the processor to be busy")
        if taken >= least_ns or size >= _MOST_SIZE:
            return values, min(max(1, -(-_BUSY_NS // max(taken, 1))), 8)
        size *= 4


def _alone(
    short: Any, latency_ns: int, backend: str, evidence: dict[str, Any]
) -> tuple[float, float]:
    """Return limits of the kernel's time alone on the idle device.

    It was launched inside its operator: no earlier than the call, and no later than the return. A
    busy host can only delay what is seen, so that the shortest of some tries counts.
    """
    least, most = [], []
    for _ in range(_TRIES):
        event = make_event(backend)
        synchronize()
        called = time.perf_counter_ns()
        short.mul_(1.0)
        returned = time.perf_counter_ns()
        event.record()
        last = returned
        while not event.query():
            last = time.perf_counter_ns()
            if last - returned > _TIMEOUT_NS:
                raise TimeoutError("an event behind a short kernel does not complete")
        done = (last + time.perf_counter_ns()) // 2
        least.append(done - returned - latency_ns)
        most.append(done - called - latency_ns)
    evidence["alone_ns"] = {"least": least, "most": most}
    return min(least), min(most)
