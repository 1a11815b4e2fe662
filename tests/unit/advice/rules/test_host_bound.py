"""A device that waits for the host."""

from typing import Any

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


def kept_up(idle_us: list[float], kernels: list[int] | None = None) -> Program:
    """Build steps of a device that the host keeps up with, but for so much in each."""
    run = Program()
    for step, idle in enumerate(idle_us):
        with run.step():
            for number in range(60 if kernels is None else kernels[step]):
                late = max(run.device - run.now, 0) + idle if number == 30 and idle else 0
                run.op("aten::mm", 10 + late, kernel=100)
            run.now = max(run.now, run.device - 500)
    return run


def test_a_host_that_one_step_held_up_launches_fast_enough() -> None:
    """A host that launches too slowly is late in each step."""
    assert found(RULE, kept_up([3000, 0, 0, 0]).trace()) == []
    assert found(RULE, kept_up([0, 0, 3000]).trace()) == []


def test_steps_give_no_more_than_a_usual_one() -> None:
    (row,) = found(RULE, kept_up([900, 6000, 900, 900]).trace())
    assert row.saving_ns == pytest.approx(4 * 900_000, rel=0.05)


def test_steps_with_other_work_are_no_measure_of_each_other() -> None:
    """Each third step updates the weights, and the device waits in it."""
    steps, work = [0.0, 0.0, 3000.0] * 3, [60, 60, 90] * 3
    (row,) = found(RULE, kept_up(steps, work).trace())
    assert row.saving_ns == pytest.approx(3 * 3_000_000, rel=0.05)


def test_two_steps_do_not_show_what_is_usual() -> None:
    assert len(found(RULE, kept_up([3000, 0]).trace())) == 1


def simulated(*, answers: bool) -> Program:
    """Act on states that code on the host makes of the last actions, or of nothing else."""
    run, states = Program(), dict[str, Any]({"Input Dims": [[8, 24]]})
    other: dict[str, Any] = {"Input Dims": [[3]]}
    for _ in range(4):
        with run.step():
            for _ in range(20):
                run.op("aten::mm", 10, kernel=600)
                with run.around("aten::copy_"):
                    run.copy("DtoH", 20)
                if not answers:
                    run.op("aten::relu", 1, **other)
                run.rest(50)
                if answers:
                    run.op("aten::lift_fresh", 2, **states)
                with run.around("aten::to"), run.around("aten::copy_"):
                    run.copy("HtoD", 20, blocking=False)
    return run


def test_what_the_host_makes_of_results_is_no_launching() -> None:
    """No graph shortens a simulation between the actions and the next states."""
    (other,) = found(RULE, simulated(answers=False).trace())
    own = found(RULE, simulated(answers=True).trace())
    assert other.saving_ns is not None
    assert other.saving_ns > 1000 * 4 * 20 * 50
    assert all((row.saving_ns or 0) < other.saving_ns - 1000 * 4 * 19 * 50 for row in own)
