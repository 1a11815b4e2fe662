"""An optimizer that updates parameters one by one."""

from collections.abc import Callable
from typing import Any

import pytest

from tb_privateuse1.advice.rules.optimizer_loop import RULE
from tests.support.autograd import TrainingProgram, steps
from tests.support.program import Program, found
from tests.support.sized import FP32, Input, SizedProgram, full, recorded, unshaped

KINDS = ("aten::mul_", "aten::add_", "aten::addcdiv_")


def program(*, together: bool, parameters: int = 40, name: str = "Adam") -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=50)
            with run.range(f"Optimizer.step#{name}.step"):
                for kind in KINDS:
                    if together:
                        run.op(kind.replace("aten::", "aten::_foreach_"), 40, kernel=30)
                    else:
                        for _ in range(parameters):
                            run.op(kind, 9, kernel=2)
    return run


def test_it_is_found_with_its_cost() -> None:
    trace = program(together=False).trace()
    (row,) = found(RULE, trace)
    assert row.title == "Adam updates one parameter after the other: 120 operators a step"
    assert row.saving_ns == pytest.approx(3 * 120 * 8_000 * (1 - 3 / 120), rel=0.05)


def test_for_each_operators_are_fine() -> None:
    assert found(RULE, program(together=True).trace()) == []


def test_a_handful_of_parameters_is_fine() -> None:
    assert found(RULE, program(together=False, parameters=5).trace()) == []


def test_a_fused_optimizer_is_fine() -> None:
    assert found(RULE, program(together=False, name="FusedAdam").trace()) == []


@pytest.mark.parametrize("name", ["aten::sparse_mask", "aten::dot", "aten::mm"])
def test_an_update_that_no_for_each_operator_computes_has_to_be_one_by_one(name: str) -> None:
    """As those of sparse gradients, of a line search, and of orthogonal matrices."""
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=50)
            with run.range("Optimizer.step#Own.step"):
                for _ in range(40):
                    for kind in (name, *KINDS):
                        run.op(kind, 9, kernel=2)
    assert found(RULE, run.trace()) == []


def test_a_model_inside_of_the_step_is_no_update() -> None:
    """A closure computes the loss and its gradients."""
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=50)
            with run.range("Optimizer.step#SGD.step"):
                for number in range(60):
                    of_model: dict[str, Any] = {"Sequence number": number}
                    run.op("aten::mul", 9, kernel=2, **of_model)
                run.op("aten::add_", 9, kernel=2)
    assert found(RULE, run.trace()) == []


def grouped(
    rate: Callable[[int], Input], *, numbers: bool = True, also: str | None = None
) -> Program:
    """Build steps that update a group for each of forty weights, with a rate for each."""
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=50)
            with run.range("Optimizer.step#AdamW.step"):
                for number in range(40):
                    lists: Input = [full(64, 64, dtype=FP32)]
                    for name, value in (("_foreach_add_", "1"), ("_fused_adamw_", rate(number))):
                        inputs = recorded(lists, value) if numbers else {}
                        run.op(f"aten::{name}", 9, kernel=2, **inputs)
                    if also:
                        run.op(also, 9, kernel=2, **recorded("0.9", lists))
    return run


def test_a_group_for_each_weight_is_found_where_settings_are_equal() -> None:
    run = grouped(lambda number: "0.1" if number % 2 else "0.2")
    (row,) = found(RULE, run.trace())
    assert row.title == "AdamW updates 40 groups of parameters one after the other"
    assert "2 different settings" in row.explanation
    assert row.saving_ns == pytest.approx(3 * 80 * 8_000 * (1 - 2 / 40), rel=0.1)
    assert row.trial is None


@pytest.mark.parametrize(
    "run",
    [
        grouped(lambda number: f"0.{1 + number}"),
        grouped(lambda number: f"0.{1 + number // 6}"),
        grouped(lambda _: "0.1", numbers=False),
        grouped(lambda _: full(dtype=FP32)),
        grouped(lambda _: "0.1", also="aten::_foreach_pow"),
    ],
    ids=["a rate for each", "a rate for each layer", "no numbers", "in tensors", "on the device"],
)
def test_groups_that_may_differ_stay(run: Program) -> None:
    """Rates that fall layer by layer need a group for each layer."""
    assert found(RULE, run.trace()) == []


def sized(*, together: bool) -> SizedProgram:
    run = SizedProgram()
    parameter = full(1024, 1024, dtype=FP32)
    for _ in range(3):
        with run.step():
            run.product(2048, 2048, 2048)
            with run.range("Optimizer.step#Adam.step"):
                for _ in range(12 if not together else 0):
                    run.run("aten::lerp_", parameter, parameter, "0.1")
                    run.run("aten::mul_", parameter, "0.9")
                    run.run("aten::addcmul_", parameter, parameter, parameter, "1")
                    run.run("aten::sqrt", parameter)
                    run.run("aten::addcdiv_", parameter, parameter, parameter, "1")
                if together:
                    run.op("aten::_fused_adam_", 10, kernel=12 * 7 * 4.2)
            run.wait()
    return run


def test_passes_over_memory_count_where_the_device_limits() -> None:
    """Of 15 passes of 4 MB, a fused kernel needs 7."""
    (row,) = found(RULE, sized(together=False).trace())
    assert row.saving_share is not None
    assert 0.1 < row.saving_share < 0.5
    assert found(RULE, sized(together=True).trace()) == []


def test_without_shapes_each_operator_passes_over_two_tensors_at_least() -> None:
    """So a fused kernel saves no more than where sizes are known."""
    (known,), (row,) = (found(RULE, one) for one in (
        sized(together=False).trace(), unshaped(sized(together=False)),
    ))  # fmt: skip
    assert row.saving_ns is not None
    assert known.saving_ns is not None
    assert 0.4 * known.saving_ns < row.saving_ns <= known.saving_ns
    assert found(RULE, unshaped(sized(together=True))) == []


def by_groups(run: TrainingProgram, groups: int) -> None:
    """Eight weights, in groups that for-each operators take in turn."""
    run.reset()
    run.backward(run.forward(64, *[64] * 9))
    with run.range("Optimizer.step#AdamW.step"):
        run.rest(1)
        for _ in range(groups):
            for name in ("mul_", "lerp_", "addcmul_", "addcdiv_"):
                run.op(f"aten::_foreach_{name}", 9, kernel=2)


def test_without_shapes_a_group_for_each_gradient_may_have_its_own_settings() -> None:
    (row,) = found(RULE, unshaped(steps(lambda run: by_groups(run, 8))))
    assert row.title == "AdamW updates 8 groups of parameters one after the other"
    assert (row.confidence, row.saving_low_ns) == ("low", 0)
    assert found(RULE, unshaped(steps(lambda run: by_groups(run, 7)))) == []
