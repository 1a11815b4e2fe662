"""synchronize() in the loop."""

from tb_privateuse1.advice.rules.synchronize import RULE
from tests.support.program import Program, found


def program(waits: int) -> Program:
    run = Program()
    for number in range(4):
        with run.step(), run.frame("train.py(9): step"):
            for _ in range(5):
                run.op("aten::mm", 10, kernel=100)
            if number < waits:
                with run.frame("torch/cuda/__init__.py(3): synchronize"):
                    run.wait("cudaDeviceSynchronize")
            run.rest(200)
    return run


def test_it_is_found_with_its_line() -> None:
    (row,) = found(RULE, program(waits=4).trace())
    assert (row.events, str(row.where)) == (4, "step (train.py:9)")
    assert row.evidence[0].table == "launches"


def test_a_long_wait_that_costs_nothing_does_not_name_the_function() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            with run.frame("train.py(9): step"):
                run.op("aten::mm", 10, kernel=100)
                run.wait("cudaDeviceSynchronize")
                run.rest(200)
            with run.frame("train.py(50): log"):
                run.op("aten::mm", 10, kernel=2_000)
                run.wait("cudaDeviceSynchronize")
    (row,) = found(RULE, run.trace())
    assert str(row.where) == "step (train.py:9)"


def test_less_than_one_a_step_is_the_profilers() -> None:
    assert found(RULE, program(waits=1).trace()) == []


def test_waiting_for_an_event_on_the_device_is_no_wait_of_the_host() -> None:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=100)
            run.wait("cudaStreamWaitEvent")
            run.rest(300)
    assert found(RULE, run.trace()) == []
