"""Pauses of the host that no event explains."""

import pytest

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules.host_bound import RULE as HOST_BOUND
from tb_privateuse1.advice.rules.unrecorded_pauses import RULE
from tests.support.program import Program, found


def requests(pauses: list[float], kernel: float = 30) -> Program:
    """Build a server that computes a batch of requests after each pause, without steps."""
    run = Program()
    for us in pauses:
        run.rest(us)
        for _ in range(60):
            run.op("aten::mm", 10, kernel=kernel)
        run.wait()
    return run


def training(us: float, steps: int = 4, frame: str = "") -> Program:
    """Build steps whose host works this long before each of them."""
    run = Program()
    for _ in range(steps):
        with run.step():
            if frame:
                with run.frame(frame):
                    run.rest(us)
            else:
                run.rest(us)
            for _ in range(60):
                run.op("aten::mm", 10, kernel=30)
            run.wait()
    return run


def test_a_server_without_requests_is_not_launch_bound() -> None:
    """Nothing is promised: no change of the program brings requests."""
    advice = advise(requests([100, 4000, 900, 7000, 2000]).trace(), rules=(RULE, HOST_BOUND))
    (row,) = advice.rows
    assert (row.rule, row.saving_ns, row.severity) == ("unrecorded_pauses", None, "medium")
    assert "waits for requests" in row.explanation


def test_code_of_each_step_is_a_saving_whose_reason_is_unknown() -> None:
    (row,) = found(RULE, training(2000).trace())
    assert row.saving_per_step_ns is not None
    assert 1_900_000 < row.saving_per_step_ns < 2_100_000
    assert row.confidence == "low"
    assert row.lacks


def test_code_with_a_name_is_another_rules() -> None:
    assert found(RULE, training(2000, frame="data.py(3): read").trace()) == []


def test_many_frames_are_no_pause() -> None:
    """The same time in short functions, between which the step launches: it is recorded."""
    run = Program()
    for _ in range(4):
        with run.step(), run.frame("train.py(5): step"):
            for _ in range(60):
                run.op("aten::mm", 10, kernel=30)
            for _ in range(50):
                with run.frame("metrics.py(3): add"):
                    run.rest(40)
            run.wait()
    assert found(RULE, run.trace()) == []


def test_a_step_that_waits_for_the_interpreter_is_found_with_its_line() -> None:
    run = Program()
    for _ in range(4):
        with run.step(), run.frame("train.py(5): step"):
            for _ in range(60):
                run.op("aten::mm", 10, kernel=30)
            run.rest(4000)
            run.op("aten::mm", 10, kernel=30)
            run.wait()
    (row,) = found(RULE, run.trace())
    assert str(row.where) == "step (train.py:5)"
    assert row.saving_per_step_ns == pytest.approx(2_850_000, rel=0.01)


def test_the_pace_of_launches_is_no_pause() -> None:
    """Each operator has twice its own time of Python behind it."""
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(60):
                run.op("aten::mm", 10, kernel=5)
                run.rest(20)
            run.wait()
    assert found(RULE, run.trace()) == []
    (row,) = found(HOST_BOUND, run.trace())
    assert (row.saving_share or 0) > 0.5


def test_a_busy_device_waits_for_no_pause() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(60):
                run.op("aten::mm", 10, kernel=100)
            run.rest(3000)
    assert found(RULE, run.trace()) == []
