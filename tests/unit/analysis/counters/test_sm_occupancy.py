"""SM efficiency and occupancy from CUPTI's data of launches."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.analysis.counters import counters, curve_values, sm_occupancy
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.overview import overview
from tests.support.make import kernel, step, trace
from tests.support.repeats import repeats

OF_DEVICE = "SM efficiency of device 0"


def estimates(blocks: float, percent: float) -> dict[str, Any]:
    """Return the arguments of a launch with CUPTI's estimates."""
    launched = {"grid": [8, 1, 1], "block": [128, 1, 1]}
    return {**launched, "blocks per SM": blocks, "est. achieved occupancy %": percent}


def made() -> Trace:
    """A third of the time two kernels that fill a quarter and a half; then more than all."""
    return trace(
        step(1, 0, 60),
        kernel("a", 0, 20, **estimates(0.25, 10)),
        kernel("b", 0, 20, stream=8, **estimates(0.5, 30)),
        kernel("c", 20, 30, **estimates(7, 80)),
        kernel("d", 30, 40),
    )


def test_of_steps_and_over_time() -> None:
    """Efficiency is a mean over windows and a curve over time."""
    one = made()
    result = overview(one)
    assert result.sm_efficiency == pytest.approx((20 * 0.75 + 10) / 60)
    assert result.occupancy == pytest.approx((20 * 0.1 + 20 * 0.3 + 10 * 0.8) / 50)
    (curve,) = (c for c in counters.build_curves(one) if c.what == "sm_efficiency")
    assert curve.name == OF_DEVICE
    points = curve.window(0, 60_000, 6)
    at = np.searchsorted(points.at_ns, np.arange(6) * 10_000, side="right") - 1
    assert points.value[at] == pytest.approx([0.75, 0.75, 1, 0, 0, 0])


def test_missing_data_is_not_zero() -> None:
    """Missing data is None and not 0."""
    one = trace(step(1, 0, 60), kernel("a", 0, 20), kernel("b", 20, 20, **estimates(1, 1)))
    result = overview(one)
    assert (result.sm_efficiency, result.occupancy) == (None, None)
    assert not [c for c in counters.build_curves(one) if c.what == "sm_efficiency"]
    assert (overview(trace()).sm_efficiency, overview(trace()).occupancy) == (None, None)


def test_devices_with_data_have_equal_weight() -> None:
    """Devices with data have equal weight."""
    one = trace(
        step(1, 0, 40),
        kernel("a", 0, 20, **estimates(1, 50)),
        kernel("b", 0, 40, device=1, **estimates(1, 50)),
        kernel("c", 0, 40, device=2),
    )
    assert overview(one).sm_efficiency == pytest.approx((0.5 + 1) / 2)
    names = [c.name for c in counters.build_curves(one) if c.what == "sm_efficiency"]
    assert names == [OF_DEVICE, OF_DEVICE.replace("0", "1")]


INTERVALS = st.lists(
    st.tuples(st.integers(0, 50), st.integers(1, 50), st.floats(0, 2)), min_size=1, max_size=8
)


@settings(max_examples=repeats(60))
@given(INTERVALS, st.integers(1, 12))
def test_a_mean_is_the_mean(intervals: list[tuple[int, int, float]], parts: int) -> None:
    """Each part's mean equals the mean over its ns."""
    start, length, value = map(np.array, zip(*intervals, strict=True))
    form = curve_values.mean(start, start + length, value.astype(np.float64))
    edges = np.arange(parts + 1) * 120 // parts
    each = np.arange(120)
    running = (start[:, None] <= each) & (each < (start + length)[:, None])
    level = np.minimum((running * value[:, None]).sum(axis=0), 1)
    true = [level[low:high].mean() for low, high in itertools.pairwise(edges)]
    assert form.of_parts(edges) == pytest.approx(true, abs=1e-9)


def test_no_window_has_no_share() -> None:
    """An empty window has no share."""
    one = made()
    none = np.zeros(0, np.int64)
    assert sm_occupancy.sm_efficiency(one, one.kernels, none, none) is None
