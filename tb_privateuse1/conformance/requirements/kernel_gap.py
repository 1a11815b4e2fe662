"""Measure what lies between two kernels on a busy device."""

from __future__ import annotations

from tb_privateuse1.conformance.lines import Answer, Requirement
from tb_privateuse1.conformance.subject import Subject

_LONG_NS = 20_000
"""Longer than any device needs between two kernels: something else runs there."""


def _check(subject: Subject) -> Answer:
    costs = subject.calibration.costs
    if costs.gap_ns is None or costs.gap_bound_ns is None:
        if subject.calibration.elapsed_kind != "event":
            return Answer("none", "needs times between events")
        return Answer("ok", "not measured on this host; the usual 0.8 µs is taken", {"ns": None})
    least = costs.gap_ns - costs.gap_bound_ns
    said = f"{costs.gap_ns / 1000:.1f} ± {costs.gap_bound_ns / 1000:.1f} µs"
    values = {"ns": costs.gap_ns, "bound_ns": costs.gap_bound_ns}
    return Answer("ok" if least <= _LONG_NS else "warn", said, values)


REQUIREMENT = Requirement(
    "kernel_gap",
    "kernels follow each other closely",
    "Durations of kernels contain what lies between them.",
    "// Launch without a barrier or a flush between kernels of one stream.",
    _check,
    "events",
    rests_on=("elapsed_unit",),
)
