"""Kernels that only change the memory layout."""

from typing import Any

from tb_privateuse1.advice.rules.layout_conversion import RULE
from tests.support.autograd import ENGINE
from tests.support.program import Program, found, kernel_inside
from tests.support.sized import FP32, SizedProgram, recorded


def test_they_are_found() -> None:
    (row,) = found(RULE, kernel_inside("aten::contiguous", 200).trace())
    assert row.title.startswith("Changing the layout")
    assert row.events == 4
    assert row.saving_ns is not None
    assert 4 * 150_000 < row.saving_ns <= 4 * 200_000


def test_other_kernels_are_none() -> None:
    assert found(RULE, kernel_inside("aten::relu", 200).trace()) == []


def test_a_little_is_in_every_kernel_inside() -> None:
    assert found(RULE, kernel_inside("aten::contiguous", 10).trace()) == []


def test_a_kernel_may_say_it_itself() -> None:
    trace = kernel_inside("aten::conv2d", 200, kernel="cudnn::ops::nchwToNhwcKernel").trace()
    assert len(found(RULE, trace)) == 1


def test_a_copy_that_a_solver_makes_for_itself_is_its_own_affair() -> None:
    """It overwrites its input, so that it works on a copy."""
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=500)
            with run.around("aten::_cholesky_solve_helper"), run.around("aten::clone"):
                run.op("aten::copy_", 10, kernel=200)
            run.wait()
    assert found(RULE, run.trace()) == []


def gradients(*, forward: bool) -> Program:
    """Steps whose backward pass copies the gradient of a view; some convert it on the way, too."""
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=500)
            if forward:
                with run.around("aten::contiguous"), run.around("aten::clone"):
                    run.op("aten::copy_", 10, kernel=200)
            with run.around(f"{ENGINE}ViewBackward0"), run.around("aten::clone"):
                run.op("aten::copy_", 10, kernel=200)
            run.wait()
    return run


def test_a_gradient_takes_the_order_that_views_gave_it() -> None:
    """Autograd copies it for the next product: the forward pass has nothing to change."""
    assert found(RULE, gradients(forward=False).trace()) == []


def test_gradients_of_converted_tensors_count() -> None:
    (row,) = found(RULE, gradients(forward=True).trace())
    assert row.events == 8


def strided(*strides: list[int]) -> dict[str, Any]:
    """The arguments of an event that describe the strides of its inputs."""
    return {"Input Strides": list(strides)}


def permuted(converts: bool) -> SizedProgram:
    """Steps on a host that normalize the rows of a permuted tensor slowly; some convert it."""
    size, other = [8, 32, 64, 64], [8, 64, 64, 32]
    normal, turned = [131072, 4096, 64, 1], [131072, 64, 1, 4096]
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            run.rest(1)
            for _ in range(3):
                inputs = recorded((tuple(size), FP32), (tuple(size), FP32))
                run.op("aten::add", 1000, **inputs, **strided(normal, normal))
            if converts:
                with run.around("aten::contiguous", 1), run.around("aten::clone", 1):
                    inputs = recorded((tuple(size), FP32), (tuple(size), FP32))
                    run.op("aten::copy_", 1000, **inputs, **strided(normal, turned))
            inputs = recorded((tuple(other), FP32), "[32]")
            run.op("aten::native_layer_norm", 9000, **inputs, **strided(turned, []))
    return run


def test_rows_of_a_tensor_that_the_program_converts_are_read_in_jumps() -> None:
    (row,) = found(RULE, permuted(converts=True).trace())
    assert row.saving_share is not None
    assert row.saving_share > 0.3


def test_an_operator_that_reads_in_jumps_alone_is_no_finding() -> None:
    assert found(RULE, permuted(converts=False).trace()) == []


def test_conversions_inside_of_operators_alone_are_their_own_affair() -> None:
    run = Program()
    for _ in range(3):
        with run.step():
            with run.around("aten::native_layer_norm"), run.around("aten::contiguous"):
                run.op("aten::copy_", 10, kernel=200)
            run.wait()
    assert found(RULE, run.trace()) == []
