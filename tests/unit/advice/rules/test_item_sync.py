"""Values that are read from the device."""

import pytest

from tb_privateuse1.advice.rules.item_sync import RULE
from tests.support.program import Program, found


def program(reads: bool, after_us: float = 300, kernel_us: float = 100) -> Program:
    run = Program()
    for _ in range(4):
        with run.step(), run.frame("train.py(7): step"):
            for _ in range(10):
                run.op("aten::mm", 10, kernel=kernel_us)
            if reads:
                with run.around("aten::item"), run.around("aten::_local_scalar_dense"):
                    run.copy("DtoH", 2)
            run.rest(after_us)
    return run


def test_it_is_found_with_line_and_cost() -> None:
    (row,) = found(RULE, program(True).trace())
    assert (row.events, str(row.where)) == (4, "step (train.py:7)")
    assert row.saving_ns == pytest.approx(4 * 313_000, rel=0.01), "the host ends earlier, too"
    assert {example.name for example in row.evidence} == {"aten::item"}


def test_without_a_read_there_is_nothing() -> None:
    assert found(RULE, program(False).trace()) == []


def test_a_read_without_cost_is_not_reported() -> None:
    """The device is done, and the next launch follows at once."""
    assert found(RULE, program(True, after_us=0, kernel_us=300).trace()) == []


def test_item_of_a_host_tensor_waits_for_nothing() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=100)
            with run.around("aten::item"):
                run.op("aten::_local_scalar_dense", 2)
            run.rest(500)
    assert found(RULE, run.trace()) == []
