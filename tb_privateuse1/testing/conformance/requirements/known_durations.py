"""Check whether the bounds of durations hold for kernels of known length."""

from __future__ import annotations

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.requirements.held_bounds import verdict_on
from tb_privateuse1.testing.conformance.subject import Subject
from tb_privateuse1.testing.conformance.truth import attempt


def _check(subject: Subject) -> Answer:
    found = attempt(subject)
    if isinstance(found, str):
        return Answer("unknown", found)
    said = (
        f"{found.durations_held} of {found.kernels} bounds held; off by "
        f"{found.duration_error_ns / 1000:.1f} µs (95 %: {found.duration_error_p95_ns / 1000:.1f}) "
        f"of {found.operator_ns / 1000:.0f}, bound {found.duration_bound_ns / 1000:.1f}"
    )
    return Answer(verdict_on(found.durations_held, found.kernels), said, found.as_json())


REQUIREMENT = Requirement(
    "known_durations",
    "durations of known kernels",
    "The dashboard's durations of this backend are further off than their bounds say.",
    "# The lines above name the cause: events that come late, cost much, or are on another stream.",
    _check,
    rests_on=("registered", "stubs_called", "elapsed_read", "elapsed_unit"),
    language="Python",
)
