"""Check whether the device begins with work when it is launched."""

from __future__ import annotations

import time

from tb_privateuse1.testing.conformance.host_timing import time_row
from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_TRIES = 12
"""A busy host reads late, and a calm one once at the least."""
_OPERATORS = 8
_HELD_BACK = (0.25, 2.0)
"""What is left of work that was held back, as a share of it. A host that is late waits longer."""
_PATIENCE = 3
"""How many times the work's length the device has until it is asked for."""


def _check(subject: Subject) -> Answer:
    subject.read_back()
    at_once = min(time_row(subject.long_values, _OPERATORS) for _ in range(_TRIES))
    work = min(_OPERATORS * subject.operator_ns, at_once)
    left = []
    for _ in range(_TRIES):
        subject.read_back()
        subject.launch(_OPERATORS)
        time.sleep(_PATIENCE * work / 1e9)
        left.append(subject.read_back() - subject.idle_read_ns)
        if left[-1] < _HELD_BACK[0] * work:
            break
    behind = min(left)
    values = {"left_us": behind / 1000, "work_us": work / 1000}
    if behind > _HELD_BACK[1] * work:
        return Answer(
            "unknown", f"the host is too busy: it read {behind / 1000:.0f} µs late", values
        )
    if behind >= _HELD_BACK[0] * work:
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
