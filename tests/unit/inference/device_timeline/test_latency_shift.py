"""A launch latency that nobody measured shifts all starts together, and nothing else."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tb_privateuse1.trace import intervals, uncertainty
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import I64
from tb_privateuse1.views.method import method
from tb_privateuse1.views.overview import overview
from tests.support import simulate
from tests.support.simulate import Machine, Op, Result, linear, step

SHIFT = 244_000
"""From the assumed latency to the greatest one, where no call waited for the device."""


def program(seed: int) -> list[Op]:
    """Steps of products of several kinds, some slower than the host, each with a wait behind."""
    chance = random.Random(seed)
    work = [linear(chance.randint(5_000, 20_000), chance.randint(2_000, 60_000)) for _ in range(6)]
    item = Op("aten::item", 2_000, 1_000, 3_000, blocking=True)
    return [step(n, *chance.choices(work, k=12), item) for n in range(4)]


def run(seed: int, latency: int, **facts: Any) -> Result:
    """The program on a device with this latency."""
    machine = Machine(latency=latency)
    for op in program(seed):
        machine.run(op)
    trace = simulate.infer_from(machine.events, machine.elapsed, **facts)
    ids = np.array(list(machine.kernels), np.int64)
    times = np.array(list(machine.kernels.values()), np.int64).reshape(-1, 2) - trace.base_ns
    return Result(trace, ids, times[:, 0], times[:, 1])


def errors(result: Result) -> tuple[I64, I64]:
    """How far starts and durations are off, and which kernels are in the truth."""
    kernels = result.trace.kernels
    ids = result.trace.ops.external_id[kernels.op]
    at = np.searchsorted(result.ids, ids, sorter=np.argsort(result.ids))
    row = np.argsort(result.ids)[at]
    length = kernels.end_ns - kernels.start_ns
    return kernels.start_ns - result.start_ns[row], length - (result.end_ns - result.start_ns)[row]


@pytest.mark.parametrize("latency", [4_000, 6_000, 12_000, 24_000])
@pytest.mark.parametrize("seed", range(3))
def test_starts_hold_with_the_shift(seed: int, latency: int) -> None:
    result = run(seed, latency)
    kernels = result.trace.kernels
    (shift,) = np.unique(kernels.shift_bound_ns)
    assert abs(latency - 6_000) <= shift <= SHIFT
    start, duration = errors(result)
    known = kernels.start_bound_ns != MISSING
    assert (np.abs(start) <= kernels.start_bound_ns)[known].mean() >= 0.95
    assert (np.abs(duration) <= kernels.duration_bound_ns).mean() >= 0.95
    # Together they are off by the latency's error; beside each other by their own bounds.
    own = uncertainty.own_start_bound(kernels)
    beside = np.abs(start + latency - 6_000)
    assert (beside <= own)[known].mean() >= 0.95


@pytest.mark.parametrize(
    ("spread", "bound"), [(None, 1_000), (300, 1_000), (4_000, 4_000), (900_000, 25_000)]
)
def test_the_spread_of_the_measured_latency_is_its_bound(spread: int | None, bound: int) -> None:
    """The capture's least latency is the launches' own only as far as they are alike."""
    facts = {} if spread is None else {"launch_latency_spread_ns": spread}
    found = run(0, 6_000, launch_latency_ns=6_000, **facts).trace
    assert (found.kernels.shift_bound_ns == bound).all()
    latency = {c.name: c for c in method(found).constants}["launch_latency"]
    assert (latency.value_ns, latency.least_ns, latency.most_ns) == (6_000, 5_000, 6_000 + bound)


def test_the_spread_of_a_waits_return_is_shown() -> None:
    known = run(0, 6_000, sync_return_ns=2_000, sync_return_spread_ns=700).trace
    returned = {c.name: c for c in method(known).constants}["sync_return"]
    assert (returned.value_ns, returned.least_ns, returned.most_ns) == (2_000, 2_000, 2_700)


@pytest.mark.parametrize("seed", range(3))
def test_sums_and_durations_do_not_depend_on_the_shift(seed: int) -> None:
    known, guessed = run(seed, 6_000, launch_latency_ns=6_000), run(seed, 6_000)
    assert (known.trace.kernels.shift_bound_ns == 1_000).all()
    for name in ("start_ns", "end_ns", "duration_bound_ns"):
        assert np.array_equal(
            getattr(known.trace.kernels, name), getattr(guessed.trace.kernels, name)
        )
    one, other = (uncertainty.own_start_bound(r.trace.kernels) for r in (known, guessed))
    assert np.array_equal(one, other)
    totals = [overview(r.trace).totals for r in (known, guessed)]
    assert totals[0] == totals[1]
    shown = method(guessed.trace)
    assert shown.shift_bound_ns == SHIFT
    assert shown.median_start_bound_ns == method(known.trace).median_start_bound_ns


@pytest.mark.long
def test_the_busy_time_is_inside_its_bound() -> None:
    """Of programs on devices of any latency."""
    inside = []
    for seed in range(40):
        result = run(seed, random.Random(seed).randint(3_000, 25_000))
        totals = overview(result.trace).totals
        true = intervals.length(intervals.union(result.start_ns, result.end_ns))
        assert totals.busy_ns is not None
        assert totals.busy_bound_ns is not None
        inside.append(abs(totals.busy_ns - true) <= totals.busy_bound_ns)
    assert np.mean(inside) >= 0.95


@pytest.mark.parametrize("latency", [6_000, 40_000, 200_000])
def test_starts_hold_where_no_call_waits(latency: int) -> None:
    machine = Machine(latency=latency)
    for op in [step(n, *[linear(30_000, 9_000)] * 20) for n in range(4)]:
        machine.run(op)
    trace = simulate.infer_from(machine.events, machine.elapsed)
    kernels = trace.kernels
    assert (kernels.shift_bound_ns == SHIFT).all()
    true = np.array([start for start, _ in machine.kernels.values()]) - trace.base_ns
    assert (np.abs(kernels.start_ns - true) <= kernels.start_bound_ns).all()


@pytest.mark.parametrize("latency", [6_000, 40_000, 200_000])
def test_a_call_that_waited_bounds_the_latency(latency: int) -> None:
    """It returned 4 us after its work of 1.5 us, which it launched behind 2 us of its own."""
    machine = Machine(latency=latency)
    item = Op("aten::_local_scalar_dense", 2_000, 1_000, 1_500, blocking=True)
    for op in [step(n, *[linear(10_000, 40_000)] * 10, item) for n in range(4)]:
        machine.run(op)
    machine.run(item)
    trace = simulate.infer_from(machine.events, machine.elapsed)
    (shift,) = np.unique(trace.kernels.shift_bound_ns)
    assert latency - 6_000 <= shift <= max(latency + 30_000 - 6_000, 3_000)
    most = {c.name: c.most_ns for c in method(trace).constants}["launch_latency"]
    assert most == shift + 6_000
