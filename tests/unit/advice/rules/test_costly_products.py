"""Products and layers in a costly form, and forms that are needed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.costly_products import RULE
from tests.support.program import found
from tests.support.sized import Input, SizedProgram, full, matrix, op, steps

Body = Callable[[SizedProgram], None]
LONG_US, SHORT_US = 1000, 100
OTHERS_US = SHORT_US * 512 / 700
"""What passing over the other factor and the result takes at the rate of ``tril``."""


def left_first(run: SizedProgram) -> None:
    """1,024 x 64 x 1,024 and 1,024 x 1,024 x 64, where 64 x 1,024 x 64 would do twice."""
    op(run, "matmul", matrix(1024, 64), matrix(64, 1024), us=LONG_US)
    op(run, "div", matrix(1024, 1024), "8")
    op(run, "matmul", matrix(1024, 1024), matrix(1024, 64), us=LONG_US)


def before_a_vector(run: SizedProgram) -> None:
    op(run, "matmul", matrix(512, 500), matrix(500, 512), us=LONG_US)
    op(run, "matmul", matrix(512, 512), matrix(512), us=SHORT_US)


def diagonal(run: SizedProgram) -> None:
    op(run, "diag", matrix(700), us=SHORT_US)
    op(run, "matmul", matrix(700, 700), matrix(700, 512), us=LONG_US)


def triangle_of_ones(run: SizedProgram) -> None:
    op(run, "ones", "[700, 700]")
    op(run, "tril", matrix(700, 700), "0")
    op(run, "matmul", matrix(700, 700), matrix(700, 512), us=LONG_US)


def windows(run: SizedProgram) -> None:
    pair = "[3, 3]"
    op(run, "im2col", matrix(8, 16, 64, 64), pair, "[1, 1]", "[1, 1]", "[1, 1]", us=LONG_US)
    op(run, "matmul", matrix(32, 144), matrix(8, 144, 4096))


def by_hand(run: SizedProgram) -> None:
    op(run, "mul", matrix(64, 128, 1), matrix(1, 128, 64), us=LONG_US)
    op(run, "sum", matrix(64, 128, 64), "[1]", "False", us=LONG_US)


def summed_layer(run: SizedProgram) -> None:
    op(run, "linear", matrix(8, 96, 64), matrix(48, 64), matrix(48), us=LONG_US)
    op(run, "mean", matrix(8, 96, 48), "[1]", "False")


def summed_lookup(run: SizedProgram) -> None:
    op(run, "embedding", matrix(5000, 64), ((32, 200), "long int"), us=LONG_US)
    op(run, "sum", matrix(32, 200, 64), "[1]", "False", us=LONG_US)


def padded(run: SizedProgram) -> None:
    op(run, "constant_pad_nd", matrix(8, 3, 62, 62), "[1, 1, 1, 1]", "0", us=LONG_US)
    convolve(run, matrix(8, 3, 64, 64))


def scaled(run: SizedProgram) -> None:
    convolve(run, matrix(8, 3, 64, 64))
    norm(run, training="False")


def convolve(run: SizedProgram, x: Input) -> None:
    pair = "[1, 1]"
    op(run, "conv2d", x, matrix(16, 3, 3, 3), matrix(16), pair, "[0, 0]", pair, "1")


def norm(run: SizedProgram, training: str) -> None:
    channels = [matrix(16)] * 4
    op(run, "batch_norm", matrix(8, 16, 62, 62), *channels, training, "0.1", us=LONG_US)


@pytest.mark.parametrize(
    ("body", "saved_us"),
    [
        (left_first, 2 * LONG_US * (1 - 1 / 16)),
        (before_a_vector, (LONG_US + SHORT_US) * (1 - 2 * 500 * 512 / (512 * 512 * 501))),
        (diagonal, SHORT_US + LONG_US),
        (triangle_of_ones, SHORT_US + LONG_US - OTHERS_US),
        (windows, LONG_US),
        (by_hand, 2 * LONG_US),
        (summed_layer, LONG_US * (1 - 1 / 96)),
        (summed_lookup, 1.5 * LONG_US),
        (padded, LONG_US),
        (scaled, LONG_US),
    ],
)
def test_another_form_does_without(body: Body, saved_us: float) -> None:
    (row,) = found(RULE, steps(body).trace())
    assert row.saving_ns == pytest.approx(3000 * saved_us, rel=0.03)


def softmax_between(run: SizedProgram) -> None:
    """Attention: what is between the products is not linear."""
    op(run, "matmul", matrix(1024, 64), matrix(64, 1024), us=LONG_US)
    op(run, "softmax", matrix(1024, 1024), "-1")
    op(run, "matmul", matrix(1024, 1024), matrix(1024, 64), us=LONG_US)


def read_again(run: SizedProgram) -> None:
    left_first(run)
    op(run, "sum", matrix(1024, 1024))


def short_side(run: SizedProgram) -> None:
    """An adapter of rank 8: the other order makes the great matrix."""
    op(run, "matmul", matrix(1024, 512), matrix(512, 8), us=LONG_US)
    op(run, "matmul", matrix(1024, 8), matrix(8, 512), us=LONG_US)


def two_layers(run: SizedProgram) -> None:
    op(run, "linear", matrix(1024, 512), matrix(256, 512), us=LONG_US)
    op(run, "linear", matrix(1024, 256), matrix(5, 256), us=LONG_US)


def two_of_a_size(run: SizedProgram) -> None:
    """Either factor may be the first product's result."""
    op(run, "matmul", matrix(512, 64), matrix(64, 512), us=LONG_US)
    op(run, "matmul", matrix(512, 512), matrix(512, 512), us=LONG_US)


