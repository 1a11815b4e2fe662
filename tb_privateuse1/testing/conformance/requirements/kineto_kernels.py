"""Check whether a Kineto profiler records every kernel, with its length."""

from __future__ import annotations

import statistics

from tb_privateuse1.capture.result_rows import duration_ns
from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.requirements.kineto_rows import (
    OPERATORS,
    kernels_of_operators,
    recorded,
)
from tb_privateuse1.testing.conformance.subject import Subject

_ALIKE = 1.5
"""The host's time of a kernel contains a gap, and what the host was late."""


def _check(subject: Subject) -> Answer:
    found = recorded(subject)
    kernels = kernels_of_operators(found)
    values = {"rows": len(found.device), "kernels": len(kernels)}
    if len(kernels) < OPERATORS:
        return Answer("fail", f"{len(kernels)} kernels of {OPERATORS} operators", values)
    middle = statistics.median(map(duration_ns, kernels))
    ratio = middle / subject.operator_ns
    said = f"{middle / 1000:.0f} µs where the host sees {subject.operator_ns / 1000:.0f}"
    verdict = "ok" if 1 / _ALIKE < ratio < _ALIKE else "fail"
    return Answer(verdict, said, {**values, "ratio": ratio})  # type: ignore[arg-type]


REQUIREMENT = Requirement(
    "kineto_kernels",
    "Kineto has every kernel, with its length",
    "Kernels are missing, or their times are in another unit.",
    "activity.startTime = kernel.start_ns;  // ns since the epoch, on the host's clock\n"
    "activity.endTime = kernel.end_ns;",
    _check,
    "native",
    section="best-measured-kernels",
)
