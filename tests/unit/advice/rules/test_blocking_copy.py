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


def test_its_line_is_that_of_the_wait_that_costs_time() -> None:
    """A long wait for a busy device costs nothing, if the next launch follows at once."""
    run = Program()
    for _ in range(4):
        with run.step():
            for line, kernels, pause in (("(3): load", 20, 5), ("(9): step", 5, 400)):
                for _ in range(kernels):
                    run.op("aten::mm", 10, kernel=100)
                with run.frame(f"train.py{line}"):
                    with run.around("aten::copy_"):
                        run.copy("DtoH", 20)
                    run.rest(pause)
    (row,) = found(RULE, run.trace())
    assert row.source == "train.py(9): step"
