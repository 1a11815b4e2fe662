"""Bytes of kernels that torch.compile generated."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.analysis.work.operator_work import OperatorWork, operator_work
from tb_privateuse1.trace.model import MISSING
from tests.support import make
from tests.unit.analysis.work.calls import tensor, texts, work


def test_each_pointer_counts_once() -> None:
    found = work("triton_poi_fused_add_0", tensor(8, 4), tensor(4), tensor(8, 4), 32)
    assert found is not None
    assert (found.flops, found.read_bytes, found.written_bytes) == (None, 144, 128)


def test_without_tensors_it_is_unknown() -> None:
    assert work("triton_poi_fused_add_0", 32) is None


def kernel(**recorded: Any) -> OperatorWork:
    """Return the work of a kernel with three tensors of 128 bytes, and with what is recorded."""
    name = "triton_poi_fused_add_0"
    args = texts(name, tensor(8, 4), tensor(8, 4), tensor(8, 4))
    return operator_work(make.trace(make.op(name, 0, 5, **args, **recorded)))


def test_inductors_own_count_comes_first() -> None:
    found = kernel(kernel_num_gb=3.0e-7, kernel_flop=2048)
    assert found.flops.tolist() == [2048]
    assert (found.read_bytes.tolist(), found.written_bytes.tolist()) == ([172], [128])
    assert found.matrix.all()
    assert not found.at_most.any()


def test_bytes_alone_leave_the_operations_unknown() -> None:
    found = kernel(kernel_num_gb=1e-7)
    assert found.flops.tolist() == [MISSING]
    assert (found.read_bytes.tolist(), found.written_bytes.tolist()) == ([0], [100])
    assert not found.matrix.any()


@pytest.mark.parametrize("value", [0, 0.0, "nan", "x", None, [], -1, 1e300, {"a": 1}])
def test_other_values_count_as_missing(value: Any) -> None:
    found = kernel(kernel_num_gb=value, kernel_flop=value)
    assert found.flops.tolist() == [MISSING]
    assert (found.read_bytes.tolist(), found.written_bytes.tolist()) == ([256], [128])


def test_a_kernel_without_shapes_has_what_is_recorded() -> None:
    event = make.op("triton_tem_fused_mm_0", 0, 5, kernel_num_gb=1e-6, kernel_flop=4096.0)
    found = operator_work(make.trace(event))
    assert (found.flops.tolist(), found.read_bytes.tolist()) == ([4096], [1000])
