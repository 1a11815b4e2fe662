"""Ranges whose time stamp is 0 because the profiler wrote none."""

from __future__ import annotations

from tests.support.make import kernel, launch, op, span, step, trace
from tests.support.quality import found, sure


def test_ranges_at_zero_are_left_out_and_counted() -> None:
    far = 5_000_000
    t = trace(
        step(1, far, far + 100),
        op("aten::mm", far, far + 10),
        launch(far + 2, far + 4, 7),
        kernel("gemm", far + 5, far + 30, 7),
        op("aten::relu", 0, 0),
        kernel("relu", 0, 0, 8),
        step(2, 0, 0),
    )
    finding = sure(t, "zero_times")
    assert finding.count == 3
    assert "3 of 7 ranges" in finding.message
    assert "kernel: 1" in finding.message
    assert (t.end_ns, len(t.steps), len(t.ops), len(t.kernels)) == (100_000, 1, 2, 1)


def test_several_at_zero_with_a_length_are_left_out() -> None:
    far = 5_000_000
    lost = [kernel("relu", 0, length, 8 + length) for length in (10, 20, 30)]
    t = trace(op("aten::mm", far, far + 10), kernel("gemm", far + 5, far + 30), *lost)
    assert sure(t, "zero_times").count == 3
    assert t.end_ns == 30_000


def test_a_copy_and_a_kernel_of_one_stream_at_zero_are_several() -> None:
    far = 5_000_000
    lost = kernel("relu", 0, 10, 8), kernel("copy", 0, 5, 9, category="gpu_memcpy")
    t = trace(op("aten::mm", far, far + 10), kernel("gemm", far + 5, far + 30), *lost)
    assert sure(t, "zero_times").count == 2
    assert t.end_ns == 30_000


def test_a_category_without_any_time_stamp() -> None:
    far = 5_000_000
    mark = span("gpu_user_annotation", "step", far, far + 20, thread=7, device=0, stream=7)
    t = trace(
        op("aten::mm", far, far + 10), launch(far + 1, far + 2, 7), kernel("a", 0, 0, 7), mark
    )
    assert sure(t, "zero_times").count == 1
    assert sure(t, "no_device_activities")


def test_a_clock_may_begin_at_zero() -> None:
    sound = trace(op("aten::mm", 0, 10), op("aten::relu", 20, 30))
    assert found(sound, "zero_times") is None
    apart = trace(op("aten::mm", 0, 5), op("aten::relu", 5000, 5001))
    assert found(apart, "zero_times") is None
    assert len(apart.ops) == 2
    only = trace(op("mark", 0, 0), op("mark", 0, 0))
    assert found(only, "zero_times") is None


def test_times_below_zero_are_left_out() -> None:
    """Some profilers write -1 where they have no time."""
    far = 5_000_000
    events = op("aten::mm", far, far + 10), kernel("gemm", far + 5, far + 30)
    t = trace(*events, op("aten::relu", -1, 5))
    assert (sure(t, "zero_times").count, t.end_ns) == (1, 30_000)
    relative = trace(op("aten::mm", -5, 20), op("aten::relu", 30, 40))
    assert found(relative, "zero_times") is None
