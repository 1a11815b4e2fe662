"""Keys that a decoding loop computes for each word, and loops whose layers read new tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from tb_privateuse1.advice.rules.repeated_work import RULE
from tb_privateuse1.analysis.idioms.repeated_layers import repeated_layers
from tests.support.program import found
from tests.support.sized import FP32, Input, SizedProgram, full, recorded

SOUNDS, WIDTH, WORDS, STEPS = 500, 256, 6, 3
LONG_US, SHORT_US = 400, 10
Body = Callable[[SizedProgram], None]


def op(run: SizedProgram, name: str, *inputs: Input, us: float = SHORT_US) -> None:
    run.op(f"aten::{name}", 5, kernel=us, **recorded(*inputs))


def matrix(*shape: int) -> Input:
    return full(*shape, dtype=FP32)


SEEN, WORD = (1, SOUNDS, WIDTH), (1, 1, WIDTH)


def encoder(run: SizedProgram) -> None:
    op(run, "linear", matrix(1, SOUNDS, 80), matrix(WIDTH, 80), us=LONG_US)
    op(run, "layer_norm", matrix(*SEEN), f"[{WIDTH}]", matrix(WIDTH), matrix(WIDTH), "1e-5", "True")


def project(run: SizedProgram, number: int, made: int = WIDTH, seen: int = WIDTH) -> None:
    """One of torch's layers, and its result as heads."""
    with run.frame(f"nn.Module: Linear_{number}"):
        run.rest(1)
        op(run, "linear", matrix(1, SOUNDS, seen), matrix(made, seen), us=LONG_US)
    op(run, "unflatten", matrix(1, SOUNDS, made), "2", "[4, -1]", us=0)


def attend(run: SizedProgram, made: int = WIDTH, words: int = 1) -> None:
    width = made // 4
    seen = matrix(1, 4, SOUNDS, width)
    op(run, "linear", matrix(*WORD), matrix(WIDTH, WIDTH))
    op(run, "scaled_dot_product_attention", matrix(1, 4, words, width), seen, seen)
    op(run, "relu", matrix(*WORD))


def decoder(run: SizedProgram, words: Iterable[int] = range(WORDS), made: int = WIDTH) -> None:
    for _ in words:
        op(run, "embedding", matrix(1000, WIDTH), ((1, 1), "long int"))
        project(run, 0, made)
        project(run, 1, made)
        attend(run, made)


def steps(body: Body) -> SizedProgram:
    run = SizedProgram()
    for _ in range(STEPS):
        with run.step():
            run.product(2048, 2048, 2048)
            body(run)
            run.wait()
    return run


def listening(run: SizedProgram) -> None:
    encoder(run)
    decoder(run)


def listening_to_less(run: SizedProgram) -> None:
    """Keys have half as many numbers as what they are made from."""
    encoder(run)
    decoder(run, made=WIDTH // 2)


def listening_at_once(run: SizedProgram) -> None:
    """Keys and values are made by one layer, and then parted."""
    encoder(run)
    for _ in range(WORDS):
        project(run, 0, 2 * WIDTH)
        attend(run)


@pytest.mark.parametrize(
    ("body", "layers"), [(listening, 2), (listening_to_less, 2), (listening_at_once, 1)]
)
def test_keys_that_each_word_makes_again(body: Body, layers: int) -> None:
    (row,) = found(RULE, steps(body).trace())
    assert row.title.startswith("Layers of a loop run again on what stays the same: ")
    saved_us = STEPS * (WORDS - 1) * layers * LONG_US
    assert row.saving_ns == pytest.approx(1000 * saved_us, rel=0.05)


def layers_of_a_decoder(run: SizedProgram) -> None:
    """Each layer has weights of its own, and their sizes are equal."""
    encoder(run)
    for layer in range(WORDS):
        project(run, 2 * layer)
        project(run, 2 * layer + 1)
        attend(run)


def kept(run: SizedProgram) -> None:
    encoder(run)
    project(run, 0)
    project(run, 1)
    for _ in range(WORDS):
        attend(run)


def memory_that_changes(run: SizedProgram) -> None:
    encoder(run)
    for _ in range(WORDS):
        decoder(run, range(1))
        op(run, "add_", matrix(*SEEN), matrix(1, 1, WIDTH), "1")


def memory_by_a_layer(run: SizedProgram) -> None:
    """A layer makes the next memory: not all that layers make is read by attention."""
    encoder(run)
    for _ in range(WORDS):
        project(run, 2)
        decoder(run, range(1))


def new_batches(run: SizedProgram) -> None:
    for _ in range(WORDS):
        op(run, "to", matrix(*SEEN), "6", "False", "False", "")
        decoder(run, range(1))


def given_batches(run: SizedProgram) -> None:
    """Nobody makes what the layers read: it may be another one of a list."""
    decoder(run)


def parts_of_a_batch(run: SizedProgram) -> None:
    encoder(run)
    for part in range(WORDS):
        op(run, "select", matrix(WORDS, *SEEN), "0", str(part), us=0)
        decoder(run, range(1))


def parts_made_ahead(run: SizedProgram) -> None:
    op(run, "unbind", matrix(WORDS, *SEEN), "0", us=0)
    decoder(run)


def a_list_of_texts(run: SizedProgram) -> None:
    """All are encoded, and then decoded one by one."""
    for _ in range(WORDS):
        encoder(run)
    decoder(run)


def noise(run: SizedProgram) -> None:
    encoder(run)
    for _ in range(WORDS):
        op(run, "randn", str(list(SEEN)), "6", "", "", "False")
        decoder(run, range(1))


def training(run: SizedProgram) -> None:
    encoder(run)
    for _ in range(WORDS):
        decoder(run, range(1))
        run.op("autograd::engine::evaluate_function: AddmmBackward0", 5, kernel=SHORT_US)


def true_and_made(run: SizedProgram) -> None:
    """Two calls of one layer: on what was made just now, and on what the batch has."""
    encoder(run)
    decoder(run, range(2))


def scores_of_states(run: SizedProgram) -> None:
    """One head for a list of states: no attention reads what it makes."""
    encoder(run)
    for _ in range(WORDS):
        project(run, 0, WIDTH // 2)


def attention_to_itself(run: SizedProgram) -> None:
    """The queries are as many as the keys: all come from one text of a list."""
    encoder(run)
    for _ in range(WORDS):
        project(run, 0)
        project(run, 1)
        attend(run, words=SOUNDS)


@pytest.mark.parametrize(
    "body",
    [layers_of_a_decoder, kept, memory_that_changes, memory_by_a_layer, new_batches, given_batches,
     parts_of_a_batch, parts_made_ahead, a_list_of_texts, noise, training, true_and_made,
     scores_of_states, attention_to_itself],
)  # fmt: skip
def test_layers_that_read_new_tensors(body: Body) -> None:
    trace = steps(body).trace()
    assert len(repeated_layers(trace)) == 0
    assert found(RULE, trace) == []


def test_layers_without_modules_are_not_known() -> None:
    run = steps(listening)
    run.events = [one for one in run.events if "nn.Module" not in str(one.get("name"))]
    assert len(repeated_layers(run.trace())) == 0


def test_layers_whose_inputs_are_not_recorded() -> None:
    run = SizedProgram()
    for number in range(WORDS):
        with run.frame("nn.Module: Linear_0"):
            run.rest(1)
            run.op("aten::linear", 5, kernel=LONG_US, **({} if number else recorded(matrix(3, 4))))
        attend(run)
    assert len(repeated_layers(run.trace())) == 0
