"""Measure, on an idle device, what the timeline's inference cannot see in a trace.

An event recorded on an idle stream completes one launch latency after the call. Asking in a
loop whether it has shows when; waiting for one shows, beyond that, how late a wait returns. A
range around a sleep of known length shows what the vendor's ``elapsed`` measures, and in which
unit. A few milliseconds, once in a process and backend.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import torch
from torch.autograd.profiler import profile as autograd_profile
from torch.autograd.profiler import record_function

from tb_privateuse1.capture.backend import has_stubs, make_event, synchronize
from tb_privateuse1.capture.calibration.queue_check import check_queue
from tb_privateuse1.capture.calibration.queue_costs import Costs, measure_costs

TRIES = 9
"""The host can only delay what it sees, so that the least is nearest to the truth."""
TIMEOUT_NS = 3_000_000
"""An idle device that needs longer for an empty event is not idle, or never answers."""
SLEEP_S = 0.0012
"""Above a millisecond, so that an ``elapsed`` in whole milliseconds does not read as zero."""
PROBE = "tb_privateuse1::probe"
_PROBES = 3
"""What a busy machine interrupts tells nothing."""

_UNLIKE = "an idle range took neither no time on the device nor as long as on the host"

_lock = threading.Lock()


@dataclass(frozen=True)
class Calibration:
    """Measured constants of the device, in nanoseconds; None if a measurement failed."""

    launch_latency_ns: int | None = None
    """From the call that records an event to its execution on an idle device: the least."""
    launch_latency_spread_ns: int | None = None
    """How much longer the measurement in the middle took."""
    sync_return_ns: int | None = None
    """From the execution of the last event to the return of a wait for it: the least."""
    sync_return_spread_ns: int | None = None
    elapsed_kind: str | None = None
    """``event`` (time between two marks), ``kernel_sum`` (only work counts), ``host`` (operators
    run on the host's thread, there is no queue) or None."""
    elapsed_unit: str | None = None
    """``us`` as torch wants it, ``ms`` or ``ns`` by mistake, or None."""
    doubt: str | None = None
    """Why the kind is not known, where it is None."""
    costs: Costs = field(default_factory=Costs)
    evidence: dict[str, Any] = field(default_factory=dict)
    """The single measurements, and the reason where there are none."""


def calibrate(backend: str) -> Calibration:
    """Calibrate the current device of ``backend``; never raises."""
    with _lock:
        return _calibrate(backend)


@cache
def _calibrate(backend: str) -> Calibration:
    evidence: dict[str, Any] = {}
    latency, returned = Spread(), Spread()
    kind = unit = doubt = None
    try:
        latency, returned = _events(backend, evidence)
    except Exception as error:
        evidence["events_failed"] = f"{type(error).__name__}: {error}"
    try:
        kind, unit = _kind_and_unit(backend, evidence)
        doubt = evidence.get("probe_failed", _UNLIKE) if kind is None else None
    except Exception as error:
        evidence["probe_failed"] = doubt = f"{type(error).__name__}: {error}"
    try:
        if kind is not None:
            kind, doubt = _with_queue(kind, backend, evidence)
    except Exception as error:
        kind, doubt = None, f"{type(error).__name__}: {error}"
        evidence["queue_failed"] = doubt
    costs = Costs()
    try:
        if kind == "event" and unit == "us" and latency.least_ns is not None:
            costs = measure_costs(backend, latency.least_ns, evidence)
    except Exception as error:
        evidence["costs_failed"] = f"{type(error).__name__}: {error}"
    return Calibration(*latency, *returned, kind, unit, doubt, costs, evidence)


def _kind_and_unit(backend: str, evidence: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return what an idle range shows. One that lasts as long on the device is enough.

    No time at all can be a device that was late twice, so that every try must show it.
    """
    shown = set()
    for _ in range(_PROBES):
        found = _probe(backend, evidence)
        if found[0] == "event" or "probe_failed" in evidence:
            return found
        shown.add(found)
    return shown.pop() if len(shown) == 1 else (None, None)


def _with_queue(kind: str, backend: str, evidence: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return the kind with what launches show, and the doubt if there is no kind."""
    on_host, doubt = check_queue(backend, evidence)
    if on_host:
        return "host", None
    if on_host is None and kind == "event":  # sums of kernels are such with or without a queue
        return None, doubt
    return kind, None


class Spread(NamedTuple):
    """The least of some measurements in ns, and by how much the middle one exceeds it."""

    least_ns: int | None = None
    spread_ns: int | None = None


class _Try(NamedTuple):
    """The time in ns from the recording of an event to what shows that it was executed."""

    most_ns: int
    """From before the call to the sign of it."""
    width_ns: int
    """How much less it may be: what the call took, and since it was asked for before."""


def _events(backend: str, evidence: dict[str, Any]) -> tuple[Spread, Spread]:
    executed = [_until_done(backend) for _ in range(TRIES)]
    waited = [_until_returned(backend) for _ in range(TRIES)]
    evidence["executed_ns"] = [each.most_ns for each in executed]
    evidence["waited_ns"] = [each.most_ns for each in waited]
    latency, until_returned = _least(executed), _least(waited)
    returned = max(0, (until_returned.least_ns or 0) - (latency.least_ns or 0))
    return latency, Spread(returned, until_returned.spread_ns)


def _least(tries: list[_Try]) -> Spread:
    """Return the least measurement, in the middle of its limits, and its spread.

    The width is that of the calmest try: a thread that loses its core widens its own.
    """
    times = sorted(each.most_ns for each in tries)
    least = times[0] - min(each.width_ns for each in tries) // 2
    return Spread(max(0, least), times[len(times) // 2] - times[0])


def _until_done(backend: str) -> _Try:
    """From the recording of an event on the idle device to its completion, by asking."""
    before, after, event = _record(backend)
    asked = answered = after
    while answered - after < TIMEOUT_NS:
        last, asked = asked, time.perf_counter_ns()
        done = event.query()
        answered = time.perf_counter_ns()
        if done:
            return _Try(answered - before, answered - last + after - before)
    raise TimeoutError("an event on an idle device does not complete")


def _until_returned(backend: str) -> _Try:
    """From the recording of an event on the idle device to the return of a wait for it."""
    before, after, _ = _record(backend)
    synchronize()
    return _Try(time.perf_counter_ns() - before, after - before)


def _record(backend: str) -> tuple[int, int, Any]:
    """Record an event on the idle device; return start and end of the call, and the event."""
    event = make_event(backend)
    synchronize()
    before = time.perf_counter_ns()
    event.record()
    return before, time.perf_counter_ns(), event


def _probe(backend: str, evidence: dict[str, Any]) -> tuple[str | None, str | None]:
    if torch._C._autograd._profiler_enabled():
        evidence["probe_failed"] = "another profiler is running"
        return None, None
    if has_stubs() is False:  # torch would print a C++ stack for every operator
        evidence["probe_failed"] = "the backend registered no ProfilerStubs"
        return None, None
    with autograd_profile(use_device=backend, use_kineto=False) as probe, record_function(PROBE):
        start = time.perf_counter_ns()
        time.sleep(SLEEP_S)
        host_us = (time.perf_counter_ns() - start) / 1000
    results = probe.kineto_results
    if results is None:
        return None, None
    for row in results.events():
        if row.name() == PROBE:
            elapsed = row.privateuse1_elapsed_us()
            evidence["probe"] = {"host_us": host_us, "elapsed_us": elapsed}
            return _judge(host_us, elapsed)
    return None, None


def _judge(host_us: float, elapsed: float) -> tuple[str | None, str | None]:
    """Kind and unit of a range in which the device was idle for ``host_us``."""
    if elapsed == 0:
        return "kernel_sum", None
    for unit, factor in (("us", 1.0), ("ms", 1e-3), ("ns", 1e3)):
        if 0.5 < elapsed / (host_us * factor) < 2:
            return "event", unit
    return None, None
