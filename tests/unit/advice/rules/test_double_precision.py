"""Work in float64."""

from typing import Any

from tb_privateuse1.advice.rules.double_precision import RULE
from tests.support.program import Program, found


def program(shapes: list[Any], types: list[str]) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            for _ in range(10):
                run.op("aten::mul", 10, kernel=200, **{"Input Dims": shapes, "Input type": types})
            run.wait()
    return run


def test_a_tensor_of_doubles_is_found() -> None:
    (row,) = found(RULE, program([[64], [64]], ["double", "double"]).trace())
    assert row.events == 30
    assert row.saving_share is not None
    assert 0.4 < row.saving_share < 0.5


def test_a_number_of_pythons_is_no_tensor() -> None:
    assert found(RULE, program([[64], []], ["float", "double"]).trace()) == []


def test_floats_are_fine() -> None:
    assert found(RULE, program([[64], [64]], ["float", "float"]).trace()) == []
