"""Measure what lies between two kernels on a busy device."""

from __future__ import annotations

import time

from tb_privateuse1.capture.calibration.queue_costs import gap_between
from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.requirements.behind_work import behind_work, event_ns
from tb_privateuse1.testing.conformance.subject import Subject

_LONG_NS = 20_000
"""Longer than any device needs between two kernels: something else runs there. A bound that is
wider than this says nothing."""
_OPERATORS = 16
_FEWEST, _MOST_TRIES, _PATIENCE_NS = 20, 400, 50_000_000
"""Of a kernel alone: a busy host can only delay what it sees, so that the shortest try counts."""
_AGREE, _APART_NS = 3, 5_000
"""The shortest tries that must agree, and how far apart they may be: one may be late as a whole.
One that is late makes the gap seem shorter, so that a long one needs no calm host."""
_IDLE_NS = 200_000
"""What is longer ago than this is no kernel before: ten times the longest gap that is in order."""


def _check(subject: Subject) -> Answer:
    if subject.calibration.elapsed_kind == "kernel_sum":
        return Answer("none", "sums of kernels do not show it")
    found = _measured(subject)
    if isinstance(found, str):
        return Answer("unknown", f"{found}; recordings take 0.8 µs", {"ns": None})
    gap, bound, is_calm = found
    said = f"{gap / 1000:.1f} ± {bound / 1000:.1f} µs"
    values = {"ns": gap, "bound_ns": bound}
    if gap - bound > _LONG_NS:
        return Answer("warn", said, values)
    if not is_calm or bound > _LONG_NS:
        return Answer("unknown", f"the host is too busy: {said}", values)
    return Answer("ok", said, values)


def _measured(subject: Subject) -> tuple[int, int, bool] | str:
    """Return the gap and its bound in ns, and whether the host was calm, or why it is not known.

    A kernel alone takes no gap, and one in a row behind long work takes it.
    """
    latency, event = subject.calibration.launch_latency_ns, event_ns(subject)
    row = behind_work(subject, lambda: subject.launch(_OPERATORS))
    if latency is None:
        return "the latency of a launch is not known"
    if row is None or event is None:
        return "the device was never behind the host"
    period = (row.elapsed_ns - row.marks * event) / _OPERATORS
    (most, least), is_calm = _calmest(subject)
    gap, bound = gap_between(period, least - latency, most - latency)
    if gap is None or bound is None:
        taken = f"{(least - latency) / 1000:.0f} to {(most - latency) / 1000:.0f} µs alone"
        return f"a kernel takes {taken}, {period / 1000:.0f} in a row"
    return gap, bound, is_calm


def _calmest(subject: Subject) -> tuple[tuple[int, int], bool]:
    """Return the shortest of some tries of ``_alone``, and whether the shortest ones agree."""
    tries: list[tuple[int, int]] = []
    while len(tries) < _MOST_TRIES:
        tries = sorted([*tries, _alone(subject)])
        if len(tries) >= _FEWEST and tries[_AGREE - 1][0] - tries[0][0] <= _APART_NS:
            return tries[0], True
    return tries[0], False


def _alone(subject: Subject) -> tuple[int, int]:
    """Return the time from the call, and from the return, of an operator until it is done, in ns.

    The device is idle before. Raises TimeoutError if no query finds it done.
    """
    event = subject.event()
    subject.read_back()
    idle = time.perf_counter_ns() + _IDLE_NS
    while (called := time.perf_counter_ns()) < idle:
        pass  # a thread that sleeps wakes late
    subject.launch(1)
    returned = time.perf_counter_ns()
    event.record()
    while not event.query():
        if time.perf_counter_ns() - returned > _PATIENCE_NS:
            raise TimeoutError("an event behind a kernel does not complete")
    done = time.perf_counter_ns()
    return done - called, done - returned


REQUIREMENT = Requirement(
    "kernel_gap",
    "kernels follow each other closely",
    "Durations of kernels contain what lies between them.",
    "driver_launch(kernel, arguments, current_stream());  // and no barrier or flush behind it:\n"
    "driver_launch(next, arguments, current_stream());     // the stream keeps their order",
    _check,
    "events",
    rests_on=("elapsed_unit",),
)
