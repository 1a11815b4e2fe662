"""Check whether later events have later times."""

from __future__ import annotations

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_NO_EVENTS = -1


def _check(subject: Subject) -> Answer:
    rows = [row for row in subject.sample if row.elapsed is not None]
    backwards = sum(row.elapsed < _NO_EVENTS for row in rows if row.elapsed is not None)
    values = {"rows": len(rows), "backwards": backwards}
    if not rows:
        return Answer("unknown", "no times can be read", values)
    if backwards:
        return Answer("fail", f"{backwards} of {len(rows)} operators end before they begin", values)
    return Answer("ok", f"{len(rows)} operators end behind their begin", values)


REQUIREMENT = Requirement(
    "monotony",
    "times never run backwards",
    "Such operators have no time, and those around them the wrong one.",
    "// One clock for all events of a device, read when the stream comes to the event:\n"
    "driver_event_record(event, current_stream());  // not the host's clock, not another engine's",
    _check,
    "events",
    rests_on=("stubs_called",),
)
