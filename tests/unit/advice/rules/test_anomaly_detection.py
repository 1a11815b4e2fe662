"""Autograd's anomaly detection: checks behind each node, and stacks of forward calls."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.rules.anomaly_detection import RULE
from tests.support.program import Program, found

NODES = 8
NODE = "autograd::engine::evaluate_function: "


def looked_for(run: Program, reduce: str = "aten::_is_any_true") -> None:
    """The check of a gradient for NaN."""
    run.op("aten::isnan", 10)
    run.op(reduce, 10)
    run.op("aten::item", 10)


def program(
    *, checks: int = NODES, before: bool = False, framed: bool = False, stacks: float = 0,
    reduce: str = "aten::_is_any_true",
) -> Program:  # fmt: skip
    """Three steps: the nodes of a backward pass, some with a check."""
    run = Program()
    for _ in range(3):
        with run.step():
            for _ in range(NODES):
                with run.around("aten::mul", 50, **{"Sequence number": 1}):
                    run.op("aten::empty", 1)
                    if stacks:
                        with run.frame("torch/fx/traceback.py(497): format_stack"):
                            run.rest(stacks)
            for place in range(NODES):
                with run.around(NODE + "MulBackward0"):
                    if place < checks and before:
                        looked_for(run)
                    run.op("MulBackward0", 60)
                    if place < checks and framed:
                        with run.frame("train.py(7): hook"):
                            looked_for(run)
                    elif place < checks and not before:
                        looked_for(run, reduce)
                with run.around(NODE + "torch::autograd::AccumulateGrad"):
                    run.op("torch::autograd::AccumulateGrad", 5)
    return run


@pytest.mark.parametrize("reduce", ["aten::_is_any_true", "aten::any"])
def test_checks_behind_each_node(reduce: str) -> None:
    """Both forms: torch before 1.13 has any()."""
    (row,) = found(RULE, program(reduce=reduce).trace())
    assert row.events == 3 * NODES
    assert row.saving_ns == 3 * NODES * 30_000
    assert row.saving_high_ns is not None
    assert row.saving_high_ns > 1.5 * row.saving_ns, "stacks are not recorded"
    assert row.confidence == "low"


def test_stacks_of_forward_calls_are_counted_where_they_are_recorded() -> None:
    (row,) = found(RULE, program(stacks=40).trace())
    assert row.events == 2 * 3 * NODES
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(3 * NODES * 70_000, rel=0.15)
    assert row.confidence == "high"


def test_stacks_that_the_program_reads_are_its_own() -> None:
    run = program()
    with run.step(), run.frame("train.py(3): log"), run.around("aten::mul", 5):  # noqa: SIM117
        with run.frame("train.py(4): callback"), run.frame("traceback.py(1): format_stack"):
            run.rest(100)
    (row,) = found(RULE, run.trace())
    assert row.events == 3 * NODES


def test_a_hook_of_each_tensor_checks_before_the_node() -> None:
    assert found(RULE, program(before=True).trace()) == []


def test_a_hook_of_each_module_has_a_frame() -> None:
    assert found(RULE, program(framed=True).trace()) == []


def test_checks_of_some_nodes_are_the_programs() -> None:
    assert found(RULE, program(checks=NODES // 2).trace()) == []


def test_checks_of_the_scaler_lie_outside_of_the_backward_pass() -> None:
    run = program(checks=0)
    with run.step():
        for _ in range(30):
            run.op("aten::_amp_foreach_non_finite_check_and_unscale_", 20)
            looked_for(run)
    assert found(RULE, run.trace()) == []


def test_waits_for_a_device_are_the_checks_too() -> None:
    run = Program()
    for _ in range(3):
        with run.step():
            for _ in range(NODES):
                with run.around(NODE + "MulBackward0"):
                    run.op("MulBackward0", 20, kernel=100)
                    run.op("aten::isnan", 10, kernel=5)
                    run.op("aten::_is_any_true", 10, kernel=5)
                    with run.around("aten::item"):
                        run.copy("DtoH", 2)
    (row,) = found(RULE, run.trace())
    assert row.saving_share is not None
    assert 0.1 < row.saving_share < 0.45
