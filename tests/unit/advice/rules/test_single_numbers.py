"""Operators on single numbers, one after the other; and right programs that have some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tb_privateuse1.advice.rules.indexing_loop import RULE
from tests.support.autograd import HostTraining, TrainingProgram
from tests.support.program import found
from tests.support.sized import FP32, full, recorded

NUMBER, LARGE = full(dtype=FP32), full(1024, 1024, dtype=FP32)
TIMES, ENVIRONMENTS = 16, 8


def program(body: Callable[[TrainingProgram], None]) -> TrainingProgram:
    """Steps on a processor with a product and a body of the user's."""
    run = HostTraining()
    for _ in range(4):
        with run.step(), run.frame("train.py(3): step"):
            run.rest(1)
            run.op("aten::mm", 400, **recorded(full(64, 64, dtype=FP32), full(64, 64, dtype=FP32)))
            run.op("aten::add", 100, **recorded(LARGE, LARGE, "1"))  # shows what memory reaches
            with run.frame("train.py(9): returns"):
                run.rest(1)
                body(run)
            run.rest(1)
    return run


def element(run: TrainingProgram, time: int, environment: int) -> None:
    """Take an element of a table by its row."""
    run.op("aten::select", 2, **recorded(full(TIMES, ENVIRONMENTS, dtype=FP32), "0", str(time)))
    run.op("aten::select", 2, **recorded(full(ENVIRONMENTS, dtype=FP32), "0", str(environment)))


def by_element(run: TrainingProgram, *, made: bool = False, taped: bool = False) -> None:
    """A sum with a decay over the times of each environment, an element at a time."""
    for environment in range(ENVIRONMENTS):
        for time in reversed(range(TIMES)):
            element(run, time, environment)
            if made:
                run.op("aten::lift_fresh", 1, **recorded(NUMBER))
            run.op("aten::mul", 4, **recorded(NUMBER, NUMBER), **_tape(run, taped))
            run.op("aten::add", 4, **recorded(NUMBER, NUMBER, "1"), **_tape(run, taped))
            element(run, time, environment)
            run.op("aten::copy_", 3, **recorded(NUMBER, NUMBER, "False"))


def _tape(run: TrainingProgram, taped: bool) -> dict[str, Any]:
    run.sequence += taped
    return {"Sequence number": run.sequence} if taped else {}


def test_numbers_computed_one_by_one_are_found_with_their_line() -> None:
    (row,) = found(RULE, program(by_element).trace())
    assert row.title.startswith("Operators on single numbers: 384 a step")
    assert (str(row.where), row.confidence) == ("returns (train.py:9)", "medium")
    assert row.saving_share == pytest.approx(128 * 19 / (128 * 19 + 503), rel=0.1)


def test_rounds_that_need_each_other_count_as_well() -> None:
    """Python's numbers do not need a batch: the call is saved, not the order."""

    def one_environment(run: TrainingProgram) -> None:
        for time in reversed(range(4 * TIMES)):
            element(run, time, 0)
            run.op("aten::mul", 4, **recorded(NUMBER, NUMBER))
            run.op("aten::add", 4, **recorded(NUMBER, NUMBER, "1"))

    assert len(found(RULE, program(one_environment).trace())) == 1


def test_numbers_that_other_code_gives_may_have_to_be_single() -> None:
    """As those of a simulator that is written in Python."""
    (row,) = found(RULE, program(lambda run: by_element(run, made=True)).trace())
    assert row.confidence == "low"


def test_numbers_with_gradients_are_no_numbers_of_python() -> None:
    (row,) = found(RULE, program(lambda run: by_element(run, taped=True)).trace())
    assert row.confidence == "low"
    assert "tolist" not in row.fix


def one_series(run: TrainingProgram) -> None:
    """A state that follows from the one before by a bent formula, with gradients."""
    for time in range(8 * TIMES):
        run.op("aten::select", 2, **recorded(full(8 * TIMES, dtype=FP32), "0", str(time)))
        run.op("aten::mul", 4, **recorded(NUMBER, NUMBER), **_tape(run, True))
        run.op("aten::add", 4, **recorded(NUMBER, NUMBER, "1"), **_tape(run, True))
        run.op("aten::tanh", 4, **recorded(NUMBER), **_tape(run, True))


def by_time(run: TrainingProgram) -> None:
    """The right form: a vector of all environments at each time."""
    row = full(ENVIRONMENTS, dtype=FP32)
    for time in reversed(range(8 * TIMES)):
        whole = full(8 * TIMES, ENVIRONMENTS, dtype=FP32)
        run.op("aten::select", 2, **recorded(whole, "0", str(time)))
        run.op("aten::addcmul", 4, **recorded(row, row, row, "1"))


def terms(run: TrainingProgram) -> None:
    """A loss of a dozen weighted terms, each behind a reduction of a batch."""
    batch = full(64, 64, dtype=FP32)
    for _ in range(12):
        run.op("aten::mean", 20, **recorded(batch, ""))
        for name in ("exp", "mul", "add", "mul", "add", "add"):
            run.op(f"aten::{name}", 4, **recorded(NUMBER, NUMBER))


def gates(run: TrainingProgram) -> None:
    """Learned numbers of many layers, between the work that they scale."""
    states = full(64, 64, dtype=FP32)
    for _ in range(100):
        run.op("aten::tanh", 4, **recorded(NUMBER))
        run.op("aten::mul", 30, **recorded(states, NUMBER))


def line_search(run: TrainingProgram) -> None:
    """Torch's own optimizer fits a cubic through numbers."""
    with run.range("Optimizer.step#LBFGS.step"):
        run.rest(1)
        by_element(run)


def of_torch(run: TrainingProgram) -> None:
    """Torch's own function, outside of an optimizer."""
    with run.frame("torch/optim/swa_utils.py(300): update_bn"):
        by_element(run)
        run.rest(1)


def apart_in_torch(run: TrainingProgram) -> None:
    """Torch's own function takes rows that do not need each other; its body is not the user's."""
    with run.frame("torch/nn/utils/stateless.py(30): rows"):
        for time in range(TIMES):
            run.op("aten::select", 2, **recorded(full(TIMES, 64, dtype=FP32), "0", str(time)))
            run.op("aten::exp", 40, **recorded(full(64, dtype=FP32)))
        run.rest(1)


def norms(run: TrainingProgram) -> None:
    """What clips a gradient looks at each norm's device, in a function of torch."""
    with run.frame("torch/nn/utils/clip_grad.py(60): _get_total_norm"):
        for _ in range(400):
            run.op("aten::to", 1, **recorded(NUMBER, "6", "False", "False"))
        run.rest(1)


@pytest.mark.parametrize(
    "body", [by_time, terms, gates, line_search, of_torch, apart_in_torch, norms, one_series]
)
def test_a_right_program_is_not_accused(body: Callable[[TrainingProgram], None]) -> None:
    assert found(RULE, program(body).trace()) == []


def test_a_loader_is_another_rule() -> None:
    def samples(run: TrainingProgram) -> None:
        with run.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
            run.rest(1)
            by_element(run)

    assert found(RULE, program(samples).trace()) == []
