from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.trace.inference_basis import Constant
from tests.support.simulate import GAP, MARK, linear, simulate, step

PROGRAM = [step(i, *[linear(20_000, 15_000)] * 6) for i in range(4)]


def constants(**facts: Any) -> dict[str, Constant]:
    grounds = simulate(PROGRAM, **facts).trace.meta.grounds
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


def test_measured_limits_of_the_gap_move_it_and_never_widen_it_from_zero() -> None:
    gap = constants(kernel_gap_ns=3_000, kernel_gap_bound_ns=500)["kernel_gap"]
    assert (gap.value_ns, gap.least_ns, gap.most_ns) == (2_500, 2_500, 3_500)
    gap = constants(kernel_gap_ns=1_600, kernel_gap_bound_ns=1_600)["kernel_gap"]
    assert (gap.value_ns, gap.least_ns, gap.most_ns) == (GAP, 0, 2_000)


@pytest.mark.parametrize("nonsense", [-5, "soon", True, 10**9])
def test_measurements_that_cannot_be_count_for_nothing(nonsense: object) -> None:
    facts = {"mark_cost_bound_ns": 20, "kernel_gap_bound_ns": 300}
    shown = constants(mark_cost_ns=nonsense, kernel_gap_ns=nonsense, **facts)
    assert {c.source for c in shown.values() if c.name in ("event_cost", "kernel_gap")} <= {
        "assumed",
        "trace",
    }
