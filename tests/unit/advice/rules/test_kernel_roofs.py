"""Kernels far from the reachable roof, and products of experts."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.rules.kernel_roofs import RULE
from tb_privateuse1.trace.model import Trace
from tests.support.program import found
from tests.support.sized import SizedProgram, full, recorded

ROWS = 4096
FLOPS = 2 * ROWS**3
PEAK = 989e12
"""Of an H100 in bfloat16, dense (its data sheet)."""


def program(share: float, name: str = "gemm", shaped: bool = True) -> Trace:
    """Steps of one kernel at a share of the roof."""
    run = SizedProgram()
    inputs = recorded(full(ROWS, ROWS), full(ROWS, ROWS)) if shaped else {}
    for _ in range(3):
        with run.step():
            for _ in range(10):
                run.op("aten::mm", 5, kernel=FLOPS / PEAK / share * 1e6, device=name, **inputs)
            run.wait()
    devices = [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]
    return run.trace(deviceProperties=devices)


def test_nothing_is_promised_where_nothing_is_nearer_to_the_roof() -> None:
    (row,) = found(RULE, program(0.3))
    assert row.saving_ns is None
    assert row.title.startswith("Kernels reach 30.0 % of their roof")


@pytest.mark.parametrize("share", [0.6, 0.75])
def test_kernels_that_reach_what_others_do_are_fine(share: float) -> None:
    assert found(RULE, program(share)) == []


def test_products_of_experts_are_named_with_their_types() -> None:
    (row,) = found(RULE, program(0.3, "_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1", False))
    assert row.saving_ns is None
    assert "bf16 and mxfp4" in row.explanation or "bf16, mxfp4" in row.explanation
