"""Metrics and statistics within training passes, and results that training needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tb_privateuse1.advice.rules.unread_results import RULE
from tests.support.autograd import TrainingProgram, steps
from tests.support.program import found
from tests.support.sized import FP32, full

ROWS, CLASSES = 4096, 512
SCORES = full(ROWS, CLASSES, dtype=FP32)
CHOSEN = full(ROWS, dtype="long int")


def trained(
    run: TrainingProgram,
    before: Callable[[TrainingProgram], None] | None = None,
    behind: Callable[[TrainingProgram], None] | None = None,
) -> None:
    """Train; other work is done ahead of the last layer, or ahead of the backward pass."""
    layers = run.forward(ROWS, 1024, CLASSES)
    if before:
        before(run)
    layers += run.forward(ROWS, CLASSES, 300)
    if behind:
        behind(run)
    run.backward(layers)
    run.optimize((1024, CLASSES), (CLASSES, 300))
    run.reset()


def accuracy(run: TrainingProgram) -> None:
    """Order all scores, and compare the best with labels."""
    run.run("aten::argsort", SCORES, "-1", "True")
    run.run("aten::eq", full(ROWS, CLASSES, dtype="long int"), full(ROWS, 1, dtype="long int"))
    run.run("aten::any", full(ROWS, CLASSES, dtype="bool"), "1", "False")
    run.run("aten::to", full(ROWS, dtype="bool"), "6", "False", "False", "")
    run.run("aten::mean", full(ROWS, dtype=FP32), "")


@pytest.mark.parametrize("place", ["before", "behind"])
def test_a_metric_in_the_forward_pass(place: str) -> None:
    before = steps(lambda run: trained(run, **{place: accuracy}))
    after = steps(trained)
    (row,) = found(RULE, before.trace())
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.15)
    assert row.confidence == "medium"
    assert found(RULE, after.trace()) == []


def test_a_number_that_the_host_reads_may_decide_something() -> None:
    def logged(run: TrainingProgram) -> None:
        accuracy(run)
        run.run("aten::item", full(1, dtype=FP32))

    (row,) = found(RULE, steps(lambda run: trained(run, behind=logged)).trace())
    assert (row.confidence, row.saving_low_ns) == ("low", 0)


def weighted(run: TrainingProgram) -> None:
    """A weight for each row, made without gradients, that the loss multiplies with."""
    run.run("aten::softmax", SCORES, "-1", "")
    run.run("aten::amax", SCORES, "[1]", "False")
    run.sequence += 1
    told = {"Sequence number": run.sequence}
    with run.around("aten::mul", **told):
        run.run("aten::mul", full(ROWS, dtype=FP32), full(ROWS, dtype=FP32))
    run.sequence += 1


def matched(run: TrainingProgram) -> None:
    """Costs that the host needs: it matches boxes with them."""
    run.run("aten::softmax", SCORES, "-1", "")
    with run.around("aten::to", **told_of_copy()):
        run.run("aten::_to_copy", SCORES, "", "", "")


def told_of_copy() -> dict[str, Any]:
    """Return what is recorded of a copy to the host."""
    return {"Input Dims": [[ROWS, CLASSES], [], []], "Input type": [FP32, "", ""],
            "Concrete Inputs": ["", "", ""]}  # fmt: skip


def counted(run: TrainingProgram) -> None:
    """Sizes of clusters in a state of the model, as vector quantization has them."""
    run.run("aten::softmax", SCORES, "-1", "")
    run.run("aten::sum", SCORES, "[0]", "False", "")
    run.run("aten::mul_", full(CLASSES * 3, dtype=FP32), "0.99")
    run.run("aten::add_", full(CLASSES * 3, dtype=FP32), full(CLASSES, dtype=FP32), "1")


def unknown(run: TrainingProgram) -> None:
    """An operator of the program, whose result may be read by the next layer."""
    run.run("mine::select", SCORES)


@pytest.mark.parametrize(
    ("place", "work"),
    [
        ("before", weighted), ("before", matched), ("behind", matched), ("before", counted),
        ("before", unknown),
    ],
)  # fmt: skip
def test_results_that_training_needs(place: str, work: Callable[[TrainingProgram], None]) -> None:
    assert found(RULE, steps(lambda run: trained(run, **{place: work})).trace()) == []


def test_a_state_that_the_next_pass_reads() -> None:
    """Chances that the next step compares its own with."""

    def carried(run: TrainingProgram) -> None:
        run.run("aten::softmax", SCORES, "-1", "", slow=4)

    def compared(run: TrainingProgram) -> None:
        trained(run, behind=carried)

    def reading(run: TrainingProgram) -> None:
        run.run("aten::norm", SCORES, "2")
        compared(run)

    assert len(found(RULE, steps(compared).trace())) == 1
    assert found(RULE, steps(reading).trace()) == []


def test_the_next_batch_is_copied_ahead() -> None:
    """It is made while a pass goes on, of nothing that the pass has made."""

    def ahead(run: TrainingProgram) -> None:
        run.run("aten::mul", full(ROWS, 1024, dtype=FP32), full(1, 1024, dtype=FP32))

    assert found(RULE, steps(lambda run: trained(run, before=ahead)).trace()) == []
