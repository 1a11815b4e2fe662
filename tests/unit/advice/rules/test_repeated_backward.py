"""Several backward passes through one graph, and passes that need their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.repeated_backward import RULE
from tests.support.autograd import Layer, TrainingProgram, steps
from tests.support.program import found

ROWS, WIDTH = 4096, 2048


def windows(run: TrainingProgram, *, detaches: bool) -> None:
    """A recurrent state that is carried from window to window."""
    run.reset()
    layers: list[Layer] = []
    for window in range(4):
        layers = [*([] if detaches else layers), *run.forward(ROWS, WIDTH, WIDTH)]
        run.backward(layers, fresh=window == 0)
    run.optimize((WIDTH, WIDTH))


def test_a_state_that_stays_attached() -> None:
    before = steps(lambda run: windows(run, detaches=False))
    after = steps(lambda run: windows(run, detaches=True))
    (row,) = found(RULE, before.trace())
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.2)
    assert found(RULE, after.trace()) == []


def tasks(run: TrainingProgram) -> None:
    """Two heads on one trunk, each with a backward pass of its own."""
    run.reset()
    trunk = run.forward(ROWS, WIDTH, WIDTH, WIDTH)
    for head in range(2):
        run.backward([*trunk, *run.forward(ROWS, WIDTH, 512)], fresh=head == 0)
    run.optimize((WIDTH, WIDTH), (WIDTH, 512))


def test_losses_of_one_trunk_could_be_added_up() -> None:
    (row,) = found(RULE, steps(tasks).trace())
    assert row.saving_share is not None
    assert row.saving_share > 0.2


def penalty(run: TrainingProgram) -> None:
    """A gradient of a gradient: the second pass needs the first one's graph."""
    run.reset()
    layers = run.forward(ROWS, WIDTH, WIDTH, WIDTH)
    run.backward(layers, recorded_again=True)
    run.backward(layers, fresh=False)
    run.optimize((WIDTH, WIDTH))


def compared(run: TrainingProgram) -> None:
    """The gradients of each task are read before the next one's: they are reset in between."""
    trunk = run.forward(ROWS, WIDTH, WIDTH, WIDTH)
    for _ in range(2):
        run.reset()
        run.backward(trunk)
    run.optimize((WIDTH, WIDTH))


def rows_of_a_jacobian(run: TrainingProgram) -> None:
    """Each output's own gradient, in a new tensor."""
    layers = run.forward(ROWS, WIDTH, WIDTH)
    for _ in range(4):
        run.backward(layers, fresh=True)
        run.forward(ROWS, WIDTH, 64)
    run.optimize((WIDTH, WIDTH))


@pytest.mark.parametrize("step", [penalty, compared, rows_of_a_jacobian])
def test_passes_that_need_their_own(step: Callable[[TrainingProgram], None]) -> None:
    assert found(RULE, steps(step).trace()) == []
