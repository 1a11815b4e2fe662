"""Constants of the device: known devices', the capture's, and those of the trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_privateuse1.trace.inference_basis import Constant
from tests.support.simulate import GAP, MARK, Op, Result, linear, simulate, step

PROGRAM = [step(i, *[linear(20_000, 15_000)] * 6) for i in range(4)]


def constants(**facts: Any) -> dict[str, Constant]:
    return constants_of(simulate(PROGRAM, **facts))


def constants_of(result: Result) -> dict[str, Constant]:
    grounds = result.trace.meta.grounds
    assert grounds is not None
    return {constant.name: constant for constant in grounds.constants}


def test_without_measurements_the_gap_is_that_of_known_devices() -> None:
    shown = constants()
    assert shown["kernel_gap"].source == "assumed"
    assert shown["event_cost"].source != "capture"


def test_what_the_capture_measured_replaces_the_estimates() -> None:
    shown = constants(
        mark_cost_ns=MARK, mark_cost_bound_ns=20, kernel_gap_ns=900, kernel_gap_bound_ns=300
    )
    gap = shown["kernel_gap"]
    assert (gap.source, gap.value_ns, gap.least_ns, gap.most_ns) == ("capture", GAP, 600, 1_200)
    shown = constants(mark_cost_ns=1_900, mark_cost_bound_ns=20)
    assert shown["kernel_gap"].source == "assumed"


def test_measured_limits_of_the_gap_move_it_unless_they_reach_zero() -> None:
    gap = constants(kernel_gap_ns=3_000, kernel_gap_bound_ns=500)["kernel_gap"]
    assert (gap.value_ns, gap.least_ns, gap.most_ns) == (2_500, 2_500, 3_500)
    gap = constants(kernel_gap_ns=1_600, kernel_gap_bound_ns=1_600)["kernel_gap"]
    assert (gap.value_ns, gap.least_ns, gap.most_ns) == (GAP, 0, 2_600)
    gap = constants(kernel_gap_ns=500, kernel_gap_bound_ns=500)["kernel_gap"]
    assert (gap.value_ns, gap.least_ns, gap.most_ns) == (GAP, 0, 2_600)


def test_a_query_that_always_says_done_measures_no_latency() -> None:
    """1.2 us until it said so, and 216 more until a wait returned: the latency is about 200."""
    told = {"launch_latency_ns": 1_200, "sync_return_ns": 216_000}
    shown = constants(**told)
    latency = shown["launch_latency"]
    assert (latency.value_ns, latency.least_ns, latency.most_ns) == (213_200, 1_200, 217_200)
    assert shown["sync_return"].source == "assumed"
    quick = constants(launch_latency_ns=1_200, sync_return_ns=9_000)
    assert (quick["launch_latency"].value_ns, quick["sync_return"].value_ns) == (1_200, 9_000)


@pytest.mark.parametrize("nonsense", [-5, "soon", True, 10**9])
def test_measurements_that_cannot_be_count_for_nothing(nonsense: object) -> None:
    facts = {"mark_cost_bound_ns": 20, "kernel_gap_bound_ns": 300}
    shown = constants(mark_cost_ns=nonsense, kernel_gap_ns=nonsense, **facts)
    assert {c.source for c in shown.values() if c.name in ("event_cost", "kernel_gap")} <= {
        "assumed",
        "trace",
    }


@pytest.mark.parametrize("host", [8_000, 20_000, 30_000])
@pytest.mark.parametrize("mark", [1_500, 3_000])
def test_events_that_cost_more_than_assumed_refuse_nothing(mark: int, host: int) -> None:
    """No operator without work took the host long enough to show what an event costs."""
    read = Op("aten::_local_scalar_dense", 3_000, 500, 2_000, blocking=True)
    wait = Op("aten::item", 1_000, 500, children=(read,))
    program = [op for i in range(6) for op in (step(i, *[linear(host, 25_000)] * 6), wait)]
    result = simulate(program, mark=mark)
    kernels = result.trace.kernels
    assert len(kernels) == len(result.start_ns)
    off = np.abs(kernels.start_ns - result.start_ns)
    assert (off <= kernels.start_bound_ns).mean() >= 0.95


def test_dear_events_behind_the_host_are_no_jitter() -> None:
    """Views in views take the device as long as their events cost, whatever the host took."""
    views = Op("aten::reshape", 300, 300, children=[Op("aten::view", 100, 100)] * 4)
    program = [step(i, *[linear(12_000, 60_000), views] * 8) for i in range(8)]
    result = simulate(program, mark=1_500, mark_cost_ns=1_500, mark_cost_bound_ns=20)
    assert constants_of(result)["jitter"].value_ns <= 1_500


def test_a_few_dear_events_are_not_the_mean() -> None:
    """Every range allows 333 ns, as one in fifty events costs 400; the others cost 300."""
    chance = np.random.default_rng(4)
    steps = [chance.integers(40_000, 90_000, 30).tolist() for _ in range(6)]
    program = [step(i, *[linear(6_000, k) for k in kernels]) for i, kernels in enumerate(steps)]
    read = Op("aten::_local_scalar_dense", 3_000, 500, 2_000, blocking=True)
    result = simulate([*program, Op("aten::item", 1_000, 500, children=(read,))], dear=100)
    cost = constants_of(result)["event_cost"]
    assert abs(cost.value_ns - 302) <= 10
    assert cost.most_ns is not None
    assert cost.most_ns >= 333
