"""Modules that each round calls again on what stays the same, and loops over new inputs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.repeated_work import RULE
from tb_privateuse1.analysis.idioms.unchanged_passes import unchanged_passes
from tests.support.program import found
from tests.support.sized import FP32, Input, SizedProgram, full, recorded

WORDS, WIDTH, ROUNDS, STEPS = 24, 96, 4, 3
OPERATORS = 3
"""Of the module that encodes a text."""
LONG_US, SHORT_US = 400, 10
Body = Callable[[SizedProgram], None]
TEXT: Input = ((1, WORDS), "long int")


def op(run: SizedProgram, name: str, *inputs: Input, us: float = SHORT_US) -> None:
    run.op(f"aten::{name}", 5, kernel=us, **recorded(*inputs))


def matrix(*shape: int) -> Input:
    return full(*shape, dtype=FP32)


def encode(run: SizedProgram, number: int = 0, dropped: str = "False") -> None:
    """A text in words becomes one vector."""
    with run.frame(f"nn.Module: Sequential_{number}"):
        run.rest(1)
        op(run, "embedding", matrix(400, WIDTH), TEXT, us=LONG_US)
        op(run, "linear", matrix(1, WORDS, WIDTH), matrix(WIDTH, WIDTH), us=LONG_US)
        op(run, "dropout", matrix(1, WORDS, WIDTH), "0.1", dropped, us=0)
    op(run, "mean", matrix(1, WORDS, WIDTH), "[1]", "True", "")


def denoise(run: SizedProgram) -> None:
    op(run, "linear", matrix(1, 32, 12), matrix(WIDTH, 12))
    op(run, "add", matrix(1, 32, WIDTH), matrix(1, 1, WIDTH), "1")
    op(run, "linear", matrix(1, 32, WIDTH), matrix(12, WIDTH))
    op(run, "sub", matrix(1, 32, 12), matrix(1, 32, 12), "0.2")


def score(run: SizedProgram) -> None:
    """A batch's own score, added to the sum of all."""
    op(run, "linear", matrix(1, 1, WIDTH), matrix(12, WIDTH))
    op(run, "add_", matrix(12), matrix(1, 1, 12), "1")


def steps(body: Body) -> SizedProgram:
    run = SizedProgram()
    for _ in range(STEPS):
        with run.step():
            run.product(2048, 2048, 2048)
            body(run)
            run.wait()
    return run


def rounds(run: SizedProgram) -> None:
    for _ in range(ROUNDS):
        encode(run)
        denoise(run)


def sent_ahead(run: SizedProgram) -> None:
    """One text for all rounds is sent in each step."""
    op(run, "_to_copy", TEXT, "4", "", "", "", "False", "")
    rounds(run)


@pytest.mark.parametrize("body", [rounds, sent_ahead])
def test_a_text_that_each_round_encodes(body: Body) -> None:
    (row,) = found(RULE, steps(body).trace())
    assert row.title.startswith("A module runs again in each round of a loop: ")
    at_most_us = STEPS * (ROUNDS - 1) * 2 * LONG_US
    assert row.saving_high_ns == pytest.approx(1000 * at_most_us, rel=0.05)
    assert row.saving_low_ns == 0
    assert row.confidence == "low"
    assert row.events == STEPS * (ROUNDS - 1) * OPERATORS


def once(run: SizedProgram) -> None:
    encode(run)
    for _ in range(ROUNDS):
        denoise(run)


def new_texts(run: SizedProgram) -> None:
    for _ in range(ROUNDS):
        op(run, "_to_copy", TEXT, "4", "", "", "", "False", "")
        encode(run)
        denoise(run)


def texts_of_a_batch(run: SizedProgram) -> None:
    for number in range(ROUNDS):
        op(run, "select", ((ROUNDS, 1, WORDS), "long int"), "0", str(number), us=0)
        encode(run)
        denoise(run)


def texts_parted_ahead(run: SizedProgram) -> None:
    op(run, "unbind", ((ROUNDS, 1, WORDS), "long int"), "0", us=0)
    rounds(run)


def texts_made_ahead(run: SizedProgram) -> None:
    for _ in range(ROUNDS):
        op(run, "_to_copy", TEXT, "4", "", "", "", "False", "")
    rounds(run)


def a_text_that_grows(run: SizedProgram) -> None:
    """What is found is written into the text: the next round reads it."""
    for _ in range(ROUNDS):
        encode(run)
        denoise(run)
        op(run, "copy_", TEXT, ((1, 1), "long int"), "False")


def batches_kept_on_the_device(run: SizedProgram) -> None:
    """Nobody makes the texts, and no round needs the one before: each may have its own."""
    for _ in range(ROUNDS):
        encode(run)
        score(run)


def layers_of_their_own(run: SizedProgram) -> None:
    for number in range(ROUNDS):
        encode(run, number)
        denoise(run)


def other_dropouts(run: SizedProgram) -> None:
    for _ in range(ROUNDS):
        encode(run, dropped="True")
        denoise(run)


def training(run: SizedProgram) -> None:
    """Weights change from round to round."""
    for _ in range(ROUNDS):
        encode(run)
        denoise(run)
        run.op("autograd::engine::evaluate_function: AddmmBackward0", 5, kernel=SHORT_US)


@pytest.mark.parametrize(
    "body",
    [once, new_texts, texts_of_a_batch, texts_parted_ahead, texts_made_ahead, a_text_that_grows,
     batches_kept_on_the_device, layers_of_their_own, other_dropouts, training],
)  # fmt: skip
def test_other_loops_are_silent(body: Body) -> None:
    trace = steps(body).trace()
    assert not len(unchanged_passes(trace))
    assert not found(RULE, trace)


def test_three_rounds_are_no_loop() -> None:
    def few(run: SizedProgram) -> None:
        for _ in range(3):
            encode(run)
            denoise(run)

    assert not len(unchanged_passes(steps(few).trace()))
