"""Scores picked by one-hot rows, and one-hot rows that something else reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.costly_products import RULE
from tests.support.autograd import TrainingProgram, steps
from tests.support.program import found
from tests.support.sized import FP32, full

ROWS, CLASSES = 4096, 500
SCORES = full(ROWS, CLASSES, dtype=FP32)
HOT = full(ROWS, CLASSES, dtype="long int")


def rows(run: TrainingProgram) -> None:
    """Make one-hot rows, converted."""
    run.run("aten::one_hot", full(ROWS, dtype="long int"), str(CLASSES), slow=4)
    run.run("aten::to", HOT, "6", "False", "False", "", slow=2)


def picked(run: TrainingProgram, dim: str = "[1]", behind: str = "") -> None:
    """Multiply scores with one-hot rows, and add up."""
    run.matrix(ROWS, 64, CLASSES)
    rows(run)
    run.run("aten::log_softmax", SCORES, "1", "")
    run.run("aten::mul", SCORES, SCORES)
    run.run("aten::sum", SCORES, dim, "False", "")
    if behind:
        run.run(behind, SCORES, "[1]", "False", "")


def gathered(run: TrainingProgram) -> None:
    run.matrix(ROWS, 64, CLASSES)
    run.run("aten::log_softmax", SCORES, "1", "")
    run.run("aten::gather", SCORES, "1", full(ROWS, 1, dtype="long int"), "False")


def test_a_loss_by_one_hot_rows() -> None:
    before, after = steps(picked), steps(gathered)
    (row,) = found(RULE, before.trace())
    gain_ns = 1000 * (before.now - after.now)
    # Operators that go only in part are still launched, by the lower end.
    assert row.saving_high_ns == pytest.approx(gain_ns, rel=0.05)
    assert row.saving_low_ns is not None
    assert row.saving_low_ns > gain_ns / 2
    assert found(RULE, after.trace()) == []


def overlaps(run: TrainingProgram) -> None:
    """An overlap of whole pictures, which also needs the sums of both."""
    picked(run, behind="aten::sum")


def smoothed(run: TrainingProgram) -> None:
    """All classes have some weight."""
    run.matrix(ROWS, 64, CLASSES)
    rows(run)
    run.run("aten::mul", SCORES, "0.9")
    run.run("aten::add", SCORES, "0.01", "1")
    run.run("aten::mul", SCORES, SCORES)
    run.run("aten::sum", SCORES, "[1]", "False", "")


def weighed(run: TrainingProgram) -> None:
    """The products themselves are read: each score has its place."""
    run.matrix(ROWS, 64, CLASSES)
    rows(run)
    run.run("aten::mul", SCORES, SCORES)
    run.run("aten::tanh", SCORES)
    run.run("aten::sum", SCORES, "[1]", "False", "")


def compared(run: TrainingProgram) -> None:
    """Behind the sum rows are compared with chances, which makes as many numbers."""
    picked(run)
    run.run("aten::sub", SCORES, SCORES, "1")


@pytest.mark.parametrize(
    "step", [compared, overlaps, smoothed, weighed, lambda run: picked(run, dim="[0]")]
)
def test_one_hot_rows_that_are_no_choice(step: Callable[[TrainingProgram], None]) -> None:
    titles = [row.title for row in found(RULE, steps(step).trace())]
    assert not any("is picked" in title for title in titles)
