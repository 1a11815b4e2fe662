"""A loop over parameters outside of an optimizer, and one operator for all of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import pytest

from tb_privateuse1.advice.rules.elementwise_chain import RULE as CHAIN
from tb_privateuse1.advice.rules.tensor_loop import RULE
from tests.support.autograd import TrainingProgram, steps
from tests.support.program import found
from tests.support.sized import SizedProgram, Tensor, full, recorded, unshaped

PARAMETERS = [full(256, 1024), full(256), full(256, 256), full(256)] * 8


def program(body: Callable[[SizedProgram], None]) -> SizedProgram:
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            run.product(4096, 4096, 4096)
            run.run("aten::add", full(4096, 4096), full(4096, 4096))
            with run.frame("train.py(7): keep_average"):
                body(run)
            run.wait()
    return run


def average(run: SizedProgram, tensor: Tensor, host: float = 1) -> None:
    run.run("aten::mul_", tensor, "0.99", host=host)
    run.run("aten::add_", tensor, tensor, "0.01", host=host)


def one_by_one(tensors: list[Tensor], host: float = 1) -> SizedProgram:
    def body(run: SizedProgram) -> None:
        for tensor in tensors:
            average(run, tensor, host)

    return program(body)


def together(run: SizedProgram) -> None:
    size = sum(shape[0] * (shape[1] if len(shape) > 1 else 1) for shape, _ in PARAMETERS)
    run.run("aten::add", full(size), full(size), "0.01", host=1)


def test_an_average_of_each_parameter_is_found_with_its_line() -> None:
    (row,) = found(RULE, one_by_one(PARAMETERS).trace())
    assert row.title == "A loop over tensors, one at a time: 64 operators a step"
    assert str(row.where) == "keep_average (train.py:7)"
    assert row.events == 4 * 64


def test_the_saving_is_that_of_one_operator_for_all() -> None:
    before, after = one_by_one(PARAMETERS), program(together)
    (row,) = found(RULE, before.trace())
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.3)


def test_launches_of_a_slow_host_count() -> None:
    before, after = one_by_one(PARAMETERS, host=20), program(together)
    (row,) = found(RULE, before.trace())
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.3)


def test_it_is_one_finding() -> None:
    """Each round is a chain of elementwise operators as well."""
    assert found(CHAIN, one_by_one(PARAMETERS).trace()) == []


def test_an_iteration_on_one_tensor_is_fine() -> None:
    """Each round may need the result of the one before."""
    assert found(RULE, one_by_one([full(256, 256)] * 32).trace()) == []


def test_a_few_tensors_are_fine() -> None:
    assert found(RULE, one_by_one(PARAMETERS[:6]).trace()) == []


def test_one_operator_for_all_is_fine() -> None:
    assert found(RULE, program(together).trace()) == []


def test_layers_are_fine() -> None:
    """Between their elementwise operators are products."""

    def layers(run: SizedProgram) -> None:
        for tensor in PARAMETERS:
            average(run, tensor)
            run.product(64, 64, 64)

    assert found(RULE, program(layers).trace()) == []


def test_an_optimizer_is_another_rule() -> None:
    def optimizer(run: SizedProgram) -> None:
        with run.range("Optimizer.step#SGD.step"):
            for tensor in PARAMETERS:
                average(run, tensor)

    assert found(RULE, program(optimizer).trace()) == []


def test_a_for_each_operator_without_a_kernel_is_another_rule() -> None:
    """The program already calls it for the whole list."""

    def lists(run: SizedProgram) -> None:
        with run.around("aten::_foreach_mul_"):
            for tensor in PARAMETERS:
                run.run("aten::mul_", tensor, "0.99", host=1)

    assert found(RULE, program(lists).trace()) == []


def test_a_loop_inside_of_one_operator_of_torch_is_its_own() -> None:
    """As packing a batch does, which copies the rows that are left at each time."""

    def packs(run: SizedProgram) -> None:
        with run.around("aten::_pack_padded_sequence"):
            for tensor in PARAMETERS:
                average(run, tensor)

    assert found(RULE, program(packs).trace()) == []


def test_a_loop_inside_of_an_operator_of_the_program_is_found() -> None:
    """A range around the loop, or a function of autograd's, is the program's."""

    def inside(run: SizedProgram) -> None:
        with run.around("KeepAverage"):
            for tensor in PARAMETERS:
                average(run, tensor)

    assert len(found(RULE, program(inside).trace())) == 1


def test_gradients_that_autograd_adds_up_are_fine() -> None:
    """The engine adds each where it is ready; a program can't do that for a whole list."""

    def backward(run: SizedProgram) -> None:
        for tensor in PARAMETERS:
            with run.around("torch::autograd::AccumulateGrad"):
                run.run("aten::add_", tensor, tensor, host=1)

    assert found(RULE, program(backward).trace()) == []


