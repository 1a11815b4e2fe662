"""Training steps of recordings that have no steps of the profiler."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from tb_privateuse1.advice.rules.side_work import RULE
from tb_privateuse1.analysis.purpose.pieces import training_steps
from tests.support.autograd import HostTraining
from tests.support.program import found
from tests.support.sized import FP32, full, recorded

WIDTHS = (64,) * 11
SHAPES = [(64, 64)] * 10
Work = Callable[[HostTraining, int], None]


def nothing(_: HostTraining, __: int) -> None:
    """Nothing beside the training."""


def apply_model(run: HostTraining) -> None:
    """Apply a model without gradients."""
    for _ in range(10):
        run.matrix(256, 64, 64)


def scored(run: HostTraining, _: int) -> None:
    """Score the model in a function."""
    with run.frame("train.py(30): validate"):
        run.rest(1)
        apply_model(run)
        run.rest(1)


def loop(
    behind: Work = nothing,
    ahead: Work = nothing,
    *,
    rounds: Iterable[int] = range(6),
    optimizer: bool = True,
    around: bool = False,
) -> HostTraining:
    """Rounds of training with work behind the optimizer and ahead of the forward pass."""
    run = HostTraining()
    with run.frame("train.py(3): main"):
        run.rest(1)
        for i in rounds:
            run.op("aten::to", 5)
            ahead(run, i)
            layers = run.forward(256, *WIDTHS)
            run.backward(layers)
            if optimizer:
                run.optimize(*SHAPES)
            else:
                for shape in SHAPES:
                    weight = full(*shape, dtype=FP32)
                    run.run("aten::add_", weight, weight, "-0.1")
            behind(run, i)
        run.rest(1)
    if not around:
        run.events = [one for one in run.events if one.get("cat") != "python_function"]
    return run


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("optimizer", [False, True])
def test_work_behind_each_round_is_found_without_steps(optimizer: bool, around: bool) -> None:
    before = loop(scored, optimizer=optimizer, around=around)
    after = loop(optimizer=optimizer, around=around)
    (row,) = found(RULE, before.trace())
    assert "without gradients" in row.title
    assert "6 of 6 steps" in row.explanation
    assert row.saving_share == pytest.approx(1 - after.now / before.now, rel=0.1)


@pytest.mark.parametrize("around", [False, True])
def test_what_precedes_the_first_pass_too_is_of_the_next_round(around: bool) -> None:
    assert found(RULE, loop(ahead=scored, around=around).trace()) == []


def test_of_equal_work_on_both_sides_only_that_behind_is_found() -> None:
    before, after = loop(scored, scored), loop(ahead=scored)
    (row,) = found(RULE, before.trace())
    assert row.saving_share == pytest.approx(1 - after.now / before.now, rel=0.1)


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("rest", [0, 1])
def test_work_of_each_second_round_is_found(rest: int, around: bool) -> None:
    def sometimes(run: HostTraining, i: int) -> None:
        if i % 2 == rest:
            scored(run, i)

    before = loop(sometimes, around=around)
    (row,) = found(RULE, before.trace())
    assert "3 of 6 steps" in row.explanation
    assert row.saving_share == pytest.approx(1 - loop(around=around).now / before.now, rel=0.1)


def test_new_data_of_some_rounds_is_not_accused() -> None:
    """A player collects its moves ahead of each third round; the recording began behind them."""

    def collected(run: HostTraining, i: int) -> None:
        if i % 3 == 2:
            apply_model(run)
            run.op("aten::multinomial", 5, **recorded(full(256, 64, dtype=FP32), "1"))

    assert found(RULE, loop(ahead=collected, rounds=range(7)).trace()) == []


def test_what_a_recording_has_once_behind_its_last_round_is_not_accused() -> None:
    def last(run: HostTraining, i: int) -> None:
        if i == 5:
            scored(run, i)

    assert found(RULE, loop(last).trace()) == []


def test_a_loader_begins_a_round() -> None:
    def loaded(run: HostTraining, _: int) -> None:
        with run.range("enumerate(DataLoader)#_Single.__next__"):
            run.rest(3)
        apply_model(run)

    run = loop(scored, loaded)
    (row,) = found(RULE, run.trace())
    assert row.saving_share == pytest.approx(1 - loop(ahead=loaded).now / run.now, rel=0.1)


def test_rounds_are_one_after_the_other() -> None:
    start, end = training_steps(loop(scored).trace())
    assert len(start) == 6
    assert start[0] == 0
    assert start[1:].tolist() == end[:-1].tolist()
