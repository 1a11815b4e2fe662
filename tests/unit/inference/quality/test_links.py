"""What belongs to nobody is counted and named."""

from __future__ import annotations

import pytest

from tb_privateuse1.i18n.units import percent
from tests.support.make import kernel, launch, memory, op, trace
from tests.support.quality import found, sound, sure


def test_nothing_is_wrong_with_a_sound_trace() -> None:
    assert trace(*sound()).meta.findings == ()


def test_activities_without_a_launch() -> None:
    t = trace(kernel("before", 0, 1), *sound(), kernel("after", 40, 45), kernel("x", 50, 50.2))
    finding = sure(t, "unlinked_activities")
    assert finding.count == 3
    assert finding.severity == "warning"
    assert [e.name for e in finding.examples] == ["before", "after", "x"]
    share = percent(6.2 / (6.2 + 35))
    assert f"3 of 5 device activities ({share} of device time)" in finding.message
    assert "1 of them run on their stream before anything" in finding.message


def test_a_little_is_no_warning() -> None:
    assert sure(trace(*sound(), kernel("x", 50, 50.2)), "unlinked_activities").severity == "info"


def test_launches_outside_of_operators() -> None:
    t = trace(*sound(), launch(60, 61, 9), kernel("triton_mm", 62, 80, 9))
    finding = sure(t, "activities_without_operator")
    assert (finding.count, [e.name for e in finding.examples]) == (1, ["triton_mm"])
    bare = trace(launch(60, 61, 9), kernel("triton_mm", 62, 80, 9))
    hint = sure(bare, "activities_without_operator").hint
    assert "ProfilerActivity.CPU" in str(hint)


def test_copies_and_fills_that_left_nothing() -> None:
    quiet = [launch(50 + i, 51 + i, 9 + i) | {"name": "cudaMemsetAsync"} for i in range(2)]
    finding = sure(trace(*sound(), *quiet), "launches_without_activity")
    assert (finding.count, finding.severity) == (2, "info")
    assert "2 of 4 calls" in finding.message
    assert "cudaMemsetAsync (2)" in finding.message
    lost = launch(50, 51, 9)
    assert found(trace(*sound(), lost), "launches_without_activity") is None


@pytest.mark.parametrize("inside", [False, True])
def test_a_copy_that_left_nothing_may_be_of_an_operator(inside: bool) -> None:
    quiet = launch(50, 51, 9) | {"name": "cudaMemcpyAsync"}
    around = [op("aten::copy_", 49, 52, id=9)] if inside else []
    finding = sure(trace(*sound(), *around, quiet), "launches_without_activity")
    assert ("operators" in finding.affects) == inside


def test_queries_and_the_drivers_half_of_a_call_start_nothing() -> None:
    asks = [
        launch(50 + i, 50.5 + i, 20 + i) | {"name": name}
        for i, name in enumerate(["cudaDeviceSynchronize", "cudaGetLaunchConfig", "hipGetDevice"])
    ]
    half = launch(2.5, 3.5, 7) | {"name": "cuLaunchKernel", "cat": "cuda_driver"}
    assert found(trace(*sound(), *asks, half), "launches_without_activity") is None


def test_one_correlation_of_two_operators() -> None:
    other = [op("aten::other", 50, 60, id=3), launch(52, 53, 7)]
    finding = sure(trace(*sound(), *other), "ambiguous_correlations")
    assert (finding.count, finding.examples[0].name) == (1, "gemm")
    half = launch(2.5, 3.5, 7) | {"name": "cuLaunchKernel", "cat": "cuda_driver"}
    assert found(trace(*sound(), half), "ambiguous_correlations") is None


def test_sidecars_that_do_not_fit() -> None:
    ops = [op("aten::mm", 10 * i, 10 * i + 5, id=i + 1) for i in range(10)]
    exact: dict[int, float | None] = {i + 1: 4.0 for i in range(10)}
    fits = trace(*ops, elapsed=exact)
    assert found(fits, "sidecar_mismatch") is None
    assert found(fits, "operators_without_elapsed") is None
    some = sure(trace(*ops, elapsed=exact | {77: 4.0}), "sidecar_mismatch")
    assert (some.count, some.severity) == (1, "warning")
    most = sure(trace(*ops, elapsed={100 + i: 4.0 for i in range(10)}), "sidecar_mismatch")
    assert (most.count, most.severity) == (10, "error")
    without = {k: v for k, v in exact.items() if k != 3}
    lack = sure(trace(*ops, elapsed=without), "operators_without_elapsed")
    assert (lack.count, lack.examples[0].start_ns) == (1, 20_000)
    unread = trace(*ops, elapsed=exact | {3: None})
    assert found(unread, "operators_without_elapsed") is None
    assert sure(unread, "elapsed_missing").count == 1


def test_operators_that_torch_does_not_count_are_no_mismatch() -> None:
    ops = [op("aten::is_leaf", 0, 1, id=1), op("aten::mm", 2, 9, id=2)]
    assert found(trace(*ops, elapsed={1: 0.5, 2: 4.0}), "sidecar_mismatch") is None


def test_allocations_outside_of_operators() -> None:
    t = trace(*sound(), memory(3, 4096, 4096), memory(70, 512, 4608), memory(80, 1024, 5632))
    finding = sure(t, "allocations_without_operator")
    assert (finding.count, finding.severity) == (2, "info")
    assert [e.note for e in finding.examples] == ["1,024 bytes", "512 bytes"]
    assert found(trace(*sound(), memory(3, 4096, 4096), memory(70, -4096, 0)),
                 "allocations_without_operator") is None  # fmt: skip
