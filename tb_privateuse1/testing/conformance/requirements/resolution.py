"""The ticks of the device's clock."""

from __future__ import annotations

from tb_privateuse1.capture.sidecar import COARSE_US, resolution_us
from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject


def _check(subject: Subject) -> Answer:
    times = [row.elapsed for row in subject.sample if row.elapsed and row.elapsed > 0]
    if len(set(times)) < 2:
        return Answer("unknown", f"{len(set(times))} different times are too few")
    ticks = resolution_us(times)
    verdict = "ok" if ticks == 1 else "warn" if ticks < COARSE_US else "fail"
    return Answer(verdict, f"{ticks} µs", {"us": ticks})  # type: ignore[arg-type]


REQUIREMENT = Requirement(
    "resolution",
    "times have a resolution of a microsecond",
    "Shorter kernels are not seen, and bounds are as wide as a tick.",
    "// Take the event's own timestamp, not a counter of the driver's that ticks slowly:\n"
    "driver_event_create(&event, DRIVER_EVENT_TIMESTAMP);",
    _check,
    "events",
    rests_on=("stubs_called", "elapsed_read", "elapsed_unit"),
)
