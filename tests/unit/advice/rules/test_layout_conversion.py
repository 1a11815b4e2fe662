"""Kernels that only change the memory layout."""

from tb_privateuse1.advice.rules.layout_conversion import RULE
from tests.support.program import found, kernel_inside


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
