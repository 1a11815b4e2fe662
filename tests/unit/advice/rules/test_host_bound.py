"""A device that waits for the host."""

import pytest

from tb_privateuse1.advice.rules.host_bound import RULE
from tests.support.program import Program, device_bound, found


def program(host_us: float, count: int = 60) -> Program:
    run = Program()
    for _ in range(2):
        with run.step():
            for _ in range(count):
                run.op("aten::mm", host_us, kernel=20)
    return run


def test_it_is_found_with_the_longest_gaps() -> None:
    (row,) = found(RULE, program(host_us=100).trace())
    assert row.saving_share == pytest.approx(0.8, abs=0.02)
    assert "without work" in (row.evidence[0].note or "")
    assert "Most of it went by in aten::mm" in row.explanation


def test_a_busy_device_is_fine() -> None:
    assert found(RULE, device_bound().trace()) == []
    assert found(RULE, program(host_us=5).trace()) == []


def test_a_few_activities_are_no_program() -> None:
    assert found(RULE, program(host_us=100, count=10).trace()) == []
