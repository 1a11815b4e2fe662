"""Check whether operators have events around them."""

from __future__ import annotations

from tb_privateuse1.testing.conformance.lines import Answer, Requirement, Verdict
from tb_privateuse1.testing.conformance.subject import Subject

_NO_EVENTS = -1
"""What torch returns for a row without events."""


def _check(subject: Subject) -> Answer:
    rows = subject.sample
    without = sum(row.elapsed == _NO_EVENTS for row in rows)
    values = {"rows": len(rows), "without_events": without}
    if not rows:
        return Answer("unknown", "torch recorded no operators", values)
    if without == 0:
        return Answer("ok", f"{len(rows)} of {len(rows)} operators have events", values)
    verdict: Verdict = "fail" if 2 * without > len(rows) else "warn"
    return Answer(verdict, f"{without} of {len(rows)} operators have no events", values)


REQUIREMENT = Requirement(
    "stubs_called",
    "the stubs record events",
    "Operators without events have no device time, and their kernels are not seen.",
    "void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event, int64_t* cpu_ns)\n"
    "    const override {\n"
    "  *event = std::make_shared<MyEvent>(current_stream());  // never left null\n"
    "}",
    _check,
    "events",
    section="least-events-around-operators",
)
