"""Equal calls of a module on a device, in training."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.repeated_passes import RULE
from tests.support.autograd import TrainingProgram
from tests.support.autograd import steps as on_device
from tests.support.program import found
from tests.support.sized import FP32, full

ROWS, WIDTHS = 16, (1024, 512, 256)


def apart(
    run: TrainingProgram,
    widths: tuple[int, ...] = WIDTHS,
    between: Callable[[TrainingProgram], None] | None = None,
    names: tuple[str, ...] = ("Net_0", "Net_0"),
    rows: int = ROWS,
    trained: bool = True,
) -> None:
    """Call a model on views of a batch, on a device, and train with all results."""
    layers = []
    for i, name in enumerate(names):
        if between and i:
            between(run)
        run.rest(1)
        with run.frame("train.py(9): step"):
            run.rest(1)
            with run.frame(f"nn.Module: {name}"):
                run.rest(1)
                layers += run.forward(rows, *widths)
                run.rest(1)
    if trained:
        run.backward(layers)
        run.optimize((1024, 512), (512, 256))
        run.reset()


def scaled(run: TrainingProgram) -> None:
    """Look at the first result: it has not the size of an input."""
    run.run("aten::mul", full(ROWS, 256, dtype=FP32), "2")


@pytest.mark.parametrize("between", [None, scaled])
def test_views_on_a_device(between: Callable[[TrainingProgram], None] | None) -> None:
    before = on_device(lambda run: apart(run, between=between))
    after = on_device(lambda run: apart(run, names=("Net_0",), rows=2 * ROWS))
    (row,) = found(RULE, before.trace())
    assert "Net is called 2 times in a row" in row.title
    assert row.confidence == "medium"
    gain_ns = 1000 * (before.now - after.now)
    assert row.saving_ns is not None
    assert row.saving_high_ns is not None
    assert 0.3 * gain_ns < row.saving_ns < row.saving_high_ns
    assert row.saving_ns < 1.2 * gain_ns
    assert found(RULE, after.trace()) == []


def widened(run: TrainingProgram) -> None:
    """The next input is made of the result before."""
    run.run("aten::mm", full(ROWS, 256, dtype=FP32), full(256, 1024, dtype=FP32))


@pytest.mark.parametrize(
    "step",
    [
        lambda run: apart(run, between=widened),
        lambda run: apart(run, (512, 256, 512)),
        lambda run: apart(run, names=("Net_0", "Net_1")),
        lambda run: apart(run, rows=1 << 16),
        lambda run: apart(run, trained=False),
    ],
    ids=[
        "an input of the result before", "results as large as inputs", "two models", "large ones",
        "inference, which ``weight_reads`` judges",
    ],
)  # fmt: skip
def test_calls_on_a_device_that_are_no_batch(step: Callable[[TrainingProgram], None]) -> None:
    assert found(RULE, on_device(step).trace()) == []
