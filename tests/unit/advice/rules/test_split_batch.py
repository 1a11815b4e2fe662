"""Batches in small parts, and passes that cannot be one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tb_privateuse1.advice.rules.split_batch import RULE
from tests.support import make
from tests.support.autograd import TrainingProgram, steps
from tests.support.program import found
from tests.support.sized import FP32, full

ROWS, WIDTH = 16, 1024
GIB = 1 << 30
DEVICES = [{"id": 0, "name": "x", "totalGlobalMem": 16 * GIB}]


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


def allocating(run: TrainingProgram, count: int = 8, rows: int = ROWS, kept: int = GIB) -> None:
    """Train with a batch in parts, which allocate memory and free it."""
    for i in range(count):
        run.events.append(make.memory(run.now, kept, GIB + kept))
        one_pass(run, rows, first=i == 0)
        run.events.append(make.memory(run.now, -kept, GIB))
    run.optimize((WIDTH, 512), (512, 256))
    run.reset()


def test_a_batch_in_parts() -> None:
    before, after = steps(allocating), steps(lambda run: allocating(run, 1, 8 * ROWS))
    (row,) = found(RULE, before.trace(deviceProperties=DEVICES))
    assert row.confidence == "medium"
    assert row.saving_ns is not None
    assert row.saving_high_ns is not None
    gain_ns = 1000 * (before.now - after.now)
    # Nothing tells whether more rows are multiplied as fast.
    assert 0.4 * gain_ns < row.saving_ns < gain_ns < row.saving_high_ns
    assert found(RULE, after.trace(deviceProperties=DEVICES)) == []


def test_a_whole_batch_that_does_not_fit() -> None:
    run = steps(lambda run: allocating(run, kept=2 * GIB))
    assert found(RULE, run.trace(deviceProperties=DEVICES)) == []


@pytest.mark.parametrize("step", [parts, allocating], ids=["no use", "no capacity"])
def test_whether_the_whole_batch_fits_is_not_recorded(step: Callable[..., None]) -> None:
    """Gradients are accumulated where the whole batch would not fit: nothing is promised."""
    (row,) = found(RULE, steps(step).trace())
    assert (row.severity, row.saving_ns, row.confidence) == ("note", None, "low")


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
            args: dict[str, Any] = {"Sequence number": run.sequence}
            run.op("c10d::send", 3, **args)
            layers += run.forward(ROWS, 512, 256)
            run.backward(layers, fresh=i == 0)
        run.optimize((WIDTH, 512), (512, 256))
        run.reset()

    assert found(RULE, steps(staged).trace()) == []
