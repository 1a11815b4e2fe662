"""Clocks of devices that drift or tick coarsely: bounds reach as far as they may be off."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tb_privateuse1.trace import uncertainty
from tests.support import simulate
from tests.support.simulate import Machine, Op, linear, step

DEEP = [linear(8_000, 1_500_000), linear(8_000, 900_000)] * 10
"""Work that takes the device a hundred times as long as the host."""


@pytest.mark.parametrize(
    ("ppm", "tick_ns"),
    [(450, 1_000), (-450, 1_000), (0, 8_000), (300, 8_000), (-300, 4_000)],
)
@pytest.mark.parametrize("seed", range(2))
def test_bounds_hold_with_a_clock_that_drifts_or_is_coarse(
    ppm: int, tick_ns: int, seed: int
) -> None:
    chance = random.Random(seed)
    wait = Op("synchronize", 1_000, 500, blocking=True, category="user_annotation")
    machine = Machine()
    for number in range(5):
        machine.run(step(number, *chance.sample(DEEP, len(DEEP))))
    machine.run(wait)
    elapsed: dict[int, float | None] = {
        # Both events show the last tick of a clock that is faster by ``ppm``.
        number: float((_tick(last, ppm, tick_ns) - _tick(first, ppm, tick_ns)) // 1000)
        for number, (first, last) in machine.executed.items()
    }
    trace = simulate.infer_from(machine.events, elapsed, launch_latency_ns=simulate.LATENCY)
    kernels = trace.kernels
    true = np.array(list(machine.kernels.values())) - trace.base_ns
    assert (np.abs(kernels.start_ns - true[:, 0]) <= kernels.start_bound_ns).mean() >= 0.95
    length = kernels.end_ns - kernels.start_ns
    off = np.abs(length - (true[:, 1] - true[:, 0]))
    assert (off <= kernels.duration_bound_ns).mean() >= 0.95
    bound = uncertainty.union_bound(kernels)
    assert bound is not None
    assert abs(int(length.sum()) - int((true[:, 1] - true[:, 0]).sum())) <= bound
    assert not trace.meta.unseen_work


def _tick(at: int, ppm: int, tick_ns: int) -> int:
    return round(at * (1 + ppm / 1e6)) // tick_ns * tick_ns


def resolution_of(values_us: list[int]) -> int | None:
    """The resolution in ns that is shown for operators with these elapsed times."""
    machine = Machine()
    machine.run(step(0, *[linear(8_000, 20_000)] * len(values_us)))
    named = {int(e["args"]["External id"]) for e in machine.events if e["name"] == "aten::addmm"}
    value = dict(zip(sorted(named), values_us, strict=True))
    elapsed: dict[int, float | None] = {number: value.get(number) for number in machine.executed}
    trace = simulate.infer_from(machine.events, elapsed)
    grounds = trace.meta.grounds
    assert grounds is not None
    return next(one.value_ns for one in grounds.constants if one.name == "elapsed_resolution")


def test_many_multiples_of_two_microseconds_show_a_clock_of_that_tick() -> None:
    """Of one microsecond they would be in one of 2**20 recordings; a few of them show nothing."""
    assert resolution_of([2 * n for n in range(12, 32)]) == 2_000
    assert resolution_of([2 * n for n in range(12, 20)]) == 1_000