def added_to_a_diagonal(run: SizedProgram) -> None:
    op(run, "eye", "700", "", "", "", "")
    op(run, "add", matrix(700, 700), matrix(700, 700))
    op(run, "matmul", matrix(700, 700), matrix(700, 512), us=LONG_US)


def masked_by_a_triangle(run: SizedProgram) -> None:
    """The triangle of a computed matrix is none of ones."""
    op(run, "exp", matrix(700, 700))
    op(run, "tril", matrix(700, 700), "0")
    op(run, "matmul", matrix(700, 700), matrix(700, 512), us=LONG_US)


def weighted_sum(run: SizedProgram) -> None:
    """As many numbers as one of the tensors has: nothing was made larger."""
    op(run, "mul", matrix(64, 128, 64), matrix(64, 128, 1), us=LONG_US)
    op(run, "sum", matrix(64, 128, 64), "[1]", "False")


def activated(run: SizedProgram) -> None:
    op(run, "linear", matrix(8, 96, 64), matrix(48, 64), matrix(48), us=LONG_US)
    op(run, "relu", matrix(8, 96, 48))
    op(run, "mean", matrix(8, 96, 48), "[1]", "False")


def summed_columns(run: SizedProgram) -> None:
    op(run, "linear", matrix(8, 96, 64), matrix(48, 64), matrix(48), us=LONG_US)
    op(run, "mean", matrix(8, 96, 48), "[-1]", "False")


def uneven_padding(run: SizedProgram) -> None:
    op(run, "constant_pad_nd", matrix(8, 3, 64, 62), "[0, 2]", "0", us=LONG_US)
    convolve(run, matrix(8, 3, 64, 64))


def padded_for_two(run: SizedProgram) -> None:
    op(run, "constant_pad_nd", matrix(8, 3, 62, 62), "[1, 1, 1, 1]", "0", us=LONG_US)
    convolve(run, matrix(8, 3, 64, 64))
    op(run, "max_pool2d", matrix(8, 3, 64, 64), "[2, 2]")


def in_training(run: SizedProgram) -> None:
    convolve(run, matrix(8, 3, 64, 64))
    norm(run, training="True")


def read_in_part(run: SizedProgram) -> None:
    """Half of a layer's rows are bent, all of them are averaged."""
    op(run, "linear", matrix(8, 96, 64), matrix(48, 64), matrix(48), us=LONG_US)
    op(run, "slice", matrix(8, 96, 48), "1", "0", "48", "1", us=0)
    op(run, "relu", matrix(8, 48, 48))
    op(run, "mean", matrix(8, 96, 48), "[1]", "False")


def added_to_a_unit_matrix(run: SizedProgram) -> None:
    op(run, "eye", "700", "", "", "", "")
    op(run, "addmm", matrix(700, 700), matrix(700, 64), matrix(64, 700), "1", "1", us=LONG_US)


def rows_put_back(run: SizedProgram) -> None:
    """Most rows are filled, by an index of each row."""
    op(run, "zeros", "[700, 700]")
    op(run, "index_put_", matrix(700, 700), [full(600)], matrix(600, 700), "False")
    op(run, "matmul", matrix(700, 700), matrix(700, 512), us=LONG_US)


def attention_in_windows(run: SizedProgram) -> None:
    """Each window meets a vector of its own, which no convolution does."""
    op(run, "im2col", matrix(8, 16, 64, 64), "[3, 3]", *["[1, 1]"] * 3, us=LONG_US)
    op(run, "matmul", matrix(8, 4096, 1, 16), matrix(8, 4096, 16, 9))


def padded_weight(run: SizedProgram) -> None:
    op(run, "constant_pad_nd", matrix(16, 3, 1, 1), "[1, 1, 1, 1]", "0", us=LONG_US)
    convolve(run, matrix(8, 3, 64, 64))


@pytest.mark.parametrize(
    "body",
    [softmax_between, read_again, short_side, two_layers, two_of_a_size, added_to_a_diagonal,
     masked_by_a_triangle, weighted_sum, activated, summed_columns, uneven_padding, padded_for_two,
     in_training, read_in_part, added_to_a_unit_matrix, rows_put_back, attention_in_windows,
     padded_weight],
)  # fmt: skip
def test_forms_that_are_needed(body: Body) -> None:
    assert found(RULE, steps(body).trace()) == []
