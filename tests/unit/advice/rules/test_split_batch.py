"""Batches in small parts, and passes that cannot be one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tb_privateuse1.advice.rules.split_batch import RULE
from tests.support.autograd import TrainingProgram, steps
from tests.support.program import found
from tests.support.sized import FP32, full

ROWS, WIDTH = 16, 1024


def one_pass(run: TrainingProgram, rows: int, *, first: bool) -> None:
    """Go forward and backward; gradients are added to those of the passes before."""
    layers = run.forward(rows, WIDTH, 512, 256)
    run.backward(layers, fresh=first)


def parts(
    run: TrainingProgram,
    count: int = 8,
    rows: int = ROWS,
    between: Callable[[TrainingProgram], None] | None = None,
) -> None:
    """Train with a batch in parts."""
    for i in range(count):
        if between and i:
            between(run)
        one_pass(run, rows, first=i == 0)
    run.optimize((WIDTH, 512), (512, 256))
    run.reset()


def test_a_batch_in_parts() -> None:
    before, after = steps(parts), steps(lambda run: parts(run, 1, 8 * ROWS))
    (row,) = found(RULE, before.trace())
    # Nothing tells whether the whole batch fits, nor whether more rows are multiplied as fast.
    assert (row.confidence, row.saving_low_ns) == ("low", 0)
    assert row.saving_ns is not None
    assert row.saving_high_ns is not None
    gain_ns = 1000 * (before.now - after.now)
    assert 0.4 * gain_ns < row.saving_ns < gain_ns < row.saving_high_ns
    assert found(RULE, after.trace()) == []


def test_parts_that_fill_the_device_gain_little() -> None:
    assert found(RULE, steps(lambda run: parts(run, 2, 1 << 16)).trace()) == []


def clipped(run: TrainingProgram) -> None:
    """The gradients of each part are looked at on their own."""
    gradients = [full(WIDTH, 512, dtype=FP32), full(512, 256, dtype=FP32)]
    run.run("aten::_foreach_norm", gradients, "2")


def scaled(run: TrainingProgram) -> None:
    """Weights change between two passes."""
    run.run("aten::add_", full(WIDTH, 512, dtype=FP32), full(WIDTH, 512, dtype=FP32), "1")


@pytest.mark.parametrize("between", [clipped, scaled])
def test_what_happens_between_parts(between: Callable[[TrainingProgram], None]) -> None:
    assert found(RULE, steps(lambda run: parts(run, between=between)).trace()) == []


def test_a_window_reads_the_state_of_the_window_before() -> None:
    """A product of the last window's result, before this one has made its own."""

    def windows(run: TrainingProgram) -> None:
        for i in range(8):
            layers = run.forward(ROWS, 512, 512)
            layers += run.forward(ROWS, 512, 512)
            run.backward(layers, fresh=i == 0)
        run.optimize((512, 512), (512, 512))
        run.reset()

    assert found(RULE, steps(windows).trace()) == []


def test_two_networks_in_turn() -> None:
    """Each gets gradients of its own: none is added to."""

    def turns(run: TrainingProgram) -> None:
        for _ in range(8):
            one_pass(run, ROWS, first=True)
        run.optimize((WIDTH, 512), (512, 256))
        run.reset()

    assert found(RULE, steps(turns).trace()) == []


def test_gradients_that_no_optimizer_takes() -> None:
    """A compiled optimizer leaves no range: each pass may be a step of its own."""

    def unmarked(run: TrainingProgram) -> None:
        for _ in range(8):
            one_pass(run, ROWS, first=False)

    assert found(RULE, steps(unmarked).trace()) == []


def test_a_step_behind_each_pass() -> None:
    assert found(RULE, steps(lambda run: [parts(run, 1) for _ in range(8)].clear()).trace()) == []


def test_stages_of_a_pipeline_need_parts() -> None:
    def staged(run: TrainingProgram) -> None:
        for i in range(8):
            layers = run.forward(ROWS, WIDTH, 512)
            told: dict[str, Any] = {"Sequence number": run.sequence}
            run.op("c10d::send", 3, **told)
            layers += run.forward(ROWS, 512, 256)
            run.backward(layers, fresh=i == 0)
        run.optimize((WIDTH, 512), (512, 256))
        run.reset()

    assert found(RULE, steps(staged).trace()) == []


def views(
    run: TrainingProgram,
    widths: tuple[int, ...] = (WIDTH, 512, 256),
    between: Callable[[TrainingProgram], None] | None = None,
    names: tuple[str, str] = ("Net_0", "Net_0"),
    rows: int = ROWS,
) -> None:
    """Call a model on two views of a batch, and train with both results."""
    layers = []
    for i, name in enumerate(names):
        if between and i:
            between(run)
        with run.frame(f"nn.Module: {name}"):
            run.rest(1)
            layers += run.forward(rows, *widths)
            run.rest(1)
    run.backward(layers)
    run.optimize((WIDTH, 512), (512, 256))
    run.reset()


def test_two_views_in_two_calls() -> None:
    (row,) = found(RULE, steps(views).trace())
    assert "one after the other" in row.title
    assert row.confidence == "medium"


def cropped(run: TrainingProgram) -> None:
    """The second input is made of the first result, or it may be."""
    run.run("aten::mul", full(ROWS, 256, dtype=FP32), "2")


@pytest.mark.parametrize(
    "step",
    [
        lambda run: views(run, between=cropped),
        lambda run: views(run, (512, 256, 512)),
        lambda run: views(run, names=("Net_0", "Net_1")),
        lambda run: views(run, rows=1 << 16),
    ],
    ids=["an operator between", "results as large as inputs", "two models", "large ones"],
)
def test_calls_that_are_no_batch(step: Callable[[TrainingProgram], None]) -> None:
    assert found(RULE, steps(step).trace()) == []
