"""Rectangles on rows, and merging of short neighbors."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.columns import following, range_rows
from tb_privateuse1.trace.table import I64, SmallNumber, Table


class Ranges(Table, frozen=True):
    """Rectangles of a level, by row and start; those of a row do not overlap.

    ``ref`` is the longest range in it (the first of equal ones). In a track of operators, it is a
    row of ``Trace.ops``, or, counted on behind these, of ``Trace.launches``; else a row of
    ``frames``, ``kernels``, ``steps`` or ``device_annotations``.
    """

    start_ns: I64
    end_ns: I64
    busy_ns: I64
    count: SmallNumber
    ref: SmallNumber


class Exact(Table, frozen=True):
    """The trace's own ranges, each a rectangle."""

    start_ns: I64
    end_ns: I64
    ref: SmallNumber

    def each(self) -> Ranges:
        """Return the same as mergeable rectangles, each with a count of one."""
        ones = np.ones(len(self), np.int32)
        return Ranges(self.start_ns, self.end_ns, self.end_ns - self.start_ns, ones, self.ref)


def merge_short(row: I64, ranges: Ranges, bin_ns: int) -> tuple[I64, Ranges]:
    """Merge all short ranges of a row that start in the same bin into one rectangle."""
    at = bin_heads(row, ranges, bin_ns)
    return (row, ranges) if len(at) == len(ranges) else (row[at], join_groups(ranges, at))


def bin_heads(row: I64, ranges: Ranges, bin_ns: int) -> I64:
    """Return the index of the first range of each group that becomes one rectangle."""
    short = ranges.end_ns - ranges.start_ns < bin_ns
    # A shift is much faster than a division, and most bins are powers of two.
    bits = bin_ns.bit_length() - 1
    key = ranges.start_ns >> bits if bin_ns == 1 << bits else ranges.start_ns // bin_ns
    first = np.ones(len(ranges), np.bool_)
    first[1:] = ~(short[1:] & short[:-1] & (key[1:] == key[:-1]) & (row[1:] == row[:-1]))
    return np.flatnonzero(first)


def join_groups(ranges: Ranges, at: I64) -> Ranges:
    """Return one rectangle for each group; groups start at ``at``."""
    last = following(at, len(ranges)) - 1
    return Ranges(
        ranges.start_ns[at],
        ranges.end_ns[last],
        np.add.reduceat(ranges.busy_ns, at),
        np.add.reduceat(ranges.count, at, dtype=np.int32),
        ranges.ref[_longest(ranges.busy_ns // ranges.count, at)],
    )


def _longest(length: I64, at: I64) -> I64:
    """Return the first of the longest entries of each group; groups start at ``at``."""
    best = at.copy()
    counts = np.diff(at, append=len(length))
    several = np.flatnonzero(counts > 1)  # most groups have one entry
    counts = counts[several]
    if not len(several):
        return best
    first = np.cumsum(counts) - counts
    group, entry = range_rows(at[several], counts)
    inside = length[entry]
    longest = np.flatnonzero(inside == np.maximum.reduceat(inside, first)[group])
    # Reversed, so that the first of equal ones is written last.
    best[several[group[longest[::-1]]]] = entry[longest[::-1]]
    return best
