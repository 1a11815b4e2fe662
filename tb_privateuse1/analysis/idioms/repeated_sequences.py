"""Find repeats in a sequence of numbered calls: the iterations of a loop."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.columns import range_rows
from tb_privateuse1.trace.table import I32, I64, Table

_BASE = 0x9E3779B97F4A7C15
"""The odd number nearest to 2**64 by the golden ratio: its powers spread over all bits (Knuth, The
Art of Computer Programming 3, 6.4)."""
_INVERSE = pow(_BASE, -1, 1 << 64)


class Rounds(Table, frozen=True):
    """Segments of equal rounds, by their first row; no row is in two of them.

    A segment has ``rounds`` times ``period`` rows. Where its first round begins is not known: any
    of its first ``period`` rows may be the one.
    """

    first: I64
    period: I64
    rounds: I64

    def of_rows(self, count: int) -> I64:
        """Return the segment of each of ``count`` rows, or -1."""
        found = np.full(count, -1, np.int64)
        length = self.period * self.rounds
        segment, rows = range_rows(self.first, length)
        found[rows] = segment
        return found


def find_rounds(symbols: I64, longest: int, least: int) -> Rounds:
    """Return the segments of ``least`` or more equal rounds of at most ``longest`` rows.

    Rows with a negative symbol are in none. Of segments that overlap, the one with most rows
    counts, then the one with the shortest rounds. O(n) for each period.
    """
    first, period, rounds = [], [], []
    for each in range(1, longest + 1):
        begin, length = _alike(symbols, each)
        count = length // each + 1
        many = count >= least
        first.append(begin[many])
        rounds.append(count[many])
        period.append(np.full(int(many.sum()), each, np.int64))
    return _apart(
        np.concatenate(first), np.concatenate(period), np.concatenate(rounds), len(symbols)
    )


def _alike(symbols: I64, period: int) -> tuple[I64, I64]:
    """Return where rows equal those a period later: the first row, and how many in a row."""
    if len(symbols) <= period:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    same = (symbols[period:] == symbols[:-period]) & (symbols[period:] >= 0)
    edges = np.diff(np.concatenate(([False], same, [False])).astype(np.int8))
    begin = np.flatnonzero(edges > 0)
    return begin, np.flatnonzero(edges < 0) - begin


def _apart(first: I64, period: I64, rounds: I64, count: int) -> Rounds:
    """Return the segments without a row of one that counts more."""
    length = period * rounds
    # The last one that is written counts.
    order = np.lexsort((-period, length))
    first, period, rounds, length = (one[order] for one in (first, period, rounds, length))
    owner = np.full(count, -1, np.int64)
    number, rows = range_rows(first, length)
    owner[rows] = number
    whole = np.bincount(owner[owner >= 0], minlength=len(first)) == length
    kept = np.flatnonzero(whole)
    kept = kept[np.argsort(first[kept], kind="stable")]
    return Rounds(first=first[kept], period=period[kept], rounds=rounds[kept])


class RangeHashes:
    """Hashes of ranges of a column, for equal ranges equal wherever they are; O(n) in all."""

    def __init__(self, column: I32 | I64) -> None:
        weight = np.full(len(column) + 1, _BASE, np.uint64)
        back = np.full(len(column) + 1, _INVERSE, np.uint64)
        weight[0] = back[0] = 1
        self._back = np.cumprod(back)
        values = (column.astype(np.uint64) + np.uint64(1)) * np.uint64(_BASE)
        self._sum = np.append(np.uint64(0), np.cumsum(values * np.cumprod(weight)[:-1]))

    def of(self, begin: I64, end: I64) -> np.ndarray:
        """Return the hash of each range, modulo 2 to the 64."""
        hashes: np.ndarray = (self._sum[end] - self._sum[begin]) * self._back[begin]
        return hashes
