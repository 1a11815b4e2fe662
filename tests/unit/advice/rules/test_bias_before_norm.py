"""A bias that batch norm cancels."""

from typing import Any

from tb_privateuse1.advice.rules.bias_before_norm import RULE
from tests.support.program import Program, found


def program(bias: list[int], following: str = "aten::batch_norm", own: bool = True) -> Program:
    run = Program()
    shapes: list[Any] = [[8, 3, 32, 32], [16, 3, 3, 3], bias, [], [], [], []]
    for _ in range(4):
        with run.step():
            with run.around("aten::conv2d", **{"Input Dims": shapes}):
                run.op("aten::cudnn_convolution", 10, kernel=300)
                if own:
                    run.op("aten::add_", 10, kernel=100)
            run.op(following, 10, kernel=100)
            run.wait()
    return run


def test_it_is_found_with_the_kernels_that_add_it() -> None:
    (row,) = found(RULE, program([16]).trace())
    assert row.title.startswith("1 convolution a step with a bias")
    assert row.saving_ns is not None
    assert 4 * 70_000 < row.saving_ns <= 4 * 100_000


def test_one_in_the_same_kernel_has_no_known_cost() -> None:
    (row,) = found(RULE, program([16], own=False).trace())
    assert row.saving_ns is None


def test_without_a_bias_it_is_fine() -> None:
    assert found(RULE, program([]).trace()) == []


def test_without_a_norm_it_is_fine() -> None:
    assert found(RULE, program([16], following="aten::relu").trace()) == []
