"""Kernels that only convert to another type."""

from tb_privateuse1.advice.rules.casts import RULE
from tests.support.program import Program, found, kernel_inside


def test_they_are_found() -> None:
    (row,) = found(RULE, kernel_inside("aten::_to_copy", 200).trace())
    assert row.title.startswith("Conversions between types")
    assert row.events == 4
    assert row.saving_ns is not None
    assert 4 * 150_000 < row.saving_ns <= 4 * 200_000


def test_other_kernels_are_none() -> None:
    assert found(RULE, kernel_inside("aten::relu", 200).trace()) == []


def test_a_little_is_in_every_kernel_inside() -> None:
    assert found(RULE, kernel_inside("aten::_to_copy", 10).trace()) == []


def test_a_copy_between_devices_is_no_conversion() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=500)
            with run.around("aten::_to_copy"):
                run.copy("DtoH", 200)
    assert found(RULE, run.trace()) == []
