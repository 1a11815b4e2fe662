"""Rows of a table looked up by a product with a one-hot matrix."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.one_hot_product import RULE
from tests.support.program import found
from tests.support.sized import FP32, SizedProgram, full, recorded

WORDS, ROWS, WIDTH = 4096, 1024, 1024
NUMBERS = full(ROWS, dtype="long int")
TABLE = full(WORDS, WIDTH, dtype=FP32)
AS_LONG, AS_FLOAT = full(ROWS, WORDS, dtype="long int"), full(ROWS, WORDS, dtype=FP32)
AS_FLAGS = full(ROWS, WORDS, dtype="bool")


def by_one_hot(run: SizedProgram) -> None:
    with run.around("aten::one_hot"):
        run.run("aten::zero_", AS_LONG)
        run.run("aten::scatter_", AS_LONG, "-1", full(ROWS, 1, dtype="long int"), "1")
    run.run("aten::copy_", AS_FLOAT, AS_LONG, "False")
    run.run("aten::mm", AS_FLOAT, TABLE)


def by_scatter(run: SizedProgram) -> None:
    run.run("aten::zero_", AS_FLOAT)
    run.run("aten::scatter_", AS_FLOAT, "-1", full(ROWS, 1, dtype="long int"), "1")
    run.run("aten::mm", AS_FLOAT, TABLE)


def by_comparison(run: SizedProgram) -> None:
    run.run("aten::eq", full(ROWS, 1, dtype="long int"), full(WORDS, dtype="long int"))
    run.run("aten::copy_", AS_FLOAT, AS_FLAGS, "False")
    run.run("aten::mm", AS_FLOAT, TABLE)


def plain_product(run: SizedProgram) -> None:
    run.run("aten::zero_", AS_FLOAT)
    run.run("aten::mm", AS_FLOAT, TABLE)


def scatter_for_another(run: SizedProgram) -> None:
    """Ones are scattered into a mask; the product has other operands."""
    run.run("aten::zero_", AS_FLOAT)
    run.run("aten::scatter_", AS_FLOAT, "-1", full(ROWS, 1, dtype="long int"), "1")
    run.run("aten::mm", full(ROWS, WIDTH, dtype=FP32), full(WIDTH, WIDTH, dtype=FP32))


def scattered_gradient(run: SizedProgram) -> None:
    """The gradient of a maximum scatters a tensor, and is added to another one."""
    run.run("aten::zero_", AS_FLOAT)
    places = full(ROWS, 1, dtype="long int")
    run.run("aten::scatter_", AS_FLOAT, "-1", places, full(ROWS, 1, dtype=FP32))
    run.run("aten::mm", AS_FLOAT, TABLE)


def added_mask(run: SizedProgram) -> None:
    run.run("aten::zero_", AS_FLOAT)
    run.run("aten::scatter_", AS_FLOAT, "-1", full(ROWS, 1, dtype="long int"), "1")
    run.run("aten::add_", AS_FLOAT, AS_FLOAT)
    run.run("aten::mm", AS_FLOAT, TABLE)


def program(look_up: Callable[[SizedProgram], None]) -> SizedProgram:
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for _ in range(3):
                run.product(4096, 4096, 1024)
                look_up(run)
            run.run("aten::add", full(4096, 4096), full(4096, 4096))
            run.product(4096, 4096, 1024)
            run.wait()
    return run


@pytest.mark.parametrize("look_up", [by_one_hot, by_scatter, by_comparison])
def test_a_lookup_is_priced_as_a_gather(look_up: Callable[[SizedProgram], None]) -> None:
    with_it, without = program(look_up), program(lambda run: None)
    (row,) = found(RULE, with_it.trace())
    assert row.events == 12
    assert row.saving_ns is not None
    gather = 12 * 2 * ROWS * WIDTH * 4 / 1e6
    truth = with_it.now - without.now - gather
    assert row.saving_ns == pytest.approx(1000 * truth, rel=0.2)


@pytest.mark.parametrize(
    "look_up", [plain_product, scatter_for_another, scattered_gradient, added_mask]
)
def test_other_products_are_fine(look_up: Callable[[SizedProgram], None]) -> None:
    assert found(RULE, program(look_up).trace()) == []


@pytest.mark.parametrize("is_weight", [True, False])
def test_the_weight_of_a_layer_has_as_many_numbers(is_weight: bool) -> None:
    """A batch has as many rows as the layer has inputs: its weight is transposed."""
    strides = [[WIDTH, 1], [1, WIDTH] if is_weight else [WORDS, 1]]

    def layer(run: SizedProgram) -> None:
        with run.around("aten::one_hot"):
            run.run("aten::zero_", AS_LONG)
            run.run("aten::scatter_", AS_LONG, "-1", full(ROWS, 1, dtype="long int"), "1")
        run.run("aten::copy_", AS_FLOAT, AS_LONG, "False")
        told = recorded(full(64, WIDTH, dtype=FP32), full(WIDTH, WORDS, dtype=FP32))
        run.op("aten::mm", 3, kernel=4000, device="mm", **told, **{"Input Strides": strides})

    assert bool(found(RULE, program(layer).trace())) is not is_weight
