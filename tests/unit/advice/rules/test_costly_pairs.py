"""Pairs, counts and spectra in a costly form, and those that are needed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.costly_products import RULE
from tests.support.program import found
from tests.support.sized import Input, SizedProgram, matrix, op, steps

Body = Callable[[SizedProgram], None]
LONG_US, SHORT_US = 1000, 100
WORDS: Input = ((512,), "long int")
END = "9223372036854775807"


def distances(run: SizedProgram) -> None:
    op(run, "sub", matrix(256, 1, 64), matrix(1, 256, 64), "1", us=LONG_US)
    op(run, "pow", matrix(256, 256, 64), "2", us=LONG_US)
    op(run, "sum", matrix(256, 256, 64), "[-1]", "False", us=LONG_US)


def norms_of_differences(run: SizedProgram) -> None:
    op(run, "sub", matrix(256, 1, 64), matrix(1, 256, 64), "1", us=LONG_US)
    op(run, "linalg_vector_norm", matrix(256, 256, 64), "2", "[-1]", "False", "", us=LONG_US)


def cosines(run: SizedProgram) -> None:
    op(run, "cosine_similarity", matrix(256, 1, 64), matrix(1, 256, 64), "-1", "1e-8", us=LONG_US)


def one_hot_sum(run: SizedProgram) -> None:
    """A weight of as many elements is no reader."""
    op(run, "one_hot", WORDS, "2000", us=LONG_US)
    op(run, "sum", ((512, 2000), "long int"), "[0]", "False", us=LONG_US)
    op(run, "linear", matrix(64, 2000), matrix(512, 2000))


def compared_and_weighted(run: SizedProgram) -> None:
    op(run, "eq", ((512, 1), "long int"), ((2000,), "long int"), us=LONG_US)
    op(run, "to", ((512, 2000), "bool"), "6", "False", "False", "", us=LONG_US)
    op(run, "mul", matrix(512, 2000), matrix(512, 1), us=LONG_US)
    op(run, "sum", matrix(512, 2000), "[0]", "False", us=LONG_US)


def scattered_ones(run: SizedProgram) -> None:
    op(run, "zeros", "[512, 2000]", "6", "", "", "False", us=SHORT_US)
    op(run, "scatter_", matrix(512, 2000), "1", ((512, 1), "long int"), "1", us=LONG_US)
    op(run, "sum", matrix(512, 2000), "[0]", "False", us=LONG_US)


def greatest_value(run: SizedProgram) -> None:
    op(run, "linalg_svdvals", matrix(320, 320), "", us=LONG_US)
    op(run, "select", matrix(320), "0", "0", us=0)


def spectral_norm(run: SizedProgram) -> None:
    op(run, "linalg_matrix_norm", matrix(320, 320), "2", "[-2, -1]", "False", "", us=LONG_US)


def few_vectors(run: SizedProgram) -> None:
    op(run, "linalg_eigh", matrix(320, 320), "L", us=LONG_US)
    op(run, "slice", matrix(320, 320), "1", "-8", END, "1", us=0)
    op(run, "matmul", matrix(500, 320), matrix(320, 8))


def few_vectors_of_a_small_matrix(run: SizedProgram) -> None:
    """Their bases and their decomposition take as long as that of the whole matrix."""
    op(run, "linalg_eigh", matrix(64, 64), "L", us=LONG_US)
    op(run, "slice", matrix(64, 64), "1", "-8", END, "1", us=0)
    op(run, "matmul", matrix(500, 64), matrix(64, 8))


def last_sum(run: SizedProgram) -> None:
    op(run, "cumsum", matrix(4096, 300), "0", "", us=LONG_US)
    op(run, "select", matrix(4096, 300), "0", "-1", us=0)


def outer_products(run: SizedProgram) -> None:
    op(run, "matmul", matrix(512, 96, 1), matrix(512, 1, 96), us=LONG_US)
    op(run, "mean", matrix(512, 96, 96), "[0]", "False", us=LONG_US)


def spectral_radius(run: SizedProgram) -> None:
    op(run, "linalg_eigvals", matrix(320, 320), us=LONG_US)
    op(run, "abs", ((320,), "c10::complex<float>"), us=0)
    op(run, "max", matrix(320), us=0)


def complete_basis(run: SizedProgram) -> None:
    op(run, "linalg_svd", matrix(1000, 100), "True", "", us=LONG_US)
    op(run, "slice", matrix(1000, 1000), "1", "0", "100", "1", us=0)
    op(run, "mul", matrix(1000, 100), matrix(100))


def by_class(run: SizedProgram, classes: int = 10, between: str = "mul") -> None:
    for number in range(classes):
        op(run, "eq", WORDS, str(number), us=SHORT_US)
        op(run, between, ((512,), "bool"), ((512,), "bool"), us=SHORT_US)
        op(run, "sum", ((512,), "bool"), "", us=SHORT_US)
        op(run, "eq", WORDS, str(number), us=SHORT_US)
        op(run, "sum", ((512,), "bool"), "", us=SHORT_US)
        op(run, "div", matrix(), matrix(), us=SHORT_US)


@pytest.mark.parametrize(
    ("body", "saved_us"),
    [
        (distances, 3 * LONG_US),
        (norms_of_differences, 2 * LONG_US),
        (cosines, LONG_US),
        (one_hot_sum, 2 * LONG_US),
        (compared_and_weighted, 4 * LONG_US),
        (scattered_ones, 2 * LONG_US),
        (greatest_value, LONG_US),
        (spectral_norm, LONG_US),
        (few_vectors, 0.83 * LONG_US),
        (few_vectors_of_a_small_matrix, 0.165 * LONG_US),
        (last_sum, LONG_US / 2),
        (outer_products, 2 * LONG_US),
        (spectral_radius, LONG_US),
        (complete_basis, 0.9 * LONG_US),
        (by_class, 9 * 6 * SHORT_US),
    ],
)
def test_another_form_does_without(body: Body, saved_us: float) -> None:
    (row,) = found(RULE, steps(body).trace())
    assert row.saving_ns == pytest.approx(3000 * saved_us, rel=0.03)


def test_half_of_a_product_by_hand_is_claimed_where_no_product_is_recorded() -> None:
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            distances(run)
            run.wait()
    (row,) = found(RULE, run.trace())
    assert row.saving_ns == pytest.approx(3000 * 1.5 * LONG_US, rel=0.05)
    assert row.saving_high_ns is not None
    assert row.saving_high_ns > 3000 * 2.9 * LONG_US


def bent_between(run: SizedProgram) -> None:
    """Additive attention: what is between the pairs and their sum is no square."""
    op(run, "add", matrix(256, 1, 64), matrix(1, 256, 64), "1", us=LONG_US)
    op(run, "tanh", matrix(256, 256, 64), us=LONG_US)
    op(run, "sum", matrix(256, 256, 64), "[-1]", "False")


def absolute_differences(run: SizedProgram) -> None:
    op(run, "sub", matrix(256, 1, 64), matrix(1, 256, 64), "1", us=LONG_US)
    op(run, "abs", matrix(256, 256, 64), us=LONG_US)
    op(run, "sum", matrix(256, 256, 64), "[-1]", "False")


def directions_are_read(run: SizedProgram) -> None:
    """Forces: the differences themselves are weighted by their lengths."""
    distances(run)
    op(run, "mul", matrix(256, 256, 64), matrix(256, 256, 1))


def three_coordinates(run: SizedProgram) -> None:
    op(run, "sub", matrix(256, 1, 3), matrix(1, 256, 3), "1", us=LONG_US)
    op(run, "pow", matrix(256, 256, 3), "2", us=LONG_US)
    op(run, "sum", matrix(256, 256, 3), "[-1]", "False")


def cosines_of_rows(run: SizedProgram) -> None:
    op(run, "cosine_similarity", matrix(4096, 64), matrix(4096, 64), "-1", "1e-8", us=LONG_US)


def one_hot_targets(run: SizedProgram) -> None:
    op(run, "one_hot", WORDS, "2000", us=LONG_US)
    op(run, "sub", ((512, 2000), "long int"), matrix(512, 2000))
    op(run, "sum", matrix(512, 2000), "[0]", "False")


def few_answers(run: SizedProgram) -> None:
    """Answers compared with wanted ones: no pairs."""
    op(run, "eq", ((512,), "long int"), ((512,), "long int"), us=LONG_US)
    op(run, "sum", ((512,), "bool"), us=LONG_US)


def all_values(run: SizedProgram) -> None:
    op(run, "linalg_svdvals", matrix(320, 320), "", us=LONG_US)
    op(run, "select", matrix(320), "0", "0", us=0)
    op(run, "log", matrix(320))


def values_read_later(run: SizedProgram) -> None:
    """The layer that the greatest value scales comes first, then a penalty on all values."""
    greatest_value(run)
    for _ in range(20):
        op(run, "linear", matrix(500, 320), matrix(320, 320), matrix(320), us=1)
    op(run, "clamp", matrix(320), "1e-6", "")


def sums_read_later(run: SizedProgram) -> None:
    """Points are drawn up to the last sum, and put among all sums."""
    last_sum(run)
    op(run, "mul", matrix(4096, 1), matrix(1, 300))
    op(run, "searchsorted", matrix(4096, 300), matrix(4096, 300), "False", "False", "", "")


def one_hot_read_later(run: SizedProgram) -> None:
    """Scores of as many numbers are made before the rows are their targets."""
    op(run, "one_hot", WORDS, "2000", us=LONG_US)
    op(run, "sum", ((512, 2000), "long int"), "[0]", "False", us=LONG_US)
    op(run, "linear", matrix(512, 64), matrix(2000, 64))
    op(run, "to", ((512, 2000), "long int"), "6", "False", "False", "", us=0)


def least_value(run: SizedProgram) -> None:
    op(run, "linalg_eigvalsh", matrix(320, 320), "L", us=LONG_US)
    op(run, "select", matrix(320), "0", "0", us=0)


def all_vectors(run: SizedProgram) -> None:
    """A whole basis, and the greatest value for a report."""
    op(run, "linalg_svd", matrix(320, 320), "True", "", us=LONG_US)
    op(run, "matmul", matrix(320, 320), matrix(320, 320))
    op(run, "select", matrix(320), "0", "0", us=0)


def rest_of_a_basis(run: SizedProgram) -> None:
    """The vectors beside the matrix' own span what it maps to nothing."""
    op(run, "linalg_svd", matrix(1000, 100), "True", "", us=LONG_US)
    op(run, "slice", matrix(1000, 1000), "1", "100", END, "1", us=0)
    op(run, "matmul", matrix(900, 1000), matrix(1000, 100))


