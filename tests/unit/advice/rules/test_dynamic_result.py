"""Operators with a data-dependent result size."""

from tb_privateuse1.advice.rules.dynamic_result import RULE
from tb_privateuse1.advice.rules.item_sync import RULE as ITEM
from tests.support.program import Program, found


def program(blocking: bool, name: str = "aten::nonzero") -> Program:
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(5):
                run.op("aten::mm", 10, kernel=100)
            with run.around(name):
                run.copy("DtoH", 2, blocking=blocking)
            run.rest(200)
    return run


def test_it_is_found() -> None:
    trace = program(blocking=True).trace()
    (row,) = found(RULE, trace)
    assert row.events == 4
    assert row.saving_ns is not None
    assert row.saving_ns > 3 * 180_000
    assert found(ITEM, trace) == []


def test_one_that_does_not_wait_is_fine() -> None:
    assert found(RULE, program(blocking=False).trace()) == []


def test_an_index_with_a_mask_waits() -> None:
    (row,) = found(RULE, program(blocking=True, name="aten::index").trace())
    assert row.events == 4


def test_only_calls_that_wait_are_counted() -> None:
    run = program(blocking=True, name="aten::index")
    with run.step():
        run.op("aten::index", 5, kernel=3)
        run.op("aten::mm", 10, kernel=100)
    (row,) = found(RULE, run.trace())
    assert row.events == 4
