"""Calls that wait for the device, in small traces."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.idle import blocking_calls
from tb_privateuse1.trace.model import Trace
from tests.support.make import kernel, launch, op, span, trace
from tests.support.program import Program


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cudaStreamSynchronize", True), ("hipDeviceSynchronize", True), ("synchronize", True),
        ("synchronizeStream", True), ("<built-in function _npu_synchronize>", True),
        ("torch/cuda/__init__.py(5): synchronize", True), ("aclrtSynchronizeStream", True),
        ("event_sync", True), ("cnrtQueueWaitFor", True),
        ("runner.py(1): synchronize_input_prep", False), ("cudaStreamWaitEvent", False),
        ("cudaEventQuery", False), ("event_record_sync_event", False), ("aten::mm", False),
        ("enqueueEventSync", False), ("synchronizes.py(3): run", False),
    ],
)  # fmt: skip
def test_names(name: str, expected: bool) -> None:
    """Blocking calls are recognized by name."""
    t = trace(op("a", 0, 9), span("cuda_runtime", name, 1, 2))
    assert blocking_calls.blocking_calls(t).tolist() == [expected]


def test_a_call_that_outlives_its_copy_waits() -> None:
    """A call that ends after its copy is a wait."""

    def called(end: float) -> list[bool]:
        copied = kernel("Memcpy DtoH", 5, 20, 1, category="gpu_memcpy")
        return blocking_calls.blocking_calls(trace(launch(0, end, 1), copied)).tolist()

    assert (called(20), called(19)) == ([True], [False])


def test_clocks_may_disagree() -> None:
    """Every copy ends 2 to 4 µs behind the return of its call, by the device's clock."""
    run = Program()
    for late in (2, 3, 4, 2):
        done = len(run.events)
        run.op("aten::mm", 10, kernel=100)
        run.copy("DtoH", 50)
        for event in run.events[done:]:
            # A call returns 1 µs behind its copy.
            event["ts"] += 1 + late if event["cat"] in ("kernel", "gpu_memcpy") else 0
        run.rest(20)
    trace = run.trace()
    copies = np.array([trace.text(name) == "cudaMemcpyAsync" for name in trace.launches.name])
    assert blocking_calls.blocking_calls(trace).tolist() == copies.tolist()


@pytest.mark.parametrize("name", ["aten::_local_scalar_dense", "aten::nonzero"])
def test_operators_that_return_a_value_wait(name: str) -> None:
    """Operators that return a value to Python wait."""

    def read(end: float, category: str = "gpu_memcpy", named: str = name) -> list[int]:
        device = "Memcpy DtoH" if category == "gpu_memcpy" else "gemm"
        copied = kernel(device, 5, 20, 1, category=category)
        return blocking_calls.blocking_operators(
            trace(op(named, 0, end), launch(1, 2, 1), copied)
        ).tolist()

    assert read(20) == [0]
    assert read(19) == read(30, "kernel") == read(30, named="aten::to") == []


def test_an_empty_trace_has_none() -> None:
    """An empty trace has no blocking call."""
    assert (
        len(blocking_calls.blocking_names(Trace()))
        == len(blocking_calls.blocking_calls(Trace()))
        == 0
    )
    assert blocking_calls.blocking_operators(Trace()).dtype == np.int32
