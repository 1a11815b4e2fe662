"""Check whether the times of a Kineto profiler are on the host's clock."""

from __future__ import annotations

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.requirements.kineto_rows import is_within, record
from tb_privateuse1.testing.conformance.subject import Subject

_TRIES = 8
"""A host that waits late leaves room for a wrong clock; one calm recording shows it."""
_ROOM_NS = 5_000
"""How far two clocks that are tied to each other may be apart."""


def _check(subject: Subject) -> Answer:
    rows = 0
    for _ in range(_TRIES):
        found = record(subject)
        rows += len(found.device)
        outside = sum(
            not is_within(row, found.began_ns, found.ended_ns, _ROOM_NS) for row in found.device
        )
        if outside:
            said = f"{outside} of {len(found.device)} are before their launch or behind the wait"
            return Answer("fail", said, {"rows": len(found.device), "outside": outside})
    if not rows:
        return Answer("unknown", "nothing of the device is recorded")
    return Answer("ok", f"{rows} lie between launch and wait", {"rows": rows, "outside": 0})


REQUIREMENT = Requirement(
    "kineto_clock",
    "Kineto's times are on the host's clock",
    "Kernels are drawn before their launches or behind the wait for them; idle times are wrong.",
    "const int64_t offset = host_now_ns() - device_now_ns();  // at start and stop of the session\n"
    "activity.startTime = kernel.start_ticks_ns + offset;     // and between both by its drift",
    _check,
    "native",
    section="best-measured-kernels",
)
