"""Check whether events outside of operators have times, for the capture's marks of steps."""

from __future__ import annotations

import time

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_SLEEP_S, _TRIES = 0.01, 3
_ALIKE = 2.0


def _check(subject: Subject) -> Answer:
    ratios = []
    for _ in range(_TRIES):
        first, second = subject.event(timing=True), subject.event(timing=True)
        subject.read_back()
        before = time.perf_counter_ns()
        first.record()
        time.sleep(_SLEEP_S)
        second.record()
        taken_ms = (time.perf_counter_ns() - before) / 1e6
        second.synchronize()
        subject.read_back()
        ratios.append(first.elapsed_time(second) / taken_ms)
    ratio = sorted(ratios)[_TRIES // 2]
    values = {"ratio": ratio}
    if 1 / _ALIKE < ratio < _ALIKE:
        return Answer("ok", "Event.elapsed_time returns milliseconds", values)
    return Answer("fail", f"a sleep takes {ratio:.3g} times as long by elapsed_time", values)


REQUIREMENT = Requirement(
    "step_markers",
    "Event.elapsed_time returns milliseconds",
    "The ends of steps cannot be marked: a backlog is less well known, and streams have no common "
    "clock.",
    "double elapsedTime(void* first, void* second, const c10::DeviceIndex) const override {\n"
    "  return driver_elapsed_ns(first, second) / 1e6;  // ms; of the DeviceGuardImplInterface\n"
    "}",
    _check,
    section="streams",
)
