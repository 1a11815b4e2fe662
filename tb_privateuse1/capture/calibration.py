"""Measure, on an idle device, what the timeline's inference cannot see in a trace.

An event recorded on an idle stream completes one launch latency after the call. Asking in a
loop whether it has shows when; waiting for one shows, beyond that, how late a wait returns. A
range around a sleep of known length shows what the vendor's ``elapsed`` measures, and in which
unit. A few milliseconds, once in a process and backend.
"""

from __future__ import annotations

import statistics
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch.autograd.profiler import profile as autograd_profile
from torch.autograd.profiler import record_function

from tb_privateuse1.capture.backend import synchronize
from tb_privateuse1.capture.queue_costs import Costs, measure_costs

TRIES = 9
"""Their median forgets the first, which creates what a backend creates lazily."""
TIMEOUT_NS = 5_000_000
"""An idle device that needs longer for an empty event is not idle, or never answers."""
SLEEP_S = 0.0012
"""Above a millisecond, so that an ``elapsed`` in whole milliseconds does not read as zero."""
_OPERATORS, _LEAST_SIZE, _MOST_SIZE = 8, 1 << 14, 1 << 24
"""Operators launched in a row, on so many values: at most 64 MiB."""
_LENGTHY_NS = 800_000
"""No host needs a tenth of a millisecond to launch an operator."""
_WHOLE = 0.9
"""The share of the time until all is done that a host without a queue spends in the operators."""
PROBE = "tb_privateuse1::probe"
_PROBES = 3
"""What a busy machine interrupts tells nothing."""

_lock = threading.Lock()


@dataclass(frozen=True)
class Calibration:
    """Measured constants of the device, in nanoseconds; None if a measurement failed."""

    launch_latency_ns: int | None = None
    """From the call that records an event to its execution on an idle device."""
    sync_return_ns: int | None = None
    """From the execution of the last event to the return of a wait for it."""
    elapsed_kind: str | None = None
    """``event`` (time between two marks), ``kernel_sum`` (only work counts), ``host`` (operators
    run on the host's thread, there is no queue) or None."""
    elapsed_unit: str | None = None
    """``us`` as torch wants it, ``ms`` or ``ns`` by mistake, or None."""
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
    latency = returned = kind = unit = None
    try:
        latency, returned = _events(backend, evidence)
    except Exception as error:
        evidence["events_failed"] = f"{type(error).__name__}: {error}"
    try:
        for _ in range(_PROBES):
            kind, unit = _probe(backend, evidence)
            if kind is not None:
                break
    except Exception as error:
        evidence["probe_failed"] = f"{type(error).__name__}: {error}"
    try:
        if kind == "event" and _runs_on_the_host(backend, evidence):
            kind = "host"
    except Exception as error:
        evidence["queue_failed"] = f"{type(error).__name__}: {error}"
    costs = Costs()
    try:
        if kind == "event" and unit == "us" and latency is not None:
            costs = measure_costs(backend, latency, lambda: _event(backend), evidence)
    except Exception as error:
        evidence["costs_failed"] = f"{type(error).__name__}: {error}"
    return Calibration(latency, returned, kind, unit, costs, evidence)


def _events(backend: str, evidence: dict[str, Any]) -> tuple[int, int]:
    executed = [_until_done(backend) for _ in range(TRIES)]
    waited = [_until_returned(backend) for _ in range(TRIES)]
    evidence["executed_ns"], evidence["waited_ns"] = executed, waited
    latency = round(statistics.median(executed))
    return latency, max(0, round(statistics.median(waited)) - latency)


def _until_done(backend: str) -> int:
    """From the recording of an event on the idle device to its completion, by asking."""
    called, event = _record(backend)
    last = called
    while last - called < TIMEOUT_NS:
        asked = time.perf_counter_ns()
        if event.query():
            return (last + asked) // 2 - called
        last = asked
    raise TimeoutError("an event on an idle device does not complete")


def _until_returned(backend: str) -> int:
    """From the recording of an event on the idle device to the return of a wait for it."""
    called, _ = _record(backend)
    synchronize()
    return time.perf_counter_ns() - called


def _record(backend: str) -> tuple[int, Any]:
    """Record an event on the idle device; return the middle of the call's time, and the event."""
    event = _event(backend)
    synchronize()
    before = time.perf_counter_ns()
    event.record()
    return (before + time.perf_counter_ns()) // 2, event


def _event(backend: str) -> Any:
    try:
        return torch.Event(device=backend)
    except Exception:  # an older torch, or a guard that makes no events
        return getattr(torch, backend).Event()


def _probe(backend: str, evidence: dict[str, Any]) -> tuple[str | None, str | None]:
    if torch._C._autograd._profiler_enabled():
        evidence["probe_failed"] = "another profiler is running"
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


def _runs_on_the_host(backend: str, evidence: dict[str, Any]) -> bool:
    """Return whether operators return only when their work is done.

    A few operators in a row are launched in far less time than they take, if there is a queue.
    """
    size = _LEAST_SIZE
    while True:
        values = torch.ones(size, device=backend)
        values.mul_(1.0)
        synchronize()
        start = time.perf_counter_ns()
        for _ in range(_OPERATORS):
            values.mul_(1.0)
        launched = time.perf_counter_ns()
        synchronize()
        done = time.perf_counter_ns()
        evidence["queue"] = {"launched_ns": launched - start, "done_ns": done - start, "size": size}
        if launched - start >= _LENGTHY_NS or done - start >= 2 * _LENGTHY_NS or size >= _MOST_SIZE:
            return launched - start >= max(_LENGTHY_NS, _WHOLE * (done - start))
        size *= 4


def _judge(host_us: float, elapsed: float) -> tuple[str | None, str | None]:
    """Kind and unit of a range in which the device was idle for ``host_us``."""
    if elapsed == 0:
        return "kernel_sum", None
    for unit, factor in (("us", 1.0), ("ms", 1e-3), ("ns", 1e3)):
        if 0.5 < elapsed / (host_us * factor) < 2:
            return "event", unit
    return None, None
