"""Merging of short rectangles by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.timeline import rectangles
from tb_privateuse1.analysis.timeline.rectangles import Exact, Ranges


def ranges(*spans: tuple[int, int]) -> Ranges:
    """Return these ranges, each referring to its own index."""
    start, end = np.array(spans, np.int64).T
    return Exact(start, end, np.arange(len(spans), dtype=np.int32)).each()


@pytest.mark.parametrize("bin_ns", [16, 15])
def test_short_ranges_of_a_bin_become_one(bin_ns: int) -> None:
    """The result has the sum of counts and busy times, and refers to the longest range."""
    row, found = rectangles.merge_short(
        np.zeros(4, np.int64), ranges((0, 2), (4, 9), (10, 12), (16, 40)), bin_ns
    )
    assert row.tolist() == [0, 0]
    assert (found.start_ns.tolist(), found.end_ns.tolist()) == ([0, 16], [12, 40])
    assert (found.count.tolist(), found.busy_ns.tolist()) == ([3, 1], [9, 24])
    assert found.ref.tolist() == [1, 3]


def test_rows_are_not_merged() -> None:
    """Ranges of different rows stay separate, and nothing changes."""
    some = ranges((0, 2), (3, 5))
    row, found = rectangles.merge_short(np.array([0, 1]), some, 16)
    assert found is some
    assert row.tolist() == [0, 1]


def test_the_first_of_equally_long_ranges_is_the_reference() -> None:
    """Ties give the first range."""
    _, found = rectangles.merge_short(np.zeros(2, np.int64), ranges((0, 2), (3, 5)), 16)
    assert found.ref.tolist() == [0]
