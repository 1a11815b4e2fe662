"""Steps that take longer than the others."""

from tb_privateuse1.advice.rules.uneven_steps import RULE
from tests.support.program import Program, found


def program(lengths: list[int]) -> Program:
    run = Program()
    for length in lengths:
        with run.step():
            run.op("aten::mm", length, kernel=20)
            run.wait()
    return run


def test_the_excess_of_the_slow_call_is_found() -> None:
    (row,) = found(RULE, program([1000, 1000, 2000, 1000, 1000]).trace())
    assert row.evidence[0].name == "ProfilerStep#3"
    assert row.saving_ns == 1_000_000
    assert "of the kind `cpu`" in row.explanation
    assert row.confidence == "medium"


def test_a_slow_first_step_may_be_warming_up() -> None:
    (row,) = found(RULE, program([3000, 1000, 1000, 1000]).trace())
    assert row.confidence == "low"
    assert "warm up" in row.explanation


def test_even_steps_are_fine() -> None:
    assert found(RULE, program([1000, 1100, 1200, 1000]).trace()) == []


def test_two_steps_have_no_usual() -> None:
    assert found(RULE, program([1000, 2000]).trace()) == []
