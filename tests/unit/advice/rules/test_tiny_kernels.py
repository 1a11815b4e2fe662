"""Kernels that are shorter than their launch."""

from tb_privateuse1.advice.rules.tiny_kernels import RULE
from tests.support.program import Program, found


def program(kernel_us: float, count: int = 150) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            for _ in range(count):
                run.op("aten::add", 9, kernel=kernel_us)
    return run


def test_they_are_found() -> None:
    (row,) = found(RULE, program(kernel_us=3).trace())
    assert row.events == 450
    assert "aten::add" in row.explanation
    assert row.saving_share is not None
    assert 0.3 < row.saving_share < 0.4, "half of 7 us in 10"


def test_kernels_longer_than_their_launch_are_fine() -> None:
    assert found(RULE, program(kernel_us=15).trace()) == []


def test_a_few_are_fine() -> None:
    assert found(RULE, program(kernel_us=3, count=50).trace()) == []
