"""16 bits on a host that has no units for them, and on one that has."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.advice.rules.half_on_host import RULE
from tests.support.program import found
from tests.support.sized import BF16, FP16, FP32, SizedProgram, recorded

ROWS, WIDTH = 512, 512
FLOPS = 2 * ROWS * WIDTH * WIDTH


def product(run: SizedProgram, dtype: str, rate: float, rows: int = ROWS) -> None:
    """A product at a rate in GFLOP/s."""
    inputs = recorded(((rows, WIDTH), dtype), ((WIDTH, WIDTH), dtype))
    run.op("aten::mm", 2 * rows * WIDTH * WIDTH / rate / 1e3, **inputs)


def program(*products: tuple[str, float], rows: int = ROWS) -> SizedProgram:
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            for dtype, rate in products:
                product(run, dtype, rate, rows)
            run.rest(5)
    return run


@pytest.mark.parametrize("dtype", [FP16, BF16])
def test_products_far_below_one_core_in_float32(dtype: str) -> None:
    (row,) = found(RULE, program((dtype, 10.0)).trace())
    assert row.saving_share == pytest.approx(1 - 10 / 40, rel=0.05)
    assert row.saving_ns is not None
    assert row.saving_high_ns == pytest.approx(row.saving_ns / 0.75, rel=0.05), "a faster core"
    assert row.confidence == "medium"


def test_products_in_float32_of_the_recording_give_the_rate() -> None:
    (row,) = found(RULE, program((FP16, 100.0), (FP32, 500.0), (FP32, 480.0)).trace())
    assert row.saving_ns == pytest.approx(3 * FLOPS * (1 / 100 - 1 / 490), rel=0.05)
    assert row.confidence == "high"


@pytest.mark.parametrize(
    "products",
    [
        [(BF16, 900.0), (FP32, 500.0)],  # matrix units
        [(BF16, 450.0), (FP32, 500.0)],  # the same units
        [(FP16, 60.0)],
        [(FP32, 5.0)],  # a slow processor is no fault of the type
    ],
)
def test_types_that_the_processor_computes_well(products: list[tuple[str, float]]) -> None:
    assert found(RULE, program(*products).trace()) == []


def test_products_that_wait_for_their_weights() -> None:
    """Half of the bytes is why 16 bits are right in decoding."""
    assert found(RULE, program(*[(BF16, 5.0)] * 50, rows=2).trace()) == []


def test_products_on_a_device_are_other_rules_matter() -> None:
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            run.product(ROWS, WIDTH, WIDTH, FP16, slow=100)
            run.wait()
    assert found(RULE, run.trace()) == []


@pytest.mark.parametrize(
    "keys",
    [
        {"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}]},
        {"tb_privateuse1": {"backend": "refdev", "route": "torch", "warnings": []}},
    ],
    ids=["cuda", "backend"],
)
def test_operators_of_an_accelerator_whose_work_was_not_recorded(keys: dict[str, Any]) -> None:
    """A host that waits for its device takes the device's time."""
    assert found(RULE, program((FP16, 10.0)).trace(**keys)) == []
