"""Check whether the bounds of starts hold for kernels that follow at a known distance."""

from __future__ import annotations

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.requirements.held_bounds import verdict_on
from tb_privateuse1.testing.conformance.subject import Subject
from tb_privateuse1.testing.conformance.truth import attempt


def _check(subject: Subject) -> Answer:
    found = attempt(subject)
    if isinstance(found, str):
        return Answer("unknown", found)
    count = found.judged - found.kernels
    said = (
        f"{found.starts_held} of {count} bounds held; bound {found.start_bound_ns / 1000:.1f} µs, "
        f"checked by the host to ±{found.start_room_ns / 1000:.1f}; apart by "
        f"{found.start_error_ns / 1000:.1f} (95 %: {found.start_error_p95_ns / 1000:.1f})"
    )
    return Answer(verdict_on(found.starts_held, count), said, found.as_json())


REQUIREMENT = Requirement(
    "known_starts",
    "starts of known kernels",
    "The dashboard's timeline of this backend is further off than its bounds say.",
    "def event_times() -> tuple[int, int]:  # of torch.<backend>: makes starts measured\n"
    "    return _C.event_times()  # ns of both events after a reference event",
    _check,
    rests_on=("registered", "stubs_called", "elapsed_read", "elapsed_unit"),
    language="Python",
    section="event-times-and-streams",
)
