"""How long the device takes from a launch to its begin."""

from __future__ import annotations

import time

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_SHORT_NS, _LATE_NS = 3_000, 25_000
"""A launch that is quicker beside a wait that returns later is a query that always says done."""
_LONG_NS = 1_000_000
"""Longer than any driver's launch: the device was not idle, or holds launches back."""

_TRIES, _PATIENCE_NS = 9, 50_000_000


def _check(subject: Subject) -> Answer:
    found = subject.calibration
    latency, spread = found.launch_latency_ns, found.launch_latency_spread_ns
    values = {"ns": latency, "spread_ns": spread, "sync_return_ns": found.sync_return_ns}
    if latency is None or spread is None:
        least = _least(subject)
        if least is None or least <= _LONG_NS:
            said = str(found.evidence.get("events_failed", "not measured"))
            return Answer("unknown", said, values)
        return Answer("warn", f"{least / 1000:.0f} µs, too long to be measured well", {"ns": least})
    said = f"{latency / 1000:.1f} µs (spread {spread / 1000:.1f})"
    if latency < _SHORT_NS and (found.sync_return_ns or 0) > _LATE_NS:
        late = (found.sync_return_ns or 0) / 1000
        return Answer("warn", f"{said}, but a wait for it returns after {late:.0f}", values)
    return Answer("ok" if latency <= _LONG_NS else "warn", said, values)


def _least(subject: Subject) -> int | None:
    """Return the least time from recording an event to a query that finds it done, in ns."""
    found = []
    for _ in range(_TRIES):
        subject.read_back()
        event = subject.event()
        before = time.perf_counter_ns()
        event.record()
        while time.perf_counter_ns() - before < _PATIENCE_NS:
            if event.query():
                found.append(time.perf_counter_ns() - before)
                break
    return min(found, default=None)


REQUIREMENT = Requirement(
    "latency",
    "the latency of a launch is known",
    "All starts are shifted by what the latency is off.",
    "bool queryEvent(void* event) const override {  // asks the device, never the host's records\n"
    "  return driver_event_query(event) == DRIVER_SUCCESS;\n"
    "}",
    _check,
    rests_on=("synchronize", "query"),
)
