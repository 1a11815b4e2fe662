"""Compilation within the steps."""

from tb_privateuse1.advice.rules.recompilation import RULE
from tests.support.program import Program, found


def program(frame: str) -> Program:
    run = Program()
    for number in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=50)
            if number == 2:
                with run.frame(frame):
                    run.rest(3000)
    return run


def test_the_compiler_is_found() -> None:
    (row,) = found(RULE, program("torch/_dynamo/convert_frame.py(1110): _compile").trace())
    assert row.events == 1
    assert row.saving_ns is not None
    assert 2_800_000 < row.saving_ns <= 3_000_000


def test_lookups_of_compiled_code_are_fine() -> None:
    assert found(RULE, program("torch/_dynamo/eval_frame.py(655): _fn").trace()) == []
