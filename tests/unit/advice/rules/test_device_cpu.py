"""Operators that run on the device's unit for scalar code instead of its main units."""

from __future__ import annotations

from typing import Any

from tb_privateuse1.advice.rules.device_cpu import RULE
from tests.support.program import Program, found

LONG: dict[str, Any] = {"Input Dims": [[1024]], "Input type": ["long int"]}


def program(unit: str, us: float, *, host: float = 10) -> Program:
    """Return steps of products and a cast on a unit, for which the host waits at the end."""
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(10):
                run.op("aten::mm", host, kernel=100)
            with run.around("aten::cast", **LONG):
                run.launch("Cast12", us, category="ascend_kernel", **{"Task Type": unit})
            run.wait()
    return run


def test_a_cast_on_the_cpu_is_found_with_its_time() -> None:
    (row,) = found(RULE, program("AI_CPU", 500).trace())
    assert row.title == "Operators run on AI_CPU: 33.1 % of the time"
    assert "no kernel for aten::cast" in row.explanation
    assert "They read int64." in row.explanation
    assert row.saving_ns is not None
    assert 0.9 < row.saving_ns / (4 * 500_000) < 1.05


def test_on_a_main_unit_it_is_fine() -> None:
    assert found(RULE, program("AI_CORE", 500).trace()) == []


def test_where_nothing_waits_for_it_it_is_a_note() -> None:
    """Products that the host launches slowly hide it: the next one starts no earlier."""
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(10):
                run.op("aten::mm", 300, kernel=100)
            run.op("aten::mm", 10, kernel=5)
            run.launch("Cast12", 200, category="ascend_kernel", **{"Task Type": "AI_CPU"})
            run.rest(300)
    for _ in range(20):
        run.op("aten::mm", 300, kernel=100)
    (row,) = found(RULE, run.trace())
    assert (row.severity, row.saving_ns) == ("note", None)
    assert row.title == "4 activities on AI_CPU: 16.6 % of the device's work"
