"""A data loader without workers."""

import pytest

from tb_privateuse1.advice.rules.data_loader import RULE as MANY
from tb_privateuse1.advice.rules.single_process_loader import RULE
from tests.support.program import Program, found

NAME = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def program(load_us: float, kernel_us: float) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=kernel_us)
            with run.range(NAME):
                run.rest(load_us)
            run.op("aten::mm", 10, kernel=50)
            run.wait()
    return run


def test_it_is_found_with_its_cost() -> None:
    trace = program(load_us=500, kernel_us=100).trace()
    (row,) = found(RULE, trace)
    assert row.saving_ns is not None
    # A quarter of the loader's time may stay: the middle of both gains counts.
    assert row.saving_ns == pytest.approx(3 * (411_000 + 375_000) / 2, rel=0.02)
    assert found(MANY, trace) == [], "one finding, not two"


def test_loading_that_the_device_hides_costs_nothing() -> None:
    assert found(RULE, program(load_us=200, kernel_us=1000).trace()) == []
