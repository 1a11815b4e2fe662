"""Copies that block the host."""

from tb_privateuse1.advice.rules.blocking_copy import RULE
from tests.support.program import Program, found


def program(blocking: bool, around: str = "aten::copy_") -> Program:
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(5):
                run.op("aten::mm", 10, kernel=100)
            with run.around("aten::to"), run.around(around):
                run.copy("HtoD", 20, blocking=blocking)
            run.rest(200)
    return run


def test_it_is_found_and_the_memory_named() -> None:
    (row,) = found(RULE, program(blocking=True).trace())
    assert row.events == 4
    assert "4 copies used pageable memory" in row.explanation
    assert row.saving_ns is not None
    assert row.saving_ns > 3 * 180_000


def test_a_copy_that_does_not_block_is_fine() -> None:
    assert found(RULE, program(blocking=False).trace()) == []


def test_the_copy_of_another_finding_is_not_reported_twice() -> None:
    assert found(RULE, program(blocking=True, around="aten::_local_scalar_dense").trace()) == []
