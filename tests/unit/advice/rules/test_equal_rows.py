"""Layers on rows that are there several times, and on distinct ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.equal_rows import RULE
from tests.support.program import found
from tests.support.sized import FP32, SizedProgram, full, matrix, op, steps

Body = Callable[[SizedProgram], None]
LONG_US, SHORT_US = 1000, 100
ROWS, WIDTH = 4096, 128


def look_up(run: SizedProgram, count: int = 96) -> None:
    op(run, "embedding", matrix(count, WIDTH), ((ROWS,), "long int"))


def layers(run: SizedProgram) -> None:
    op(run, "linear", matrix(ROWS, WIDTH), matrix(256, WIDTH), matrix(256), us=LONG_US)
    op(run, "relu", matrix(ROWS, 256))
    op(run, "linear", matrix(ROWS, 256), matrix(64, 256), matrix(64), us=LONG_US)


def categories(run: SizedProgram) -> None:
    look_up(run)
    layers(run)
    op(run, "add", matrix(ROWS, 64), matrix(ROWS, 64))


def repeated(run: SizedProgram) -> None:
    op(run, "repeat", matrix(32, 1, WIDTH), "[1, 128, 1]")
    layers(run)


def expanded(run: SizedProgram) -> None:
    op(run, "expand", matrix(1, WIDTH), f"[{ROWS}, {WIDTH}]", "False", us=0)
    op(run, "contiguous", matrix(ROWS, WIDTH), "0", strides=[[0, 1], []])
    layers(run)


def larger_picture(run: SizedProgram) -> None:
    op(run, "upsample_nearest2d", matrix(8, 64, 16, 16), "[64, 64]", "", "")
    convolve(run, kernel=1)


def convolve(run: SizedProgram, kernel: int) -> None:
    pair, weight = "[1, 1]", matrix(32, 64, kernel, kernel)
    zeros = "[0, 0]"
    op(run, "conv2d", matrix(8, 64, 64, 64), weight, matrix(32), pair, zeros, pair, "1", us=LONG_US)


def beside_tokens(run: SizedProgram) -> None:
    """A context of 384 columns, expanded beside 128 of each token."""
    parts = [full(32, 128, WIDTH, dtype=FP32), full(32, 128, 384, dtype=FP32)]
    strides = [[[128 * WIDTH, WIDTH, 1], [384, 0, 1]], []]
    op(run, "cat", parts, "-1", strides=strides)
    op(run, "linear", matrix(32, 128, 512), matrix(64, 512), matrix(64), us=LONG_US)


def choose(run: SizedProgram, count: int = 96) -> None:
    op(run, "index_select", matrix(count, WIDTH), "0", ((ROWS,), "long int"))


def join(run: SizedProgram, *widths: int, result: int = WIDTH) -> None:
    op(run, "cat", [full(ROWS, width, dtype=FP32) for width in widths], "1")
    given = sum(widths)
    op(run, "linear", matrix(ROWS, given), matrix(result, given), matrix(result), us=LONG_US)


def ends_of_edges(run: SizedProgram) -> None:
    choose(run)
    choose(run)
    join(run, WIDTH, WIDTH)


def ends_and_lengths(run: SizedProgram) -> None:
    """What is known of the edge itself has rows of its own."""
    op(run, "norm", matrix(ROWS, 3), "2", "[-1]", "True")
    choose(run)
    choose(run)
    join(run, WIDTH, WIDTH, 1)


def of_each_head(run: SizedProgram) -> None:
    """A part of each row is one of equal ones, too."""
    look_up(run)
    op(run, "layer_norm", matrix(ROWS, 4, 32), "[32]", matrix(32), matrix(32), us=LONG_US)
    op(run, "linear", matrix(4 * ROWS, 32), matrix(32, 32), matrix(32), us=LONG_US)


@pytest.mark.parametrize(
    ("body", "saved_us"),
    [
        (of_each_head, 2 * LONG_US * (1 - 96 / ROWS)),
        (categories, (2 * LONG_US + SHORT_US) * (1 - 96 / ROWS)),
        (repeated, (2 * LONG_US + SHORT_US) * (1 - 1 / 128)),
        (expanded, (2 * LONG_US + SHORT_US) * (1 - 1 / ROWS)),
        (larger_picture, LONG_US * (1 - 1 / 16)),
        (beside_tokens, LONG_US * 384 / 512 * (1 - 1 / 128)),
        (ends_of_edges, LONG_US * (1 - 96 / ROWS)),
        (ends_and_lengths, LONG_US * 256 / 257 * (1 - 96 / ROWS)),
    ],
)
def test_equal_rows_need_one(body: Body, saved_us: float) -> None:
    (row,) = found(RULE, steps(body).trace())
    assert row.saving_ns == pytest.approx(3000 * saved_us, rel=0.03)


def more_words(run: SizedProgram) -> None:
    look_up(run, count=30_000)
    layers(run)


def with_places(run: SizedProgram) -> None:
    """What is added to each row makes them distinct."""
    look_up(run)
    op(run, "add", matrix(ROWS, WIDTH), matrix(ROWS, WIDTH))
    layers(run)


def with_residual(run: SizedProgram) -> None:
    """The rows are read again: which of the two readers has them is not known."""
    look_up(run)
    layers(run)
    op(run, "add", matrix(ROWS, WIDTH), matrix(ROWS, WIDTH))


def with_mask(run: SizedProgram) -> None:
    look_up(run)
    op(run, "mul", matrix(ROWS, WIDTH), matrix(ROWS, 1))
    layers(run)


def with_dropout(run: SizedProgram) -> None:
    look_up(run)
    op(run, "dropout", matrix(ROWS, WIDTH), "0.1", "True")
    layers(run)


def repeated_columns(run: SizedProgram) -> None:
    op(run, "repeat", matrix(ROWS, 1), f"[1, {WIDTH}]")
    layers(run)


def attention_between(run: SizedProgram) -> None:
    look_up(run)
    states = matrix(32, 1, 128, WIDTH)
    op(run, "scaled_dot_product_attention", states, states, states, us=LONG_US)


def wide_kernel(run: SizedProgram) -> None:
    op(run, "upsample_nearest2d", matrix(8, 64, 16, 16), "[64, 64]", "", "")
    convolve(run, kernel=3)


def own_columns(run: SizedProgram) -> None:
    parts = [full(32, 128, WIDTH, dtype=FP32), full(32, 128, 384, dtype=FP32)]
    op(run, "cat", parts, "-1")
    op(run, "linear", matrix(32, 128, 512), matrix(64, 512), matrix(64), us=LONG_US)


def sparse_edges(run: SizedProgram) -> None:
    """Fewer edges than two for each node: the nodes would be more work."""
    for _ in range(2):
        choose(run, count=ROWS // 2 + 1)
    join(run, WIDTH, WIDTH)


def differences_of_ends(run: SizedProgram) -> None:
    """What is joined was made of both ends: each edge has its own."""
    choose(run)
    choose(run)
    op(run, "sub", matrix(ROWS, WIDTH), matrix(ROWS, WIDTH), "1")
    op(run, "mul", matrix(ROWS, WIDTH), matrix(ROWS, WIDTH))
    join(run, WIDTH, WIDTH)


def changed_ends(run: SizedProgram) -> None:
    choose(run)
    choose(run)
    op(run, "mul_", matrix(ROWS, WIDTH), matrix(ROWS, 1))
    join(run, WIDTH, WIDTH)


def wide_messages(run: SizedProgram) -> None:
    """To look up what the layer makes, and to add it, moves more than it spares."""
    choose(run)
    choose(run)
    join(run, WIDTH, WIDTH, result=2 * WIDTH)


def many_categories(run: SizedProgram) -> None:
    """Narrow columns of many tables: a sum for each would move more than their join."""
    for _ in range(12):
        op(run, "embedding", matrix(96, 16), ((ROWS,), "long int"))
    join(run, *[16] * 12, result=64)


def side_by_side(run: SizedProgram) -> None:
    """The rows of 24 features, all of one table, are one row of the layer that follows."""
    op(run, "embedding", matrix(1501, 8), ((192, 24), "long int"))
    op(run, "flatten", matrix(192, 24, 8), "1", "-1", us=0)
    op(run, "linear", matrix(192, 192), matrix(96, 192), matrix(96), us=LONG_US)
    op(run, "layer_norm", matrix(192, 96), "[96]", matrix(96), matrix(96), us=LONG_US)


def scaled_side_by_side(run: SizedProgram) -> None:
    """Each of 24 features has weights of its own."""
    op(run, "embedding", matrix(1501, 8), ((192, 24), "long int"))
    op(run, "mul", matrix(192, 192), matrix(192), us=LONG_US)


@pytest.mark.parametrize(
    "body",
    [side_by_side, scaled_side_by_side, sparse_edges, differences_of_ends, changed_ends,
     wide_messages, many_categories, more_words, with_places, with_residual, with_mask,
     with_dropout, repeated_columns, attention_between, wide_kernel, own_columns],
)  # fmt: skip
def test_rows_that_differ(body: Body) -> None:
    assert found(RULE, steps(body).trace()) == []


@pytest.mark.parametrize("name", ["repeat", "reshape"])
def test_a_number_that_is_repeated_has_no_rows(name: str) -> None:
    def body(run: SizedProgram) -> None:
        op(run, name, matrix(), "[]")
        layers(run)

    assert found(RULE, steps(body).trace()) == []


def test_columns_that_are_none_are_no_layer() -> None:
    """A file may have anything there: a list of numbers, an expanded tensor without elements."""

    def body(run: SizedProgram) -> None:
        number, none, some = (full(*shape, dtype=FP32) for shape in ((), (0, 64), (4, 64)))
        op(run, "cat", [number, number], "0")
        op(run, "cat", [none, some], "-1", strides=[[[0, 1], [64, 1]], []])
        layers(run)

    assert found(RULE, steps(body).trace()) == []
