"""Measure what an event takes of the device's time."""

from __future__ import annotations

from tb_privateuse1.conformance.lines import Answer, Requirement
from tb_privateuse1.conformance.subject import Subject

_CHEAP_NS = 5_000
"""Two of them around a kernel of 10 µs then double its time."""
_TRIES, _ENOUGH = 10, 2
_BACKLOGS = 3
_RANGES = 24
_RANGE = "tb_privateuse1::cost"


def _check(subject: Subject) -> Answer:
    if subject.calibration.elapsed_kind == "kernel_sum":
        return Answer("none", "sums of kernels do not show it")
    cost = subject.calibration.costs.mark_ns
    cost = _behind_work(subject) if cost is None else cost
    if cost is None:
        return Answer("unknown", "the device was never behind the host")
    verdict = "ok" if cost <= _CHEAP_NS else "warn"
    return Answer(verdict, f"{cost / 1000:.1f} µs of the device", {"ns": cost})  # type: ignore[arg-type]


def _behind_work(subject: Subject) -> int | None:
    """Return the least time between the two events of an empty range behind long work, in ns.

    None if the device has done the work before the ranges are recorded.
    """
    from torch.autograd.profiler import record_function

    def work() -> None:
        subject.launch(_BACKLOGS * subject.backlog)
        with record_function(_RANGE):
            for _ in range(_RANGES):
                with record_function("tb_privateuse1::empty"):
                    pass

    found: list[int] = []
    for _ in range(_TRIES):
        if len(found) >= _ENOUGH:
            break
        rows = subject.rows(work)
        outer = next((row for row in rows if row.name == _RANGE), None)
        if outer is None or outer.elapsed is None or outer.elapsed < 0:
            return None
        launched = min(row.start_ns for row in rows)
        if outer.end_ns - launched < _BACKLOGS * subject.backlog_ns // 2:
            found.append(outer.elapsed * 1000 // (2 * _RANGES + 1))
    return min(found, default=None)


REQUIREMENT = Requirement(
    "event_cost",
    "an event costs the device little",
    "The recording slows the program down, and short kernels hide between their events.",
    "driver_event_create(&event, DRIVER_EVENT_NO_FENCE);  // a timestamp, without a cache flush",
    _check,
    "events",
    rests_on=("stubs_called", "elapsed_read", "elapsed_unit"),
)
