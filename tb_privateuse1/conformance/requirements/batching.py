"""Whether the device begins with work when it is launched."""

from __future__ import annotations

import time

from tb_privateuse1.conformance.lines import Answer, Requirement
from tb_privateuse1.conformance.subject import Subject

_TRIES = 4
_OPERATORS = 8
_PATIENCE = 3
"""How many times the work's length the device has until it is asked for."""


def _check(subject: Subject) -> Answer:
    work = _OPERATORS * max(subject.operator_ns, 1) if subject.backlog else 0
    left = []
    for _ in range(_TRIES):
        subject.read_back()
        subject.launch(_OPERATORS)
        time.sleep(_PATIENCE * work / 1e9)
        left.append(subject.read_back())
    behind = min(left) - subject.idle_read_ns
    values = {"left_us": behind / 1000, "work_us": work / 1000}
    if 2 * behind > work:
        said = f"{behind / 1000:.0f} of {work / 1000:.0f} µs are left after {_PATIENCE} times that"
        return Answer("fail", said, values)
    return Answer("ok", "the device begins with a launch at once", values)


REQUIREMENT = Requirement(
    "batching",
    "launches are not held back",
    "Work begins when a batch is full or somebody waits. No event tells when: busy times are wrong "
    "by half and more.",
    "driver_launch(kernel, arguments, current_stream());\n"
    "driver_flush(current_stream());  // while a profiler records: ProfilerStubs::enabled()",
    _check,
)