def frobenius(run: SizedProgram) -> None:
    op(run, "linalg_matrix_norm", matrix(320, 320), "fro", "[-2, -1]", "False", "", us=LONG_US)


def norms_of_vectors(run: SizedProgram) -> None:
    op(run, "linalg_norm", matrix(500, 300), "2", "[1]", "False", "", us=LONG_US)


def all_sums(run: SizedProgram) -> None:
    last_sum(run)
    op(run, "div", matrix(4096, 300), "2.")


def few_classes(run: SizedProgram) -> None:
    by_class(run, classes=4)


def experts_by_class(run: SizedProgram) -> None:
    """Each round gives its rows to a layer of its own."""
    for number in range(10):
        op(run, "eq", WORDS, str(number))
        op(run, "index", matrix(512, 64), [((512,), "bool")])
        op(run, "linear", matrix(50, 64), matrix(64, 64), us=LONG_US)
        op(run, "sum", matrix(50, 64), "")


@pytest.mark.parametrize(
    "body",
    [bent_between, absolute_differences, directions_are_read, three_coordinates, cosines_of_rows,
     one_hot_targets, few_answers, all_values, least_value, all_vectors, rest_of_a_basis,
     frobenius, norms_of_vectors, all_sums, few_classes, experts_by_class, values_read_later,
     sums_read_later, one_hot_read_later],
)  # fmt: skip
def test_forms_that_are_needed(body: Body) -> None:
    assert found(RULE, steps(body).trace()) == []
