"""Kinds of work beside the training."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.purpose.side_work import side_work
from tests.support.autograd import TrainingProgram
from tests.support.sized import FP32, full, recorded
from tests.unit.advice.rules.test_side_work import WEIGHT, average, save, train, validate


def histograms(run: TrainingProgram) -> None:
    """Count the values of each weight."""
    for _ in range(10):
        run.op("aten::histc", 20, **recorded(WEIGHT, "64", "0", "0"))


def copy(run: TrainingProgram) -> None:
    """Copy each weight."""
    for _ in range(10):
        run.op("aten::clone", 20, **recorded(WEIGHT, ""))


def draw(run: TrainingProgram) -> None:
    """Make the next batch."""
    run.op("aten::randn", 50, **recorded("[256, 64]"))
    run.op("aten::add", 50, **recorded(full(256, 64, dtype=FP32), full(256, 64, dtype=FP32), "1"))


@pytest.mark.parametrize(
    ("work", "kind"),
    [
        (validate, "pass"), (average, "averages"), (save, "writes"), (histograms, "statistics"),
        (copy, "copies"),
    ],
)  # fmt: skip
def test_work_is_what_it_does(work, kind: str) -> None:  # type: ignore[no-untyped-def]
    (found,) = side_work(train(work).trace())
    assert found.kind == kind
    assert found.steps.tolist() == [0, 1, 2, 3]


def test_the_next_batch_is_no_side_work() -> None:
    assert side_work(train(draw).trace()) == ()
