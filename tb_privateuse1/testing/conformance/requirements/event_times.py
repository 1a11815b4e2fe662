"""Check whether the backend tells when the device executed the events."""

from __future__ import annotations

from itertools import pairwise

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_ROOM_NS = 2_000
"""torch cuts elapsed times to microseconds, and a backend may round either time."""


def _check(subject: Subject) -> Answer:
    if not hasattr(subject.module, "event_times"):
        return Answer("warn", f"torch.{subject.name} has no event_times")
    rows = [row for row in subject.sample if row.times_ns and row.elapsed is not None]
    if not rows:
        return Answer("fail", "it returned nothing")
    if any(len(row.times_ns or ()) != 2 for row in rows):
        return Answer("fail", "it does not return two numbers")
    pairs = [(row.times_ns or (0, 0), row.elapsed or 0) for row in rows]
    apart = [abs(second - first - us * 1000) for (first, second), us in pairs]
    off = sum(one > _ROOM_NS + us * 10 for one, (_, us) in zip(apart, pairs, strict=True))
    values = {"rows": len(rows), "off": off, "most_apart_ns": max(apart)}
    if off:
        return Answer("fail", f"{off} of {len(rows)} do not fit elapsed(): not in ns?", values)
    starts = [row.times_ns[0] for row in sorted(rows, key=lambda row: row.start_ns) if row.times_ns]
    if any(later < earlier for earlier, later in pairwise(starts)):
        return Answer("fail", "later events have earlier times", values)
    return Answer("ok", f"{len(rows)} operators, in ns, fit elapsed()", values)


REQUIREMENT = Requirement(
    "event_times",
    "the time of each event is known",
    "Starts are inferred from elapsed times: a device behind the host is known to tens of µs.",
    "def event_times() -> tuple[int, int]:  # of torch.<backend>, in ns\n"
    "    return _C.event_times()  # when the device executed the events of the last elapsed()",
    _check,
    "events",
    rests_on=("stubs_called", "elapsed_read", "elapsed_unit"),
    language="Python",
    section="event-times-and-streams",
)
