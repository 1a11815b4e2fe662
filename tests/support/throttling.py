"""Programs on a device whose clock changes: some kernels slow down with it, others do not.

Times are microseconds. The clock is that at a kernel's start; a kernel takes its cycles / clock,
one that memory limits takes the same time at any clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.trace.model import Trace
from tests.support.make import Event
from tests.support.program import Program

HIGH_MHZ = 1_500.0
KERNELS = {"gemm": 100.0, "attention": 80.0, "norm": 60.0}
"""Lengths at the high clock."""

Curve = Callable[[float], float]


@dataclass(frozen=True)
class Device:
    """The clock of a device in MHz over time in us, and what kernels make of it."""

    clock: Curve
    slope: float = 1.0
    """Of a kernel's length with 1 / clock: 0 where memory limits it."""
    noise: float = 0.01


def run(device: Device, *counters: Event, steps: int = 6, calls: int = 210, seed: int = 0) -> Trace:
    """Run steps of ``calls`` kernels each, which keep the device busy."""
    random, program = np.random.default_rng(seed), Program()
    shapes = {"Input Dims": [[64, 64]]}
    names = list(KERNELS)
    for _ in range(steps):
        with program.step():
            for i in range(calls):
                name = names[i % len(names)]
                begin = max(program.now + 11, program.device)
                slower = (HIGH_MHZ / device.clock(begin)) ** device.slope
                length = KERNELS[name] * slower * (1 + device.noise * random.standard_normal())
                program.op(f"aten::{name}", 10, kernel=round(length, 3), device=name, **shapes)
            program.wait()
    program.events += counters
    return program.trace()


def counter(
    curve: Curve, until_us: float, every_us: float = 500, key: str = "MHz", name: str = "Clock"
) -> list[Event]:
    """Return a counter's values every ``every_us``."""
    at = np.arange(0, until_us, every_us).tolist()
    return [
        {"ph": "C", "name": name, "pid": "GPU", "ts": ts, "args": {key: curve(ts)}} for ts in at
    ]


def falls(every_us: float = 8_000, for_us: float = 2_000, low: float = 1_200.0) -> Curve:
    """Return a clock that falls for a while again and again, on the grid of ``counter``."""
    return lambda at: low if at % every_us >= every_us - for_us else HIGH_MHZ
