"""Kernels that only change a tensor's form."""

from tb_privateuse1.advice.rules.layout_conversion import RULE
from tests.support.program import Program, found


def program(around: str, us: float, kernel: str = "elementwise_kernel") -> Program:
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=500)
            with run.around(around), run.around("aten::copy_"):
                run.launch(kernel, us)
            run.wait()
    return run


def test_they_are_found() -> None:
    (row,) = found(RULE, program("aten::contiguous", 200).trace())
    assert row.title.startswith("Changing the layout")
    assert row.events == 4
    assert row.saving_ns is not None
    assert 4 * 150_000 < row.saving_ns <= 4 * 200_000


def test_other_kernels_are_none() -> None:
    assert found(RULE, program("aten::relu", 200).trace()) == []


def test_a_little_is_in_every_program() -> None:
    assert found(RULE, program("aten::contiguous", 10).trace()) == []


def test_a_kernel_may_say_it_itself() -> None:
    trace = program("aten::conv2d", 200, kernel="cudnn::ops::nchwToNhwcKernel").trace()
    assert len(found(RULE, trace)) == 1
