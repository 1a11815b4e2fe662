"""Whether the times of a Kineto profiler are on the host's clock."""

from __future__ import annotations

from tb_privateuse1.conformance.lines import Answer, Requirement
from tb_privateuse1.conformance.requirements.kineto_rows import is_within, recorded
from tb_privateuse1.conformance.subject import Subject

_ROOM_NS = 5_000
"""How far two clocks that are tied to each other may be apart."""


def _check(subject: Subject) -> Answer:
    found = recorded(subject)
    outside = [
        row for row in found.device if not is_within(row, found.began_ns, found.ended_ns, _ROOM_NS)
    ]
    values = {"rows": len(found.device), "outside": len(outside)}
    if outside:
        said = f"{len(outside)} of {len(found.device)} are before their launch or behind their end"
        return Answer("fail", said, values)
    return Answer("ok", f"{len(found.device)} lie between launch and wait", values)


REQUIREMENT = Requirement(
    "kineto_clock",
    "Kineto's times are on the host's clock",
    "Kernels are drawn before their launches or behind the wait for them; idle times are wrong.",
    "const int64_t offset = host_now_ns() - device_now_ns();  // at start and stop of the session\n"
    "activity.startTime = kernel.start_ticks_ns + offset;     // and between both by its drift",
    _check,
    "native",
)
