"""Estimates far from all that ties the device to the host, and how far they may be off."""

from __future__ import annotations

import numpy as np

from tests.support import simulate
from tests.support.simulate import Op, inside, linear, start_errors, step

US = 1_000


def program(kernels: list[int]) -> list[Op]:
    """Two steps of linear layers far ahead of the device, then a read that waits for it."""
    ops = [linear(6 * US, ns) for ns in kernels]
    read = Op("aten::_local_scalar_dense", 3 * US, 500, 2 * US, blocking=True)
    return [step(0, *ops), Op("aten::item", US, 500, children=(read,)), step(1, *ops)]


def test_a_clock_of_whole_microseconds_loses_nothing() -> None:
    """Half a microsecond of each operator would add up to a hundred over these."""
    kernels = np.random.default_rng(3).integers(40, 90, 200) * US
    result = simulate.simulate(program(kernels.tolist()), backlog=30_000 * US, mark=0, gap=0)
    assert inside(result)
    assert max(start_errors(result)) < 12 * US


def test_equal_work_loses_the_same_fraction_again_and_again() -> None:
    """The roundings of 200 equal operators are one rounding, 200 times."""
    result = simulate.simulate(program([60_250] * 200), backlog=30_000 * US)
    assert inside(result)
    assert max(start_errors(result)) < 100 * US


def test_the_cost_of_an_event_adds_up_over_all_of_them() -> None:
    """3,000 events cost 10 ns less than the trace shows at best: 30 us."""
    kernels = np.random.default_rng(5).integers(40_000, 90_000, 200)
    result = simulate.simulate(program(kernels.tolist()), backlog=30_000 * US, mark=290)
    assert inside(result)
    assert max(start_errors(result)) < 15 * US


def test_what_two_known_ends_contradict_is_shared_between_them() -> None:
    """Each of 20 equal steps loses the same fraction: what one end misses, the other shows."""
    read = Op("aten::_local_scalar_dense", 3 * US, 500, 2 * US, blocking=True)
    wait = Op("aten::item", US, 500, children=(read,))
    steps = [step(i, *[linear(6 * US, 60_250)] * 20) for i in range(20)]
    result = simulate.simulate([wait, *steps, wait])
    assert inside(result)
    assert max(start_errors(result)) < 3 * US
