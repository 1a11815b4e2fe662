"""Rounds: the same few symbols in the same order again and again."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.analysis.idioms.repeated_sequences import find_rounds


def segments(symbols: list[int], longest: int = 4, least: int = 3) -> list[tuple[int, int, int]]:
    found = find_rounds(np.array(symbols, np.int64), longest, least)
    columns = (found.first.tolist(), found.period.tolist(), found.rounds.tolist())
    return list(zip(*columns, strict=True))


def test_the_shortest_period_counts() -> None:
    assert segments([9, 1, 2, 1, 2, 1, 2, 1, 2, 8]) == [(1, 2, 4)]


def test_rows_of_a_greater_interval_are_in_no_other() -> None:
    assert segments([1, 1, 1, 2] * 3) == [(0, 4, 3)]


def test_negative_symbols_end_an_interval() -> None:
    assert segments([1, 1, 1, -1, -1, -1, 1, 1, 1]) == [(0, 1, 3), (6, 1, 3)]


def test_too_few_rounds_are_none() -> None:
    assert segments([1, 2, 1, 2]) == []
    assert segments([]) == []


@given(st.lists(st.integers(-1, 2), max_size=40))
def test_rounds_are_equal_and_apart(symbols: list[int]) -> None:
    used: set[int] = set()
    for first, period, rounds in segments(symbols):
        assert rounds >= 3
        rows = range(first, first + period * rounds)
        assert not used & set(rows)
        used |= set(rows)
        assert all(symbols[row] == symbols[first + (row - first) % period] >= 0 for row in rows)
