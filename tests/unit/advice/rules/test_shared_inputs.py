"""Products of one input, and of inputs of their own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tb_privateuse1.advice.rules.shared_inputs import RULE
from tests.support import chains
from tests.support.program import found
from tests.support.sized import SizedProgram, full

ROWS, WIDTH = 64, 1024
H100 = [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}]


def program(widths: Sequence[int], slow: float = 2, between: str = "") -> SizedProgram:
    """Steps with products of a small batch, at half of the device's rate."""

    def layer(run: SizedProgram) -> None:
        for _ in range(20):
            run.run("aten::layer_norm", full(ROWS, WIDTH))
            for n in widths:
                run.product(ROWS, WIDTH, n, slow=slow)
                if between:
                    run.run(between, full(ROWS, n))

    return chains.program(layer, layers=2)


def test_query_key_and_value_are_found() -> None:
    (row,) = found(RULE, program([1024, 256, 256]).trace(deviceProperties=H100))
    assert row.title == "Products of one input are computed apart: 40 groups a step"
    assert row.events == 4 * 40 * 3
    assert row.saving_share is not None
    assert row.saving_share > 0.05


def test_three_equal_ones_are_no_chain() -> None:
    trace = program([1024, 1024, 1024]).trace(deviceProperties=H100)
    assert len(found(RULE, trace)) == 1


def test_two_of_the_same_size_may_be_a_chain() -> None:
    assert found(RULE, program([1024, 1024]).trace()) == []


def test_gate_and_up_are_found_past_the_activation() -> None:
    (row,) = found(
        RULE, program([4096, 4096], slow=8, between="aten::silu").trace(deviceProperties=H100)
    )
    assert row.events == 4 * 40 * 2


def test_products_that_fill_the_device_gain_nothing() -> None:
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for _ in range(10):
                run.run("aten::layer_norm", full(ROWS, WIDTH))
                run.product(32768, 1024, 4096, slow=1.1)
                run.product(32768, 1024, 8192, slow=1.1)
            run.wait()
    assert found(RULE, run.trace(deviceProperties=H100)) == []


def test_summed_products_have_inputs_of_their_own() -> None:
    """A recurrent cell adds the products of its input and of its state."""

    def cell(run: SizedProgram) -> None:
        for _ in range(20):
            run.product(ROWS, WIDTH, 4096, slow=4)
            run.product(ROWS, WIDTH, 4096, slow=4)
            run.run("aten::add", full(ROWS, 4096), full(ROWS, 4096), "1")

    trace = chains.program(cell, layers=2).trace(deviceProperties=H100)
    assert found(RULE, trace) == []


@pytest.mark.parametrize("copies", [False, True], ids=["device", "host"])
def test_a_state_that_decays_has_an_input_of_its_own(copies: bool) -> None:
    """A neuron's charge is scaled before what it hears is added; then its head reads it.

    On a host, torch copies the factor into a tensor without dimensions.
    """

    def neuron(run: SizedProgram) -> None:
        for _ in range(20):
            run.product(ROWS, WIDTH, WIDTH, slow=4)
            run.product(ROWS, WIDTH, WIDTH, slow=4)
            if copies:
                run.run("aten::copy_", full(), full(), "False")
            run.run("aten::mul", full(ROWS, WIDTH), "0.9")
            run.run("aten::add", full(ROWS, WIDTH), full(ROWS, WIDTH), "1")
            run.product(ROWS, WIDTH, 256, slow=4)

    trace = chains.program(neuron, layers=2).trace(deviceProperties=H100)
    assert found(RULE, trace) == []


def test_query_key_and_value_are_found_ahead_of_a_scale() -> None:
    """What is added behind a scale has another size: a bias, or what a head needs."""

    def layer(run: SizedProgram) -> None:
        for _ in range(20):
            run.run("aten::layer_norm", full(ROWS, WIDTH))
            for _ in range(3):
                run.product(ROWS, WIDTH, WIDTH, slow=4)
            run.run("aten::mul", full(ROWS, WIDTH), "0.125")
            run.run("aten::add", full(ROWS, WIDTH), full(1, WIDTH), "1")

    trace = chains.program(layer, layers=2).trace(deviceProperties=H100)
    assert len(found(RULE, trace)) == 1


def test_the_products_of_gradients_have_inputs_of_their_own() -> None:
    """A batch as large as the layer's result: both products have operands of the same shapes."""

    def layer(run: SizedProgram) -> None:
        with run.around("autograd::engine::evaluate_function: MmBackward0"):
            run.product(512, 512, 1024, slow=4)
            run.product(512, 512, 1024, slow=4)

    trace = chains.program(layer, layers=20).trace(deviceProperties=H100)
    assert found(RULE, trace) == []


def test_one_product_is_fine() -> None:
    assert found(RULE, program([1536]).trace()) == []
