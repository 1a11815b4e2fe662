"""Ranges and activities, cut to a window of time."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.timeline.window import Window, activities, host_self_ns, tree_bounds
from tests.support.make import kernel, op, trace
from tests.support.uncertain import pair


def test_own_times_of_a_window_are_what_its_instants_say() -> None:
    one = trace(op("a", 0, 40), op("b", 5, 15), op("c", 6, 9), op("d", 20, 30), op("e", 50, 60))
    for start, stop in ((0, 60_000), (7_000, 25_000), (12_000, 13_000), (41_000, 49_000)):
        own = dict(zip(names(one), host_self_ns(one, Window(start, stop)).tolist(), strict=True))
        assert own == by_instant(one, start, stop)


def names(one) -> list[str]:  # type: ignore[no-untyped-def]
    return [one.text(name) for name in one.ops.name]


def by_instant(one, start: int, stop: int) -> dict[str, int]:  # type: ignore[no-untyped-def]
    """The innermost operator at each microsecond."""
    found = dict.fromkeys(names(one), 0)
    for at in range(start, stop, 1000):
        inside = np.flatnonzero((one.ops.start_ns <= at) & (one.ops.end_ns > at))
        if len(inside):
            found[one.text(one.ops.name[inside[np.argmax(one.ops.start_ns[inside])]])] += 1000
    return found


def test_activities_count_with_their_part() -> None:
    one = trace(kernel("k", 0, 10), kernel("k", 20, 40), kernel("far", 90, 95))
    rows = np.arange(3)
    part = activities(one.kernels, rows, Window(5_000, 30_000))
    assert (part.rows.tolist(), part.ns.tolist(), part.shown.all()) == (
        [0, 1],
        [5000, 10_000],
        True,
    )
    whole = activities(one.kernels, rows, None)
    assert (len(whole.rows), int(whole.ns.sum())) == (3, 35_000)


@pytest.mark.parametrize("seed", range(8))
def test_the_true_time_lies_within_the_bound(seed: int) -> None:
    shown, true = pair(seed, 2)
    random = np.random.default_rng(seed)
    for _ in range(8):
        start, stop = sorted(random.integers(0, shown.end_ns, 2).tolist())
        window = Window(start, stop)
        a, b = (activities(t.kernels, np.arange(len(t.kernels)), window) for t in (shown, true))
        bound = tree_bounds(np.array([-1], np.int32), np.zeros(len(a.rows), np.int32), a)
        assert abs(int(a.ns.sum() - b.ns.sum())) <= bound[0]
