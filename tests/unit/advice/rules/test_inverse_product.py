"""Inverses for one product, and inverses that are needed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.inverse_product import RULE
from tests.support.program import found
from tests.support.sized import FP32, Input, SizedProgram, full, recorded

SIZE, COLUMNS = 512, 128
MATRIX, VECTORS = full(SIZE, SIZE, dtype=FP32), full(SIZE, COLUMNS, dtype=FP32)
Body = Callable[[SizedProgram], None]
INVERSE_US, PRODUCT_US = 1000, 100


def steps(body: Body) -> SizedProgram:
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            run.product(4096, 1024, 1024)
            body(run)
            run.wait()
    return run


def inverse(run: SizedProgram, name: str = "aten::linalg_inv", x: Input = MATRIX) -> None:
    run.op(name, 5, kernel=INVERSE_US, **recorded(x))


def product(run: SizedProgram, *factors: Input) -> None:
    run.op("aten::matmul", 5, kernel=PRODUCT_US, **recorded(*factors))


def one_product(run: SizedProgram) -> None:
    inverse(run)
    product(run, MATRIX, VECTORS)


def turned(run: SizedProgram) -> None:
    """A view of the inverse, between layers whose weights have its size."""
    inverse(run, "aten::inverse")
    layer = full(64, SIZE, dtype=FP32), MATRIX, full(SIZE, dtype=FP32)
    run.op("aten::linear", 5, kernel=10, **recorded(*layer))
    run.op("aten::mT", 1, **recorded(MATRIX))
    product(run, full(COLUMNS, SIZE, dtype=FP32), MATRIX)


@pytest.mark.parametrize("body", [one_product, turned])
def test_an_inverse_of_one_product_is_solved(body: Body) -> None:
    """A solver factorizes, and solves for 128 of 512 columns."""
    (row,) = found(RULE, steps(body).trace())
    gone = PRODUCT_US + INVERSE_US * 3 / 4 * (1 - COLUMNS / SIZE)
    assert row.saving_ns == pytest.approx(3000 * gone, rel=0.02)


def whole_product(run: SizedProgram) -> None:
    """As many columns as the matrix has: a solver would do as much."""
    inverse(run)
    product(run, MATRIX, full(SIZE, 2 * SIZE, dtype=FP32))


def scaled(run: SizedProgram) -> None:
    """Something else reads the inverse, too."""
    one_product(run)
    run.run("aten::mul", MATRIX, "2")


def squared(run: SizedProgram) -> None:
    """Both factors have the size of the inverse."""
    inverse(run)
    product(run, MATRIX, MATRIX)


def small(run: SizedProgram) -> None:
    inverse(run, x=full(4096, 4, 4, dtype=FP32))
    product(run, full(4096, 4, 4, dtype=FP32), full(4096, 4, 1, dtype=FP32))


def kept(run: SizedProgram) -> None:
    inverse(run)


def empty(run: SizedProgram) -> None:
    """A batch without matrices."""
    inverse(run, x=full(0, SIZE, SIZE, dtype=FP32))
    product(run, full(0, SIZE, SIZE, dtype=FP32), full(SIZE, COLUMNS, dtype=FP32))


@pytest.mark.parametrize("body", [whole_product, scaled, squared, small, kept, empty])
def test_inverses_that_are_needed(body: Body) -> None:
    assert found(RULE, steps(body).trace()) == []
