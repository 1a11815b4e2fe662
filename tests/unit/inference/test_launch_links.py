"""Links of activities to launches where the correlation alone does not tell."""

import pytest

from tb_privateuse1.trace.model import Trace
from tests.support.make import Event, kernel, launch, op, span, trace
from tests.support.shared_traces import FOLDER, needs_traces, read


def _linked(t: Trace) -> list[str]:
    """Return the operator of each activity, by start."""
    return [t.text(t.ops.name[row]) if row >= 0 else "" for row in t.kernels.op.tolist()]


def _codes(t: Trace) -> list[str]:
    return [finding.code for finding in t.meta.findings]


def _calls(correlation: int, *names: str) -> list[Event]:
    events = []
    for i, name in enumerate(names):
        events.append(op(name, 10 * i, 10 * i + 8, id=i + 1))
        events.append(launch(10 * i + 1, 10 * i + 2, correlation))
    return events


def test_calls_with_correlation_0_are_matched_in_order() -> None:
    kernels = [kernel("k", 50 + 10 * i, 55 + 10 * i, 0) for i in range(3)]
    t = trace(*_calls(0, "aten::mm", "aten::relu", "aten::add"), *kernels)
    assert _linked(t) == ["aten::mm", "aten::relu", "aten::add"]
    assert "ambiguous_correlations" in _codes(t)


def test_calls_that_share_a_correlation_are_matched_in_order() -> None:
    t = trace(*_calls(7, "a::mm", "a::relu"), kernel("k", 50, 55, 7), kernel("k", 60, 65, 7))
    assert _linked(t) == ["a::mm", "a::relu"]
    assert "ambiguous_correlations" in _codes(t)


def test_without_all_activities_only_time_links() -> None:
    early = trace(*_calls(0, "a::mm", "a::relu"), kernel("k", 5, 8, 0))
    assert _linked(early) == ["a::mm"]
    assert _linked(trace(*_calls(0, "a::mm", "a::relu"), kernel("k", 50, 55, 0))) == [""]


def test_order_says_nothing_across_streams() -> None:
    kernels = [kernel("k", 50, 55, 0, stream=7), kernel("k", 52, 56, 0, stream=8)]
    assert _linked(trace(*_calls(0, "a::mm", "a::relu"), *kernels)) == ["", ""]
    at_once = [kernel("k", 5, 9, 0, stream=7), kernel("k", 14, 16, 0, stream=8)]
    assert _linked(trace(*_calls(0, "a::mm", "a::relu"), *at_once)) == ["a::mm", "a::relu"]


def test_copies_and_kernels_are_matched_apart() -> None:
    copy = span("cuda_runtime", "cudaMemcpyAsync", 21, 22, correlation=0)
    kernels = [
        kernel("Memcpy HtoD", 50, 52, 0, category="gpu_memcpy"),
        kernel("k", 60, 65, 0),
        kernel("k", 70, 75, 0),
    ]
    t = trace(*_calls(0, "a::mm", "a::relu"), op("aten::copy_", 20, 28, id=9), copy, *kernels)
    assert _linked(t) == ["aten::copy_", "a::mm", "a::relu"]


@pytest.mark.parametrize(
    "name",
    ["cudaGetDevice", "cudaEventRecord", "cudaStreamSynchronize", "hipPeekAtLastError",
     "cudaFuncGetAttributes", "cudaMalloc", "cudaEventQuery"],
)  # fmt: skip
def test_a_call_that_cannot_launch_never_does(name: str) -> None:
    call = span("cuda_runtime", name, 1, 2, correlation=7)
    assert _linked(trace(op("aten::mm", 0, 9, id=1), call, kernel("k", 5, 8, 7))) == [""]


@pytest.mark.parametrize(
    "name",
    ["cuLaunchKernel", "hipExtModuleLaunchKernel", "cudaMemsetAsync", "cudaGraphLaunch",
     "recordEvent", "AscendCL@aclnnMm", "hipModuleLaunchKernel", "refdevRun", "cudaLaunchHostFunc"],
)  # fmt: skip
def test_other_calls_do(name: str) -> None:
    call = span("cuda_runtime", name, 1, 2, correlation=7)
    t = trace(op("aten::mm", 0, 9, id=1), call, kernel("k", 5, 8, 7))
    assert _linked(t) == ["aten::mm"]


def test_a_graphs_replay_and_a_drivers_call_stay_as_they_are() -> None:
    driver = launch(2.2, 2.8, 7) | {"name": "cuLaunchKernel", "cat": "cuda_driver"}
    t = trace(
        op("aten::mm", 0, 9, id=1), launch(2, 3, 7), driver,
        *(kernel(f"k{i}", 10 + i, 11 + i, 7) for i in range(3)),
    )  # fmt: skip
    assert _linked(t) == ["aten::mm"] * 3
    assert t.kernels.launch.tolist() == [0, 0, 0]
    assert "ambiguous_correlations" not in _codes(t)


def test_an_external_id_of_0_is_none() -> None:
    assert _linked(trace(op("aten::mm", 0, 9, id=0), kernel("k", 5, 8, **{"External id": 0}))) == [
        ""
    ]


@needs_traces
def test_the_case_of_correlation_0() -> None:
    t = read(next((FOLDER.parent / "cases" / "correlation-zero").iterdir()))
    spent = dict.fromkeys(_linked(t), 0)
    for name, start, end in zip(_linked(t), t.kernels.start_ns, t.kernels.end_ns, strict=True):
        spent[name] += int(end - start)
    assert spent == {"aten::mm": 3_200_000, "aten::relu": 2_400_000, "aten::add": 2_400_000}
    assert (t.steps.end_ns - t.steps.start_ns).tolist() == [2_275_000] + 3 * [2_260_000]
    assert _codes(t) == ["ambiguous_correlations"]
