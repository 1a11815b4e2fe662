"""Stacks have every range, and no range crosses another in its stack."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.export.perfetto import nesting
from tests.support.repeats import repeats

RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), max_size=12)


def stacks(ranges: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    start = np.array([s for s, _ in ranges], np.int64)
    end = np.array([s + d for s, d in ranges], np.int64)
    found = nesting.stacks(start, end)
    return [list(zip(start[rows].tolist(), end[rows].tolist(), strict=True)) for rows in found]


def test_nested_ranges_are_one_stack() -> None:
    assert stacks([(5, 2), (0, 10), (5, 5)]) == [[(0, 10), (5, 10), (5, 7)]]


def test_crossing_ranges_are_in_another_stack() -> None:
    assert stacks([(0, 10), (5, 10), (6, 1), (8, 4)]) == [[(0, 10)], [(5, 15), (6, 7), (8, 12)]]


@settings(max_examples=repeats(60))
@given(RANGES)
def test_stacks(ranges: list[tuple[int, int]]) -> None:
    found = stacks(ranges)
    assert sorted(r for stack in found for r in stack) == sorted((s, s + d) for s, d in ranges)
    for stack in found:
        assert stack == sorted(stack, key=lambda r: (r[0], -r[1]))
        for i, (start, end) in enumerate(stack):
            assert not any(s < end < e and start < s for s, e in stack[i:])