def checked(run: SizedProgram) -> None:
    """Each gradient is searched; for a small one the search calls another operator inside."""
    for tensor in PARAMETERS:
        run.run("aten::isnan", tensor)
        run.run("aten::any", tensor)
        run.op("aten::is_nonzero", 1, **recorded(full()))
        with run.around("aten::isinf", **recorded(tensor)):
            run.run("aten::abs", tensor, host=1)
            if tensor[0] != (256,):
                run.run("aten::eq", tensor, host=1)


def test_calls_of_the_program_are_equal_whatever_they_call_inside() -> None:
    (row,) = found(RULE, program(checked).trace())
    assert row.title == "A loop over tensors, one at a time: 112 operators a step"


def test_products_inside_of_a_call_are_layers() -> None:
    def layers(run: SizedProgram) -> None:
        for tensor in PARAMETERS:
            with run.around("aten::linear", **recorded(tensor)):
                average(run, tensor)
                run.product(64, 64, 64)

    assert found(RULE, program(layers).trace()) == []


def test_rounds_that_take_rows_and_columns_in_turn_are_an_iteration() -> None:
    """As the scales of a matrix do, each of which needs the other: sizes change, tensors do not."""

    def scaled(run: SizedProgram) -> None:
        for _ in range(16):
            for side in (full(512, 1), full(1, 256)):
                run.run("aten::add", full(512, 256), side, "1")
                with run.around("aten::logsumexp", **recorded(full(512, 256), "[1]")):
                    run.run("aten::exp", full(512, 256))
                    run.run("aten::sum", full(512, 256), "[1]", "False", "")
                    run.run("aten::log", full(512))

    assert found(RULE, program(scaled).trace()) == []


def test_sums_over_growing_distances_need_each_other() -> None:
    """A parallel scan: each round joins what stays with what is added, of other sizes each time."""

    def scan(run: SizedProgram) -> None:
        for power in range(11):
            stays, added = full(2**power, 16), full(2048 - 2**power, 16)
            run.run("aten::add", added, added, "1")
            run.run("aten::cat", [stays, added], "0")

    assert found(RULE, program(scan).trace()) == []


def differentiated(run: SizedProgram, *, by_program: bool) -> None:
    """Gradients of what the program, or a backward pass of its own, has run for each tensor."""
    of = 100 * run.steps
    once: dict[str, Any] = {"Sequence number": of}
    run.op("aten::tanh", 1, kernel=3, **once)
    engine = "autograd::engine::evaluate_function: "
    node: dict[str, Any] = {"Fwd thread id": 1}
    for number, tensor in enumerate(PARAMETERS, of + 1):
        given = {"Sequence number": number, **recorded(tensor, tensor)}
        first: AbstractContextManager[None] = nullcontext()
        if not by_program:
            first = run.around(f"{engine}TanhBackward0", **node, **{"Sequence number": of})
        with first:
            run.op("aten::matmul", 1, kernel=3, **given)
    for number, tensor in enumerate(PARAMETERS, of + 1):
        with run.around(f"{engine}MulBackward0", **node, **{"Sequence number": number}):
            run.run("aten::mul", tensor, tensor, host=1)


def test_gradients_of_gradients_are_no_loop_of_the_program() -> None:
    """Autograd has run what they belong to: the program has no list of these tensors."""
    by_program, by_autograd = (
        found(RULE, program(partial(differentiated, by_program=own)).trace())
        for own in (True, False)
    )
    assert len(by_program) == 1
    assert by_autograd == []


def over_gradients(run: TrainingProgram, *, rounds: int = 8, ahead: bool = False) -> None:
    """Eight layers of one size, and a loop ahead of them or behind their backward pass."""
    run.reset()
    for _ in range(rounds if ahead else 0):
        average(run, full(64, 64), host=20)
    layers = run.forward(64, *[64] * 9)
    run.backward(layers)
    for _ in range(0 if ahead else rounds):
        average(run, full(64, 64), host=20)
    run.optimize(*[(64, 64)] * 8)


def test_without_shapes_a_round_for_each_gradient_is_a_loop_over_tensors() -> None:
    before, after = steps(over_gradients), steps(partial(over_gradients, rounds=1))
    (row,) = found(RULE, unshaped(before))
    assert row.title == "A loop over tensors, one at a time: 16 operators a step"
    assert (row.confidence, row.saving_low_ns) == ("low", 0)
    assert row.saving_high_ns is not None
    assert row.saving_high_ns > 1000 * (before.now - after.now) > 0.4 * row.saving_high_ns


@pytest.mark.parametrize(
    "step", [partial(over_gradients, rounds=9), partial(over_gradients, ahead=True)]
)
def test_without_shapes_other_rounds_may_be_an_iteration(
    step: Callable[[TrainingProgram], None],
) -> None:
    """More rounds than gradients, or a loop that may make what the model reads."""
    assert found(RULE, unshaped(steps(step))) == []
