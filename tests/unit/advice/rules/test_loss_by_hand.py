"""A cross entropy of single operators, with its gradient."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules import elementwise_chain
from tb_privateuse1.advice.rules.loss_by_hand import RULE
from tests.support.program import found
from tests.support.sized import FP32, SizedProgram, full

ROWS, CLASSES = 4096, 8192
SCORES = full(ROWS, CLASSES, dtype=FP32)
COLUMN, TARGETS = full(ROWS, 1, dtype=FP32), full(ROWS, 1, dtype="long int")
Loss = Callable[[SizedProgram], None]


def by_hand(run: SizedProgram) -> None:
    run.run("aten::amax", SCORES, "[-1]", "True")
    run.run("aten::sub", SCORES, COLUMN, "1")
    run.run("aten::exp", SCORES)
    run.run("aten::sum", SCORES, "[-1]", "True", "")
    run.run("aten::div", SCORES, COLUMN)
    run.run("aten::log", SCORES)
    run.run("aten::gather", SCORES, "1", TARGETS, "False")
    run.run("aten::mean", COLUMN, "")
    run.run("aten::neg", COLUMN)


def by_logsumexp(run: SizedProgram) -> None:
    run.run("aten::exp", SCORES)
    run.run("aten::sum", SCORES, "[-1]", "True", "")
    run.run("aten::log", COLUMN)
    run.run("aten::sub", SCORES, COLUMN, "1")
    run.run("aten::gather", SCORES, "1", TARGETS, "False")


def fused(run: SizedProgram) -> None:
    run.run("aten::_log_softmax", SCORES, "1", "False")


def other_exponentials(run: SizedProgram) -> None:
    """A softplus: no row is summed."""
    run.run("aten::exp", SCORES)
    run.run("aten::add", SCORES, "1", "1")
    run.run("aten::log", SCORES)


def marginal(run: SizedProgram) -> None:
    """Sums of exponentials that are wanted themselves: no score is picked or becomes a chance."""
    run.run("aten::amax", SCORES, "[-1]", "True")
    run.run("aten::sub", SCORES, COLUMN, "1")
    run.run("aten::exp", SCORES)
    run.run("aten::sum", SCORES, "[-1]", "True", "")
    run.run("aten::log", COLUMN)
    run.run("aten::add", COLUMN, COLUMN, "1")
    run.run("aten::sub", COLUMN, COLUMN, "1")


def program(loss: Loss) -> SizedProgram:
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for _ in range(8):
                run.product(4096, 4096, 4096)
            run.product(ROWS, 1024, CLASSES)
            loss(run)
            run.product(4096, 4096, 4096)
            run.wait()
    return run


@pytest.mark.parametrize("loss", [by_hand, by_logsumexp])
def test_a_loss_by_hand_is_priced_by_one_pass(loss: Loss) -> None:
    before = program(loss)
    (row,) = found(RULE, before.trace())
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - program(fused).now), rel=0.35)
    # One finding has all of it: no chain of element-wise operators remains.
    assert found(elementwise_chain.RULE, before.trace()) == []


@pytest.mark.parametrize("loss", [fused, other_exponentials, marginal])
def test_others_are_fine(loss: Loss) -> None:
    assert found(RULE, program(loss).trace()) == []


FORWARD = (
    ("exp", (SCORES,)),
    ("sum", (SCORES, "[-1]", "True", "")),
    ("log", (COLUMN,)),
    ("sub", (SCORES, COLUMN, "1")),
)


def with_gradient(*, linked: bool) -> int:
    run = SizedProgram()
    for step in range(4):
        with run.step():
            for _ in range(9):
                run.product(4096, 4096, 4096)
            for number, (name, inputs) in enumerate(FORWARD):
                with run.around(f"aten::log_{name}", 1, **{"Sequence number": 10 * step + number}):
                    run.run(f"aten::{name}", *inputs)
            run.product(4096, 4096, 4096)
            for number in (3, 1, 0):
                keys = {"Sequence number": 10 * step + number, "Fwd thread id": 1}
                with run.around("XBackward0", 1, **(keys if linked else {})):
                    run.run("aten::mul", SCORES, SCORES)
            run.wait()
    (row,) = found(RULE, run.trace())
    assert row.saving_ns is not None
    return row.saving_ns


def test_the_gradient_is_part_of_it() -> None:
    """Autograd's operators have the sequence numbers of the forward pass."""
    assert with_gradient(linked=True) > 1.3 * with_gradient(linked=False)
