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
    trace = program(load_us=5000, kernel_us=100).trace()
    (row,) = found(RULE, trace)
    assert row.saving_ns is not None
    # A quarter of the loader's time may stay: the middle of both gains counts.
    assert row.saving_ns == pytest.approx(3 * (4_911_000 + 3_750_000) / 2, rel=0.02)
    assert found(MANY, trace) == [], "one finding, not two"


def test_loading_that_the_device_hides_costs_nothing() -> None:
    assert found(RULE, program(load_us=200, kernel_us=1000).trace()) == []


def test_what_a_hand_over_takes_may_stay() -> None:
    """A worker would hand a batch over in 0.78 ms: of 1 ms little is sure to be saved."""
    (row,) = found(RULE, program(load_us=1000, kernel_us=100).trace())
    assert row.saving_low_ns is not None
    assert row.saving_low_ns <= 3 * (1_000_000 - 780_000)
    assert row.confidence == "medium"


def test_a_batch_that_is_made_as_fast_as_it_is_handed_over() -> None:
    assert found(RULE, program(load_us=500, kernel_us=100).trace()) == []
