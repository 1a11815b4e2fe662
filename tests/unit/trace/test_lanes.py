"""Instants of many threads on one axis: the same answers as thread by thread."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.simulation.launches_and_waits import Ranges
from tb_privateuse1.trace.groupby import containing_by
from tb_privateuse1.trace.intervals import lanes
from tb_privateuse1.trace.table import HALF_INT64, I32, I64
from tests.support.repeats import repeats


def columns(*rows: tuple[int, int]) -> tuple[I32, I64]:
    """Return the columns of threads and times."""
    return np.array([row[0] for row in rows], np.int32), np.array([row[1] for row in rows])


def test_places_of_threads_do_not_touch_and_lead_back() -> None:
    thread, at_ns = columns((-1, 5), (2, -3), (2, 9), (4, -3))
    (axis,) = lanes((thread, at_ns))
    place = axis.place(thread, at_ns)
    assert (np.diff(place) > 1).all()
    back = axis.instants(place)
    assert [column.tolist() for column in back] == [thread.tolist(), at_ns.tolist()]


def test_times_beyond_int64_make_several_axes() -> None:
    """Three threads, each with instants that are half of int64 apart."""
    thread, at_ns = columns(*((n, at) for n in range(3) for at in (0, HALF_INT64 - 2)))
    found = list(lanes((thread, at_ns)))
    assert [(axis.first, axis.end) for axis in found] == [(0, 1), (1, 2), (2, 3)]
    for n, axis in enumerate(found):
        rows = axis.has(thread)
        assert np.arange(6)[rows].tolist() == [2 * n, 2 * n + 1]
        assert axis.place(thread[rows], at_ns[rows]).tolist() == [0, HALF_INT64 - 2]


def test_no_instants_have_no_axis() -> None:
    nothing = np.empty(0, np.int64)
    assert list(lanes((nothing, nothing))) == []
    assert containing_by(nothing, nothing, nothing, nothing, nothing).tolist() == []


@pytest.mark.parametrize("scale", [1, HALF_INT64 // 100], ids=["one axis", "several"])
@pytest.mark.parametrize("seed", range(repeats(8)))
def test_covered_ranges_hold_what_the_ranges_hold(seed: int, scale: int) -> None:
    chance = np.random.default_rng(seed)
    thread = chance.integers(0, 4, 30).astype(np.int32)
    start = chance.integers(0, 60, 30)
    end = start + chance.integers(0, 9, 30)
    ranges = Ranges(thread, start * scale, end * scale)
    at_thread, at = chance.integers(0, 5, 200).astype(np.int32), chance.integers(-2, 72, 200)
    expected = [
        bool(((thread == one) & (start <= when) & (when < end)).any())
        for one, when in zip(at_thread, at, strict=True)
    ]
    assert ranges.contain(at_thread, at * scale).tolist() == expected
    own = ranges.covered()
    follows = own.thread[1:] == own.thread[:-1]
    assert (own.start_ns[1:] > own.end_ns[:-1])[follows].all()
    assert (np.diff(own.thread) >= 0).all()
