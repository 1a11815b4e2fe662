"""Gradients that are scaled behind each part of a batch, and where each part needs it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.repeated_clipping import RULE
from tests.support.autograd import TrainingProgram, steps
from tests.support.program import found
from tests.support.sized import FP32, full, recorded

PARTS, WIDTH = 4, 512
SHAPES = [full(WIDTH, WIDTH, dtype=FP32)] * 2
NORM_US, SCALE_US = 400, 300


def clip(run: TrainingProgram) -> None:
    run.op("aten::_foreach_norm", 5, kernel=NORM_US, **recorded(SHAPES, "2"))
    run.op("aten::stack", 5, kernel=2, **recorded([full(dtype=FP32)] * 2, "0"))
    run.op("aten::_foreach_mul_", 5, kernel=SCALE_US, **recorded(SHAPES, full(dtype=FP32)))


def parts(
    run: TrainingProgram, *, each: bool, between: str = "", fresh: bool | None = None
) -> None:
    run.reset()
    for part in range(PARTS):
        layers = run.forward(64, WIDTH, WIDTH, WIDTH)
        run.backward(layers, fresh=part == 0 if fresh is None else fresh)
        if each or part == PARTS - 1:
            clip(run)
        if between:
            run.op(between, 5, kernel=50, **recorded(SHAPES, SHAPES))
    run.optimize((WIDTH, WIDTH), (WIDTH, WIDTH))


def test_all_but_the_last_time_is_needless() -> None:
    (row,) = found(RULE, steps(lambda run: parts(run, each=True)).trace())
    gone = (PARTS - 1) * (NORM_US + SCALE_US + 2)
    # The host is late behind some of them, where the device idles instead.
    assert row.saving_ns == pytest.approx(4000 * gone, rel=0.1)


def once(run: TrainingProgram) -> None:
    parts(run, each=False)


def kept_apart(run: TrainingProgram) -> None:
    """Each part's own gradient is limited, and added to others (differential privacy)."""
    parts(run, each=True, between="aten::_foreach_add_")


def reset_between(run: TrainingProgram) -> None:
    parts(run, each=True, fresh=True)


def updated_between(run: TrainingProgram) -> None:
    """Two models of equal layers, each with its own update; gradients are set to zero."""
    parts(run, each=True, between="aten::_fused_adam_", fresh=False)


@pytest.mark.parametrize("step", [once, kept_apart, reset_between, updated_between])
def test_gradients_that_are_scaled_once(step: Callable[[TrainingProgram], None]) -> None:
    assert found(RULE, steps(step).trace()) == []
