"""Calls much longer than other calls of the same kernel."""

from typing import Any

import pytest

from tb_privateuse1.advice.rules.outlier_kernels import RULE
from tests.support.program import Program, found


def program(slow_us: float, **slow: Any) -> Program:
    run = Program()
    usual: dict[str, Any] = {"Input Dims": [[64, 64]]}
    for number in range(5):
        with run.step():
            for i in range(10):
                odd = number == 2 and i == 5
                run.op("aten::mm", 10, kernel=slow_us if odd else 100, **(slow if odd else usual))
            run.wait()
    return run


def test_one_that_is_slow_is_found() -> None:
    (row,) = found(RULE, program(900, **{"Input Dims": [[64, 64]]}).trace())
    assert (row.events, row.confidence) == (1, "low")
    assert row.evidence[0].note == "900.000 µs where 100.000 µs is usual"
    assert row.saving_ns is not None
    assert 600_000 < row.saving_ns <= 800_000


def test_a_larger_one_takes_longer_by_right() -> None:
    assert found(RULE, program(900, **{"Input Dims": [[640, 640]]}).trace()) == []


def test_twice_as_long_is_noise() -> None:
    assert found(RULE, program(200, **{"Input Dims": [[64, 64]]}).trace()) == []


@pytest.mark.parametrize("slow", [2, 3])
def test_several_that_are_slow_are_found(slow: int) -> None:
    run = Program()
    for number in range(5):
        with run.step():
            for i in range(10):
                odd = number < slow and i == 5
                run.op("aten::mm", 10, kernel=900 if odd else 100, **{"Input Dims": [[64, 64]]})
            run.wait()
    (row,) = found(RULE, run.trace())
    assert row.events == slow
    assert row.saving_ns is not None
    assert slow * 600_000 < row.saving_ns <= slow * 800_000
