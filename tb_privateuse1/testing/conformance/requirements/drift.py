"""By how much the device's clock runs faster or slower than the host's."""

from __future__ import annotations

import time
from contextlib import ExitStack

import numpy as np
from torch.autograd.profiler import record_function

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_SLEEP_S, _TRIES, _NESTED = 0.1, 4, 6
_RANGE = "tb_privateuse1::drift"
_MOST_PPM = 100.0
"""Two quartz clocks of 50 ppm each differ by no more."""
_VAGUE_PPM = 60.0
"""Half the distance of the quartiles, beyond which the host's clock was read too late."""


def _check(subject: Subject) -> Answer:
    if subject.calibration.elapsed_kind == "kernel_sum":
        return Answer("none", "sums of kernels have no clock")
    ppm = []
    for _ in range(_TRIES):
        rows = [row for row in subject.rows(_sleep_in_ranges) if row.name == _RANGE]
        ppm += [
            (row.elapsed * 1000 - row.host_ns) / row.host_ns * 1e6
            for row in rows
            if row.elapsed and row.elapsed > 0
        ]
    if not ppm:
        return Answer("unknown", "no range has a time")
    low, middle, high = np.quantile(ppm, (0.25, 0.5, 0.75))
    values = {"ppm": float(middle), "spread_ppm": float(high - low) / 2}
    if values["spread_ppm"] > _VAGUE_PPM and abs(middle) - values["spread_ppm"] < _MOST_PPM:
        return Answer("unknown", f"the host is too busy: {low:.0f} to {high:.0f} ppm", values)
    verdict = "ok" if abs(middle) <= _MOST_PPM else "warn"
    return Answer(verdict, f"{middle:.0f} ppm against the host's", values)  # type: ignore[arg-type]


def _sleep_in_ranges() -> None:
    with ExitStack() as ranges:
        for _ in range(_NESTED):
            ranges.enter_context(record_function(_RANGE))
        time.sleep(_SLEEP_S)


REQUIREMENT = Requirement(
    "drift",
    "the clock keeps the host's pace",
    "In a window of a second, 100 ppm are 100 µs: starts of kernels move against their launches.",
    "// Convert ticks by the frequency that the driver reports, measured against the host:\n"
    "const int64_t hz = driver_clock_frequency_hz();\n"
    "ns = ticks / hz * 1'000'000'000 + ticks % hz * 1'000'000'000 / hz;  // never overflows",
    _check,
    "events",
    rests_on=("stubs_called", "elapsed_read", "elapsed_unit", "monotony"),
)
