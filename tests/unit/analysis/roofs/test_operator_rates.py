"""Work and rates of operators on a host alone, where no device activity has them."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.roofs.operator_rates import operator_figures, own_work
from tb_privateuse1.export.work_columns import operator_columns
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.views.modules import modules
from tb_privateuse1.views.operators import operators
from tests.support import make
from tests.unit.analysis.work.calls import tensor, texts

N = 64
FLOPS, BYTES = 2 * N**3, 3 * 4 * N**2
BACKWARD = {"Sequence number": 7, "Fwd thread id": 1}


def on_host() -> Trace:
    """A product inside of a linear layer of a module, and its gradient, without any device."""
    product = texts("aten::mm", tensor(N, N), tensor(N, N))
    return make.trace(
        make.frame("nn.Module: Linear_0", 0, 110),
        make.op("aten::linear", 0, 100, **texts("aten::linear", tensor(N, N), tensor(N, N))),
        make.op("aten::mm", 10, 60, **product, **{"Sequence number": 7}),
        make.op("MmBackward0", 120, 220, **BACKWARD),
        make.op("aten::mm", 130, 180, **product),
    )


def test_an_operator_on_a_host_does_its_work_in_its_own_time() -> None:
    rows = {r.name: r for r in operators(on_host()).rows}
    product, linear = rows["aten::mm"], rows["aten::linear"]
    assert (product.flops, product.bytes) == (2 * FLOPS, 2 * BYTES)
    assert product.tflop_per_s == pytest.approx(2 * FLOPS / 100_000 / 1e3)
    assert product.gb_per_s == pytest.approx(2 * BYTES / 100_000)
    assert (product.roof_share, product.above_roof_ns) == (None, None)
    assert (linear.flops, linear.total_flops) == (None, FLOPS)
    assert rows["MmBackward0"].total_flops == FLOPS


def test_a_module_on_a_host_has_the_work_of_both_passes() -> None:
    (row,) = modules(on_host()).rows
    assert (row.flops, row.bytes) == (2 * FLOPS, 2 * BYTES)


def test_columns_of_exports_have_the_same_work() -> None:
    t = on_host()
    columns = operator_columns(t)
    assert columns["flops"].tolist() == own_work(t)["flops"].tolist()
    assert sorted(columns["flops"].tolist()) == [MISSING, MISSING, FLOPS, FLOPS]
    assert sorted(columns["bytes_moved"].tolist()) == [MISSING, MISSING, BYTES, BYTES]


def test_operators_without_a_group_are_in_none() -> None:
    t = on_host()
    (found,) = operator_figures(t, np.full(len(t.ops), NONE), 1)
    assert (found.flops, found.modeled_ns) == (None, 0)


def test_on_a_device_its_activities_have_the_work() -> None:
    product = texts("aten::mm", tensor(N, N), tensor(N, N))
    t = make.trace(
        make.op("aten::matmul", 0, 40), make.op("aten::mm", 5, 30, **product),
        make.launch(10, 12, 1), make.kernel("k", 20, 120, 1),
    )  # fmt: skip
    rows = {r.name: r for r in operators(t).rows}
    assert rows["aten::mm"].tflop_per_s == pytest.approx(FLOPS / 100_000 / 1e3)
    assert (rows["aten::matmul"].flops, rows["aten::matmul"].total_flops) == (None, FLOPS)
