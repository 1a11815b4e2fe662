"""Layers cut to a few tokens, and layers whose every token somebody reads."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.rules.unread_rows import RULE
from tests.support.program import found
from tests.support.sized import SizedProgram, full, recorded
from tests.unit.advice.rules.test_unread_rows import (
    BATCH,
    LENGTH,
    PAIRS,
    WIDTH,
    WORDS,
    Body,
    few_rows,
    linear,
    select,
    steps,
)

LAYER_INPUT, INNER = full(BATCH, LENGTH, WIDTH), full(BATCH, LENGTH, 3 * WIDTH)
HEADS = full(BATCH, 8, LENGTH, WIDTH // 8)


def attend(run: SizedProgram, length: int = LENGTH) -> None:
    """Queries of some tokens, keys and values of all."""
    queries = full(BATCH, 8, length, WIDTH // 8)
    run.run("aten::scaled_dot_product_attention", queries, HEADS, HEADS, "", "0.", "False")


def feed(run: SizedProgram, length: int = LENGTH) -> None:
    """The part of a layer that works on each token alone."""
    states = full(BATCH, length, WIDTH)
    linear(run, WIDTH, WIDTH, length)
    run.run("aten::add", states, states, "1")
    run.run("aten::layer_norm", states, f"[{WIDTH}]", full(WIDTH), full(WIDTH), "1e-05", "True")
    linear(run, WIDTH, 3 * WIDTH, length)
    run.run("aten::gelu", full(BATCH, length, 3 * WIDTH), "none")
    linear(run, 3 * WIDTH, WIDTH, length)
    run.run("aten::add", states, states, "1")


def first_token(run: SizedProgram) -> None:
    attend(run)
    feed(run)
    select(run, BATCH, LENGTH, WIDTH)


def first_token_alone(run: SizedProgram) -> None:
    attend(run, 1)
    feed(run, 1)
    select(run, BATCH, 1, WIDTH)


def two_layers(run: SizedProgram) -> None:
    """The second layer's keys need all of the first one."""
    attend(run)
    feed(run)
    linear(run, WIDTH, 2 * WIDTH)
    first_token(run)


def one_layer_of_two(run: SizedProgram) -> None:
    attend(run)
    feed(run)
    linear(run, WIDTH, 2 * WIDTH)
    first_token_alone(run)


@pytest.mark.parametrize(
    ("body", "clean"), [(first_token, first_token_alone), (two_layers, one_layer_of_two)]
)
def test_a_layer_of_which_one_token_is_read(body: Body, clean: Body) -> None:
    before, after = steps(body), steps(clean)
    (row,) = found(RULE, before.trace())
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.1)
    assert found(RULE, after.trace()) == []


def read_in_the_loss(run: SizedProgram) -> None:
    """A second head scores all tokens behind the cut."""
    first_token(run)
    linear(run, WIDTH, WORDS)


def kept_inside(run: SizedProgram) -> None:
    """All states within the layer are averaged for a log, behind the cut."""
    first_token(run)
    run.run("aten::mean", INNER)
    run.run("aten::mean", LAYER_INPUT)


def over_tokens(run: SizedProgram) -> None:
    """The product is over the tokens of each place, not over its width."""
    linear(run, WIDTH, WIDTH)
    run.run("aten::cumsum", LAYER_INPUT, "1")
    select(run, BATCH, LENGTH, WIDTH)


@pytest.mark.parametrize("body", [read_in_the_loss, kept_inside, over_tokens])
def test_layers_that_are_needed(body: Body) -> None:
    assert found(RULE, steps(body).trace()) == []


def epochs(*firsts: int) -> SizedProgram:
    """Steps that read a part of a permutation each, which is made in some of them."""
    run, order = SizedProgram(), full(2**20, dtype="long int")
    for step in range(4):
        with run.step():
            if step in firsts:
                made = recorded(str(2**20), "", "", "", "False")
                run.op("aten::randperm", 5, kernel=900, **made)
            cut = recorded(order, "0", str(64 * step), str(64 * step + 64), "1")
            run.op("aten::slice", 1, **cut)
            run.run("aten::index_select", PAIRS, "0", full(64, dtype="long int"))
            run.wait()
    return run


def test_a_permutation_for_one_batch_and_for_all() -> None:
    (row,) = found(RULE, epochs(0, 1, 2, 3).trace())
    assert row.saving_ns == pytest.approx(4 * 900_000, rel=0.01)
    assert row.fix != found(RULE, steps(few_rows).trace())[0].fix
    assert found(RULE, epochs(0).trace()) == []
    assert found(RULE, epochs(0, 2).trace()) == []
