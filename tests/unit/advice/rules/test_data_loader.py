"""Input-bound programs, and others."""

from tb_privateuse1.advice.rules.data_loader import RULE
from tests.support.program import Program, device_bound, found

NAME = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def program(load_us: float) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            with run.range(NAME):
                run.rest(load_us)
            for _ in range(10):
                run.op("aten::mm", 10, kernel=100)
            run.wait()
    return run


def test_it_is_found_with_its_cost() -> None:
    (row,) = found(RULE, program(500).trace())
    assert row.saving_ns == 3 * 500_000 * 7 / 8, "up to a quarter may stay"
    assert row.events == 3
    assert row.evidence[0].name == NAME
    assert row.severity == "high"


def test_loading_beside_the_device_is_no_waiting() -> None:
    run = device_bound()
    with run.step():
        run.op("aten::mm", 10, kernel=2000)
        with run.range(NAME):
            run.rest(1000)
        run.op("aten::mm", 10, kernel=100)
    assert found(RULE, run.trace()) == []


def test_below_the_threshold() -> None:
    assert found(RULE, program(20).trace()) == []


def test_on_a_host_alone_its_time_is_the_cost() -> None:
    run = Program()
    for _ in range(2):
        with run.step():
            with run.range(NAME):
                run.rest(400)
            run.op("aten::mm", 600)
    (row,) = found(RULE, run.trace())
    assert row.saving_ns == 2 * 400_000 * 7 / 8
    assert row.lacks == (), "a program on the host alone has no device to record"
