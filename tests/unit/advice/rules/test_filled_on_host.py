"""Tensors that are filled on the host and copied."""

from tb_privateuse1.advice.rules.filled_on_host import RULE
from tests.support.program import Program, found


def program(factory: str, on_device: bool = False, between: bool = False) -> Program:
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=100)
            with run.around(factory):
                run.op("aten::empty", 5)
                run.op("aten::normal_", 200, kernel=10 if on_device else 0)
            if between:
                run.op("aten::add", 10)
            with run.around("aten::to"), run.around("aten::_to_copy"):
                run.copy("HtoD", 50)
    return run


def test_a_pair_is_found() -> None:
    (row,) = found(RULE, program("aten::randn").trace())
    assert row.events == 4
    assert "aten::randn" in row.explanation
    assert row.saving_ns is not None
    assert row.saving_ns > 4 * 100_000


def test_one_that_fills_on_the_device_is_fine() -> None:
    assert found(RULE, program("aten::randn", on_device=True).trace()) == []


def test_data_that_is_copied_is_fine() -> None:
    assert found(RULE, program("aten::stack").trace()) == []


def test_the_copy_of_another_tensor_is_fine() -> None:
    assert found(RULE, program("aten::randn", between=True).trace()) == []
