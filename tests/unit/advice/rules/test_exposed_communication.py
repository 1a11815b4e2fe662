"""Exposed communication."""

import pytest

from tb_privateuse1.advice.rules.exposed_communication import RULE
from tests.support import make
from tests.support.program import Program, found


def program(beside: bool) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=400)
            run.launched += 1
            begin = run.device if not beside else run.device - 300
            run.events.append(make.launch(run.now, run.now + 1, run.launched))
            talk = make.kernel(
                "ncclDevKernel_AllReduce", begin, begin + 200, run.launched, stream=9
            )
            run.events.append(talk)
            run.device = max(run.device, begin + 200)
            run.wait()
    return run


def test_it_is_found_with_its_cost() -> None:
    (row,) = found(RULE, program(beside=False).trace())
    assert row.saving_ns == pytest.approx(3 * 200_000, rel=0.05)
    assert row.events == 3


def test_hidden_communication_is_fine() -> None:
    assert found(RULE, program(beside=True).trace()) == []


def test_without_communication_there_is_nothing() -> None:
    run = Program()
    with run.step():
        run.op("aten::mm", 10, kernel=400)
    assert found(RULE, run.trace()) == []
