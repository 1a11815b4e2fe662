"""Measure what it costs to read the time of an operator."""

from __future__ import annotations

import time

from torch.autograd.profiler import profile as autograd_profile

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_QUICK_US = 20.0
"""Per operator: a step of 10,000 operators then takes 0.2 s longer to write."""
_READS, _TRIES = 48, 10


def _check(subject: Subject) -> Answer:
    costs: list[float] = []
    while len(costs) < _TRIES and min(costs, default=_QUICK_US + 1) > _QUICK_US:
        reads = _reads_us(subject)
        if not reads:
            return Answer("unknown", "torch recorded no operators")
        costs.append(sorted(reads)[len(reads) // 4])
    cost = min(costs)  # a busy host can only make it longer
    values = {"us": cost}
    return Answer("ok" if cost <= _QUICK_US else "warn", f"{cost:.1f} µs per operator", values)


def _reads_us(subject: Subject) -> list[float]:
    """Return how long it takes to read each time of a recording, in µs."""
    with autograd_profile(use_device=subject.name, use_kineto=False) as probe:
        subject.launch(_READS)
        subject.read_back()
    rows = [row for row in probe.kineto_results.events() if row.correlation_id() > 0]
    reads = []
    for row in rows[:_READS]:
        before = time.perf_counter_ns()
        row.privateuse1_elapsed_us()
        reads.append((time.perf_counter_ns() - before) / 1000)
    return reads


REQUIREMENT = Requirement(
    "elapsed_cost",
    "elapsed() is quick",
    "The training waits for it behind each window, once per operator.",
    "// Ask the driver once per event and keep its time; do not wait for the whole device:\n"
    "driver_event_synchronize(second->get());",
    _check,
    "events",
    rests_on=("stubs_called", "elapsed_read"),
)
