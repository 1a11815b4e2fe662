"""Slow shapes and kernels that become slower, and what must not be called so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.roofs.outliers import Outlier, outliers
from tb_privateuse1.analysis.roofs.shape_outliers import shape_outliers
from tb_privateuse1.analysis.roofs.slowdowns import LEAST_CALLS, slowdowns
from tb_privateuse1.analysis.roofs.undisturbed import undisturbed
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace.model import MISSING, Trace
from tests.support import make
from tests.unit.analysis.work.calls import tensor, texts

LARGE, TALL, SMALL = (1024, 1024, 1024), (4096, 256, 1024), (256, 256, 256)
Call = tuple[str, tuple[int, int, int], float]


def product(shape: tuple[int, int, int], duration: float, kernel: str = "gemm") -> Call:
    return kernel, shape, duration


def record(calls: Sequence[Call], *more: Any, strides: Sequence[str] = ()) -> Trace:
    """Return a trace of products m x k x n, one after another; durations are in us.

    ``strides`` are those of the calls, as texts.
    """
    events, at = list(more), 1.0
    for i, (kernel, (m, k, n), duration) in enumerate(calls, 1):
        args = texts("aten::mm", tensor(m, k), tensor(k, n))
        if strides:
            args["Input Strides"] = json.loads(strides[i - 1])
        events += [
            make.op("aten::mm", at, at + 5, **args),
            make.launch(at + 1, at + 2, i),
            make.kernel(kernel, at + 10, at + 10 + duration, i),
        ]
        at += duration + 20.001
    return make.trace(*events)


def found(trace: Trace) -> tuple[Outlier, ...]:
    return outliers(trace, np.ones(len(trace.kernels), np.bool_))


def bounded(trace: Trace, bound_ns: int | np.int64) -> Trace:
    bounds = np.full(len(trace.kernels), bound_ns, np.int64)
    kernels = replace(trace.kernels, duration_bound_ns=bounds)
    return replace(trace, kernels=kernels)


def slow_and_fast(factor: float = 3) -> list[Call]:
    """Return calls of two shapes with the same FLOPs and similar bytes."""
    return [product(LARGE, 100)] * 5 + [product(TALL, 100 * factor)] * 5


def test_a_shape_that_is_slower_than_its_peer_is_found() -> None:
    (one,) = found(record(slow_and_fast()))
    assert (one.kind, one.name, one.calls) == ("shape", "aten::mm", 5)
    assert one.input_shapes == "[[4096,256],[256,1024]]"
    assert one.peer_shapes == "[[1024,1024],[1024,1024]]"
    more = (4096 * 256 + 256 * 1024 + 4096 * 1024) / (3 * 1024**2)
    assert one.expected_ns == pytest.approx(100_000 * more, rel=1e-3)
    assert one.factor == pytest.approx(3 / more, rel=1e-3)
    assert one.extra_ns == one.device_ns - 5 * one.expected_ns
    assert "1 times its FLOPs" in one.evidence


ROWS, COLUMNS = "[[1024,1],[1024,1]]", "[[1,1024],[1024,1]]"


@pytest.mark.parametrize(
    ("slow", "fast", "contiguous"),
    [(COLUMNS, ROWS, False), (ROWS, COLUMNS, True), (COLUMNS, "[[1,2048],[2048,1]]", True)],
)
def test_a_layout_that_may_be_the_reason_is_named(slow: str, fast: str, contiguous: bool) -> None:
    """The same shapes in another layout, which only counts if the fast calls do not have it."""
    calls = [product(LARGE, 100, "fast")] * 5 + [product(LARGE, 300, "slow")] * 5
    (one,) = found(record(calls, strides=[fast] * 5 + [slow] * 5))
    assert one.evidence.startswith("100.000 µs a call with the same shapes")
    assert ("not contiguous" in one.evidence) is not contiguous
    assert (slow in one.evidence) is not contiguous
    assert (one.kernel, one.peer_kernel) == ("slow", "fast")


@pytest.mark.parametrize("factor", [1, 2])
def test_a_shape_near_its_peer_is_none(factor: float) -> None:
    """It has 1.75 times the bytes: up to 1.5 times longer than that is no outlier."""
    assert found(record(slow_and_fast(factor))) == ()


def test_a_shape_of_another_size_says_nothing() -> None:
    assert found(record([product(LARGE, 100)] * 5 + [product(SMALL, 60)] * 5)) == ()


def test_two_calls_are_too_few() -> None:
    assert found(record([product(LARGE, 100)] * 5 + [product(TALL, 900)] * 2)) == ()


def test_other_work_at_the_same_time_may_be_the_reason() -> None:
    calls = slow_and_fast()
    (one,) = found(record(calls))
    start = 1.0 + 5 * 120.001
    beside = make.kernel("copy", start, start + 5 * 320, tid=99, stream=99)
    t = record(calls, beside)
    assert not undisturbed(t)[-5:].any()
    assert found(t) == ()
    assert one.calls == 5


def test_inferred_times_must_show_it_at_their_worst() -> None:
    t = record(slow_and_fast())
    assert len(shape_outliers(bounded(t, 1000), np.ones(10, np.bool_))) == 1
    assert shape_outliers(bounded(t, 60_000), np.ones(10, np.bool_)) == []
    assert found(bounded(t, MISSING)) == ()


def convolution(x: list[int], weight: list[int], stride: int, us: float, at: float) -> list[Any]:
    """Return a convolution, padded to keep the size if the stride is 1, and its kernel."""
    pair = [str([value] * 2) for value in (stride, weight[-1] // 2, 1, 0)]
    inputs = (tensor(*x), tensor(*weight), None, *pair[:3], False, pair[3], 1)
    number = int(at) + 1
    return [
        make.op("aten::convolution", at, at + 5, **texts("aten::convolution", *inputs)),
        make.launch(at + 1, at + 2, number),
        make.kernel("conv", at + 10, at + 10 + us, number),
    ]


@pytest.mark.parametrize(
    ("x", "weight", "stride", "outliers"),
    [
        ([32, 128, 28, 28], [128, 128, 3, 3], 1, 1),
        ([32, 384, 28, 28], [384, 384, 1, 1], 1, 0),
        ([32, 128, 56, 56], [64, 128, 3, 3], 2, 0),
    ],
    ids=["same kind", "other kernel", "other stride"],
)
def test_convolutions_are_compared_with_their_kind(
    x: list[int], weight: list[int], stride: int, outliers: int
) -> None:
    """A convolution of 3 x 3 may need fewer operations (Winograd), others may not."""
    events: list[Any] = []
    for i in range(5):
        events += convolution([32, 64, 56, 56], [64, 64, 3, 3], 1, 100.001, 1000.0 * i)
        events += convolution(x, weight, stride, 400.001, 1000.0 * i + 500)
    t = make.trace(*events)
    work = operator_work(t)
    size = work.read_bytes + work.written_bytes
    for column in (work.flops, size):
        assert 0.5 <= column[1] / column[0] <= 2, "of a similar size"
    assert len(found(t)) == outliers


def series(first: float, last: float, count: int = 60, kernel: str = "gemm") -> list[Call]:
    """Return calls whose durations go from the first to the last in three thirds, with noise."""
    noise = np.random.default_rng(1).normal(0, 0.5, count)
    level = np.repeat(np.linspace(first, last, 3), count // 3)
    return [product(LARGE, float(x), kernel) for x in (level + noise).round(3)]


def mixed(*parts: list[Call]) -> list[Call]:
    """Return the calls of all parts in turns."""
    return [call for turn in zip(*parts, strict=True) for call in turn]


def test_a_kernel_that_becomes_slower_among_others_is_found() -> None:
    t = record(mixed(series(100, 120), series(200, 200, kernel="other")))
    (one,) = found(t)
    assert (one.kind, one.name, one.operator) == ("kernel_slower", "gemm", "aten::mm")
    assert one.expected_ns == pytest.approx(100_000, rel=0.01)
    assert one.median_ns == pytest.approx(120_000, rel=0.01)
    assert one.extra_ns == pytest.approx(60 * 10_000, rel=0.05)
    assert "became slower" in one.evidence


def test_a_device_that_becomes_slower_is_one_outlier() -> None:
    (one,) = found(record(mixed(series(100, 120), series(200, 240, kernel="other"))))
    assert (one.kind, one.name, one.calls) == ("device_slower", "", 120)
    assert one.factor == pytest.approx(1.2, rel=0.01)


@pytest.mark.parametrize(
    "calls",
    [
        series(120, 100),
        series(100, 102),
        series(100, 120, count=LEAST_CALLS - 3),
        [*series(100, 100), product(LARGE, 5000)],
        mixed(series(100, 100), series(150, 150)),
    ],
    ids=["faster", "little", "few", "one", "two kinds of calls in turns"],
)
def test_what_is_no_slowdown(calls: list[Call]) -> None:
    assert [one.kind for one in found(record(calls)) if one.kind != "shape"] == []


@pytest.mark.long
def test_noise_alone_is_no_slowdown() -> None:
    """Of a hundred series of noise, none is called slower."""
    random = np.random.default_rng(7)
    for size in [LEAST_CALLS, 60] * 50:
        calls = [product(LARGE, float(x)) for x in random.gamma(20, 5, size).round(3)]
        t = record(calls)
        assert slowdowns(t, np.ones(size, np.bool_)).kernels == ()


def test_slower_times_within_the_error_bound_are_none() -> None:
    t = record(mixed(series(100, 120), series(200, 200, kernel="other")))
    every = np.ones(len(t.kernels), np.bool_)
    assert len(slowdowns(bounded(t, 2000), every).kernels) == 1
    assert slowdowns(bounded(t, 12_000), every).kernels == ()


def test_without_shapes_nothing_says_that_the_inputs_are_the_same() -> None:
    calls = [make.kernel("k", 200.0 * i, 200.0 * i + 100 + i // 20 * 20) for i in range(60)]
    assert found(make.trace(*calls)) == ()
