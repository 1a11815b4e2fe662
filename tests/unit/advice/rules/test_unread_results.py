"""Forward work that nobody reads, and programs whose results all have a reader."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.unread_results import RULE
from tests.support.autograd import TrainingProgram, steps
from tests.support.program import found
from tests.support.sized import FP32, full

ROWS, SIDE = 4096, 3072


def side_head(run: TrainingProgram, *, called: bool = True) -> None:
    """A second head on the same layers, whose output is in no loss."""
    layers = run.forward(ROWS, 1024, 2048)
    if called:
        run.forward(ROWS, 2048, SIDE)
    layers += run.forward(ROWS, 2048, 512)
    run.backward(layers)
    run.optimize((1024, 2048), (2048, 512))
    run.reset()


def test_a_head_without_a_part_in_the_loss() -> None:
    before = steps(side_head)
    after = steps(lambda run: side_head(run, called=False))
    (row,) = found(RULE, before.trace())
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.1)
    assert found(RULE, after.trace()) == []


def logged(run: TrainingProgram) -> None:
    """The second head is read for a metric."""
    layers = run.forward(ROWS, 1024, 2048)
    run.forward(ROWS, 2048, SIDE)
    layers += run.forward(ROWS, 2048, 512)
    run.run("aten::argmax", full(ROWS, SIDE, dtype=FP32), "-1", "False")
    run.backward(layers)
    run.optimize((1024, 2048), (2048, 512))


def detached(run: TrainingProgram) -> None:
    """A maker whose output a judge is trained with."""
    run.forward(ROWS, 1024, SIDE)
    run.run("aten::detach", full(ROWS, SIDE, dtype=FP32))
    run.backward(run.forward(ROWS, SIDE, 512))
    run.optimize((SIDE, 512))


def validated(run: TrainingProgram) -> None:
    """A pass without a backward pass, between two steps: its result is read behind it."""
    side_head(run, called=False)
    run.forward(ROWS, 1024, SIDE)
    run.run("aten::argmax", full(ROWS, SIDE, dtype=FP32), "-1", "False")


@pytest.mark.parametrize("step", [logged, detached, validated])
def test_results_that_somebody_reads(step: Callable[[TrainingProgram], None]) -> None:
    assert found(RULE, steps(step).trace()) == []
