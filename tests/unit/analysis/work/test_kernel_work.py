"""FLOPs and bytes of kernels: shares of their operator's."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.work_coverage import coverage
from tb_privateuse1.analysis.work.collectives import bus_bytes, payload_bytes
from tb_privateuse1.analysis.work.kernel_work import kernel_work
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace.model import MISSING, Trace
from tests.support import make
from tests.support.repeats import repeats
from tests.unit.analysis.work.calls import tensor, texts


def launched(at: float, *durations: float, first: int = 1) -> list[make.Event]:
    """Return launches from ``at`` on, and their kernels one after the other."""
    events, start = [], at + 100
    for i, duration in enumerate(durations):
        events += [
            make.launch(at + i, at + i + 0.5, correlation=first + i),
            make.kernel("k", start, start + duration, correlation=first + i),
        ]
        start += duration
    return events


def product(n: int, k: int, m: int, at: float) -> make.Event:
    args = texts("aten::mm", tensor(n, k), tensor(k, m))
    return make.op("aten::mm", at, at + 50, id=int(at) + 1, **args)


@settings(max_examples=repeats(30))
@given(
    n=st.integers(1, 2**19),
    k=st.integers(1, 2**19),
    durations=st.lists(st.integers(0, 5000), min_size=1, max_size=6),
)
def test_the_shares_of_an_operator_add_up_exactly(n: int, k: int, durations: list[int]) -> None:
    trace = make.trace(product(n, k, 3, 0), *launched(1, *durations))
    work = kernel_work(trace)
    assert work.op.tolist() == [0] * len(durations)
    assert (work.flops >= 0).all()
    assert int(work.flops.sum()) == 2 * n * k * 3
    assert int(work.read_bytes.sum()) == 4 * (n * k + k * 3)
    assert work.matrix.all()


def test_shares_are_by_duration() -> None:
    trace = make.trace(product(10, 10, 10, 0), *launched(1, 10, 30))
    assert kernel_work(trace).flops.tolist() == [500, 1500]


def fill(at: float, correlation: int) -> make.Event:
    return make.kernel("Memset (Device)", at, at + 5, correlation, category="gpu_memset")


def test_fills_have_no_part_in_what_an_operator_computes() -> None:
    events = [product(10, 10, 10, 0), *launched(1, 10), make.launch(8, 9, correlation=9)]
    trace = make.trace(*events, fill(200, 9))
    work = kernel_work(trace)
    assert (work.op.tolist(), work.flops.tolist()) == ([0, 0], [2000, 0])


def test_without_its_kernel_an_operator_has_no_work_on_the_device() -> None:
    trace = make.trace(product(10, 10, 10, 0), make.launch(8, 9, correlation=9), fill(200, 9))
    assert (kernel_work(trace).op.tolist(), kernel_work(trace).flops.tolist()) == ([-1], [MISSING])


def test_a_fill_does_the_work_of_an_operator_that_fills() -> None:
    args = texts("aten::zero_", tensor(8))
    event = make.op("aten::zero_", 0, 50, id=1, **args)
    trace = make.trace(event, make.launch(8, 9, correlation=9), fill(200, 9))
    assert kernel_work(trace).written_bytes.tolist() == [32]


def test_kernels_of_an_operator_without_a_model_belong_to_the_one_around() -> None:
    inner = make.op("vendor::secret", 1, 40, id=9)
    trace = make.trace(product(10, 10, 10, 0), inner, *launched(2, 10))
    assert kernel_work(trace).op.tolist() == [0]
    assert kernel_work(trace).flops.tolist() == [2000]


def unknown() -> Trace:
    return make.trace(
        product(10, 10, 10, 0),
        *launched(1, 30),
        make.op("vendor::secret", 200, 240, id=9),
        *launched(201, 10, first=5),
        make.kernel("graph", 900, 907),
    )


def test_kernels_without_known_work() -> None:
    work = kernel_work(unknown())
    assert work.op.tolist() == [0, -1, -1]
    assert work.flops.tolist() == [2000, MISSING, MISSING]


def test_coverage_names_what_has_no_model() -> None:
    result = coverage(unknown())
    assert result.share == 0.75
    assert [(one.name, one.device_ns) for one in result.unknown] == [("vendor::secret", 10_000)]
    assert result.unlinked_ns == 7000
    assert coverage(make.trace()).share is None


def test_collectives_have_bytes_on_the_bus() -> None:
    args: dict[str, Any] = {
        "Collective name": "allreduce",
        "In msg nelems": 1000,
        "Out msg nelems": 1000,
        "dtype": "Float",
        "Group size": 4,
    }
    trace = make.trace(
        make.op("record_param_comms", 0, 9, id=1),
        make.launch(1, 2, correlation=1),
        make.kernel("ncclDevKernel_AllReduce", 10, 20, correlation=1, **args),
        make.kernel("gemm", 30, 40),
    )
    assert payload_bytes(trace).tolist() == [4000, MISSING]
    assert bus_bytes(trace).tolist() == [6000, MISSING]
    assert coverage(trace).share == 1
    assert kernel_work(trace).op.tolist() == [-1, -1]


def test_without_kernels_nothing_is_shared() -> None:
    trace = make.trace(product(10, 10, 10, 0))
    assert len(kernel_work(trace)) == 0
    assert np.array_equal(operator_work(trace).flops, [2000])
