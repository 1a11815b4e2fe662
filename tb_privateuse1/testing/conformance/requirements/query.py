"""Check whether a query says what is true: work is under way, or done."""

from __future__ import annotations

import time

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_TRIES, _ENOUGH = 8, 3
"""A host that is held up may see work done behind the query: one right answer is enough."""
_LEFT = 0.5
"""The share of a backlog that must be left, so that no query may call it done."""
_PATIENCE_S = 0.2


def _check(subject: Subject) -> Answer:
    whole = subject.backlog_ns
    early = judged = 0
    for _ in range(_TRIES):
        if judged >= _ENOUGH:
            break
        subject.read_back()
        began = time.perf_counter_ns()
        subject.launch()
        event = subject.event()
        event.record()
        done = bool(event.query())
        left = subject.read_back()
        launched = time.perf_counter_ns() - began - left
        if launched < (1 - _LEFT) * whole and left > _LEFT * whole:
            judged += 1
            early += done
        if not _becomes_done(event):
            return Answer("fail", "never says that the work is done")
    values = {"judged": judged, "early": early}
    if judged and early == judged:
        return Answer("fail", f"says done while {_LEFT:.0%} of the work is left", values)
    if not judged:
        return Answer("unknown", "launches took as long as their work", values)
    return Answer("ok", f"not done, then done, in {judged - early} of {judged} tries", values)


def _becomes_done(event: object) -> bool:
    """Return whether a query finds that the work is done, which it is."""
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        if event.query():  # type: ignore[attr-defined]
            return True
    return False


REQUIREMENT = Requirement(
    "query",
    "Event.query says whether the work is done",
    "The launch latency cannot be measured: it shifts all starts. Allocators reuse memory too "
    "early, or never.",
    "bool queryEvent(void* event) const override {  // of the DeviceGuardImplInterface\n"
    "  return driver_event_query(event) == DRIVER_SUCCESS;  // DRIVER_NOT_READY: false\n"
    "}",
    _check,
)
