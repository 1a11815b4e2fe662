"""Curves: the greatest value or the busy share of each part of a window."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1 import counters
from tb_privateuse1.counters import LEVEL, SHARE, Curve
from tests.make import kernel, launch, memory, op, trace


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), min_size=1, max_size=400),
    st.integers(-50, 5000), st.integers(10, 9000), st.integers(1, 40),
)  # fmt: skip
def test_each_part_has_its_greatest_value(
    steps: list[tuple[int, int]], start: int, length: int, bins: int
) -> None:
    at, value = np.cumsum([gap for gap, _ in steps]), np.array([v for _, v in steps])
    blocks = np.maximum.reduceat(value, np.arange(0, len(value), counters._BLOCK))
    curve = Curve("c", "bytes", LEVEL, at, value, blocks)
    times, values = curve.window(start, start + length, bins)
    edges = np.linspace(start, start + length, bins + 1).astype(np.int64)
    for low, high in itertools.pairwise(edges):
        first = max(int(np.searchsorted(at, low, side="right")) - 1, 0)
        true = value[first : max(int(np.searchsorted(at, high)), first + 1)].max()
        assert values[np.searchsorted(times, low, side="right") - 1] == true


def named(*events: dict[str, object]) -> dict[str, Curve]:
    return {curve.name: curve for curve in counters.curves(trace(*events))}


def test_utilisation_is_the_busy_share() -> None:
    found = named(kernel("a", 0, 10), kernel("b", 5, 10, stream=8), kernel("c", 20, 25))
    curve = found["Utilisation of device 0"]
    assert (curve.unit, curve.kind) == ("share", SHARE)
    times, values = curve.window(0, 40_000, 4)
    assert times.tolist() == [0, 10_000, 20_000, 30_000]
    assert values == pytest.approx([1, 0, 0.5, 0])
    assert curve.window(5_000, 25_000, 1)[1] == pytest.approx([0.5])


def test_kernels_wait_from_their_launch_to_their_start() -> None:
    found = named(op("a", 0, 9), launch(1, 2, 1), launch(3, 4, 2), kernel("k", 5, 8, 1),
                  kernel("k", 8, 9, 2))  # fmt: skip
    _, values = found["Kernels waiting"].window(0, 9_000, 9)
    assert values.tolist() == [0, 1, 2, 1, 0]


def test_memory_is_what_was_allocated() -> None:
    found = named(op("a", 0, 10), memory(2, 100, 300), memory(5, -50, 250))
    (curve,) = (one for name, one in found.items() if name.startswith("Memory"))
    _, values = curve.window(0, 10_000, 10)
    assert values.tolist() == [200, 300, 250]


def test_what_is_not_told_has_no_curve() -> None:
    assert named(op("a", 0, 10)) == {}
