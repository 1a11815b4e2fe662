"""Classes of distance from the roof, and their limits on inferred timelines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_privateuse1.analysis.roofs.distance import (
    DISTANCES,
    Distance,
    distances,
    group_limits,
    group_time,
    time_by_distance,
)
from tb_privateuse1.trace.model import MISSING, Trace
from tests.unit.analysis.roofs.test_rates import products


def bounded(trace: Trace, *bound_ns: int | np.int64) -> Trace:
    """Return the trace with these error bounds of durations."""
    kernels = replace(trace.kernels, duration_bound_ns=np.array(bound_ns, np.int64))
    return replace(trace, kernels=kernels)


def classes(trace: Trace) -> list[Distance]:
    return [DISTANCES[i] for i in distances(trace).at]


def whole(trace: Trace) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.ones(len(trace.kernels), np.bool_)


def test_the_class_is_by_the_share_of_the_best_rate() -> None:
    found = classes(products(500, 500, 620, 900, 2000, 3000))
    assert found == ["above_80", "above_80", "above_80", "above_50", "above_20", "below_20"]


@pytest.mark.parametrize(("bound_ns", "low", "high"), [(0, 900, 900), (50_000, 850, 950)])
def test_a_small_bound_changes_no_class(bound_ns: int, low: int, high: int) -> None:
    t = bounded(products(500, 500, 900), 0, 0, bound_ns)
    part = time_by_distance(t, whole(t))["above_50"]
    assert (part.ns, part.low_ns, part.high_ns) == (900_000, low * 1000, high * 1000)


def test_what_may_be_in_two_classes_surely_is_in_none() -> None:
    t = bounded(products(500, 500, 900), 0, 0, 200_000)  # 0.45 to 0.71 of the roof
    parts = time_by_distance(t, whole(t))
    assert (parts["above_50"].ns, parts["above_50"].low_ns) == (900_000, 0)
    assert (parts["above_20"].ns, parts["above_20"].low_ns) == (0, 0)
    assert parts["above_20"].high_ns == parts["above_50"].high_ns == 1_100_000
    assert parts["above_80"].high_ns == 1_000_000


def test_without_a_bound_the_most_is_unknown() -> None:
    t = bounded(products(500, 500, 900), 0, 0, MISSING)
    parts = time_by_distance(t, whole(t))
    assert [parts[name].high_ns for name in DISTANCES[:4]] == [None] * 4
    assert parts["unknown"].high_ns == 0
    assert parts["above_80"].low_ns == 1_000_000


@pytest.mark.long
@given(st.lists(st.integers(1, 5000), min_size=1, max_size=20), st.data())
def test_classes_add_up_within_their_limits(times: list[int], data: st.DataObject) -> None:
    t = products(*times)
    bound = data.draw(st.lists(st.integers(0, 10**6), min_size=len(times), max_size=len(times)))
    t = bounded(t, *bound)
    parts = time_by_distance(t, whole(t))
    total = int((t.kernels.end_ns - t.kernels.start_ns).sum())
    assert sum(part.ns for part in parts.values()) == total
    assert sum(part.activities for part in parts.values()) == len(times)
    for part in parts.values():
        assert part.low_ns <= part.ns <= (part.high_ns or 0) or part.ns == part.high_ns == 0
    group = np.arange(len(times)) % 3 - 1
    times_of = group_time(t, group, 2)
    assert times_of.sum() == int((t.kernels.end_ns - t.kernels.start_ns)[group >= 0].sum())
    assert set(group_limits(t, group, 2).tolist()) <= {-1, 0, 1, 2}
