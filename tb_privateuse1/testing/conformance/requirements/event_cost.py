"""Measure what an event takes of the device's time."""

from __future__ import annotations

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.requirements.behind_work import event_ns
from tb_privateuse1.testing.conformance.subject import Subject

_CHEAP_NS = 5_000
"""Two of them around a kernel of 10 µs then double its time."""


def _check(subject: Subject) -> Answer:
    if subject.calibration.elapsed_kind == "kernel_sum":
        return Answer("none", "sums of kernels do not show it")
    cost = event_ns(subject)
    if cost is None:
        return Answer("unknown", "the device was never behind the host")
    verdict = "ok" if cost <= _CHEAP_NS else "warn"
    return Answer(verdict, f"{cost / 1000:.1f} µs of the device", {"ns": cost})  # type: ignore[arg-type]


REQUIREMENT = Requirement(
    "event_cost",
    "an event costs the device little",
    "The recording slows the program down, and short kernels hide between their events.",
    "driver_event_create(&event, DRIVER_EVENT_NO_FENCE);  // a timestamp, without a cache flush",
    _check,
    "events",
    rests_on=("stubs_called", "elapsed_read", "elapsed_unit"),
)
