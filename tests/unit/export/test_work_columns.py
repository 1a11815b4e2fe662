"""Work as columns: the same figures as on the pages, null where they are unknown."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.export import trace_tables
from tb_privateuse1.export.work_columns import BY_TABLE, kernel_columns, operator_columns
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.operators import operators
from tests.support import make
from tests.unit.analysis.work.calls import tensor, texts


def product() -> Trace:
    """Return a product with two kernels, and a kernel of no operator."""
    return make.trace(
        make.op("aten::linear", 0, 9),
        make.op("aten::mm", 1, 8, **texts("aten::mm", tensor(256, 256), tensor(256, 256))),
        *(make.launch(i, i + 1, i) for i in (2, 3)),
        make.kernel("gemm", 10, 3010, 2),
        make.kernel("reduce", 3010, 4010, 3),
        make.kernel("other", 5000, 6000, 9),
    )


def test_work_is_that_of_the_views() -> None:
    t = product()
    gemm, reduce, other = kernel_columns(t)["flops"].tolist()
    linear, mm = operator_columns(t)["flops"].tolist()
    of_view = next(row for row in operators(t).rows if row.name == "aten::mm")
    assert gemm + reduce == mm == of_view.flops == 2 * 256**3
    assert operator_columns(t)["bytes_moved"].tolist() == [MISSING, of_view.bytes]
    assert linear == other == MISSING
    of_gemm = next(row for row in kernels(t).rows if row.name == "gemm")
    assert gemm == of_gemm.flops
    assert of_gemm.above_roof_ns == 3_000_000 - kernel_columns(t)["attainable_ns"][0]


def test_unknown_work_is_null_in_tables() -> None:
    for name in ("kernels", "ops"):
        (batch,) = trace_tables.batches(product(), name)
        flops = batch.column("flops").to_pylist()
        assert None in flops
        assert any(flops)


def test_a_recording_without_anything_has_empty_columns() -> None:
    for columns in BY_TABLE.values():
        assert all(np.array_equal(c, np.empty(0, np.int64)) for c in columns(Trace()).values())
