"""Compute a counter's value in each part of a window: level, rate, share or mean."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.trace.columns import (
    ends_run,
    latest_not_after,
    previous,
    range_rows,
    sums_before,
)
from tb_privateuse1.trace.intervals import Set
from tb_privateuse1.trace.table import F64, I64, Bools

_BLOCK = 16
"""It changes no value, only the time: a part reads at most two blocks of each depth, and the blocks
of all depths are a fifteenth of the values."""
_MS = 1_000_000  # ns


class CurveLevel(Struct, frozen=True):
    """A step function: ``value`` holds from ``at_ns`` to the next entry; parts have the most."""

    at_ns: I64
    value: I64
    most: tuple[I64, ...]
    """The greatest of each ``_BLOCK`` values, of each ``_BLOCK`` of these, and so on."""

    def of_parts(self, edges: I64) -> F64:
        """Return the greatest value of each part, including the one at its start."""
        at = np.searchsorted(self.at_ns, edges)
        low = np.maximum(latest_not_after(self.at_ns, edges[:-1]), 0)
        return self._greatest(low, np.maximum(at[1:], low + 1)).astype(np.float64)

    def all_changes(self) -> tuple[I64, NDArray[np.generic]]:
        """Return all changes."""
        return self.at_ns, self.value

    def _greatest(self, low: I64, high: I64) -> I64:
        """Return the greatest value of entries [low, high) of each part; parts are consecutive."""
        best = np.full(len(low), np.iinfo(np.int64).min)
        # Blocks inside a part are looked up; only entries around them are read one by one.
        for values in (self.value, *self.most):
            first, last = -(-low // _BLOCK), high // _BLOCK
            whole = last > first
            best = np.maximum(best, _reduced(values, low, np.where(whole, first * _BLOCK, high)))
            if not whole.any():
                break
            left = _reduced(values, np.where(whole, last * _BLOCK, high), high)
            best = np.maximum(best, left)
            low, high = np.where(whole, first, 0), np.where(whole, last, 0)
        return best


class Share(Struct, frozen=True):
    """The share of time that a set covers: ``busy_ns`` up to ``at_ns``, linear in between."""

    at_ns: I64
    busy_ns: I64

    def of_parts(self, edges: I64) -> F64:
        """Return the covered share of each part."""
        share: F64 = np.diff(self._until(edges)) / np.diff(edges)
        return share

    def all_changes(self) -> None:
        """Return None: a share has values for parts only."""

    def _until(self, edges: I64) -> I64:
        if not len(self.at_ns):
            return np.zeros(len(edges), np.int64)
        at = np.searchsorted(self.at_ns, edges)
        before, after = np.maximum(at - 1, 0), np.minimum(at, len(self.at_ns) - 1)
        rises = self.busy_ns[after] > self.busy_ns[before]
        passed = np.maximum(edges - self.at_ns[before], 0)
        return self.busy_ns[before] + np.where(rises & (at > 0), passed, 0)


class Rate(Struct, frozen=True):
    """Starts per ms: those of ``until_ns`` before a part's end less ``since_ns`` before its start.

    Both are sorted, and equal unless a start is known by limits only.
    """

    until_ns: I64
    since_ns: I64

    def of_parts(self, edges: I64) -> F64:
        """Return the starts per ms in each part, or in the ms around the middle of a short one."""
        length = np.maximum(np.diff(edges), _MS)
        low = (edges[1:] + edges[:-1]) // 2 - length // 2
        until = np.searchsorted(self.until_ns, low + length)
        begun = np.maximum(until - np.searchsorted(self.since_ns, low), 0)
        per_ms: F64 = begun * (_MS / length)
        return per_ms

    def all_changes(self) -> None:
        """Return None: a rate has values for parts only."""


class Flow(Struct, frozen=True):
    """Bytes per second while any transfer runs: ``rate`` holds from ``at_ns`` to the next entry."""

    at_ns: I64
    rate: F64
    runs: Bools
    moved_bytes: F64
    """Bytes up to ``at_ns``; ``busy_ns`` is the time up to it in which any transfer runs."""
    busy_ns: I64

    def of_parts(self, edges: I64) -> F64:
        """Return the bytes of each part divided by its busy time; 0 without any."""
        row = np.maximum(latest_not_after(self.at_ns, edges), 0)
        passed = np.maximum(edges - self.at_ns[row], 0)
        moved = np.diff(self.moved_bytes[row] + self.rate[row] * passed / 1e9)
        busy = np.diff(self.busy_ns[row] + np.where(self.runs[row], passed, 0))
        value = np.where(busy > 0, moved / np.maximum(busy, 1) * 1e9, 0.0)
        # Within one entry the rate is exact; the sums would add rounding.
        same = (row[1:] == row[:-1]) & (busy > 0)
        return np.where(same, self.rate[row[:-1]], value)

    def all_changes(self) -> tuple[I64, NDArray[np.generic]]:
        """Return all changes."""
        return self.at_ns, self.rate


class Mean(Struct, frozen=True):
    """A level on average: ``value`` holds from ``at_ns`` to the next entry.

    ``area`` is its sum over time up to ``at_ns``. It is 0 before the first entry, and from the last
    one on.
    """

    at_ns: I64
    value: F64
    area: F64

    def area_ns(self, start_ns: I64, end_ns: I64) -> F64:
        """Return the level's sum over the time of each window."""
        return self._until(end_ns) - self._until(start_ns)

    def of_parts(self, edges: I64) -> F64:
        """Return the mean of each part."""
        mean: F64 = self.area_ns(edges[:-1], edges[1:]) / np.diff(edges)
        return np.clip(mean, 0.0, 1.0)  # areas are rounded

    def all_changes(self) -> None:
        """Return None: a mean has values for parts only."""

    def _until(self, at_ns: I64) -> F64:
        row = np.maximum(latest_not_after(self.at_ns, at_ns), 0)
        passed = np.maximum(at_ns - self.at_ns[row], 0)
        until: F64 = self.area[row] + self.value[row] * passed
        return until


def level(at_ns: I64, value: I64) -> CurveLevel:
    """Return a level from at least one value, sorted by time."""
    most = [value]
    while len(most[-1]) > 1:
        most.append(np.maximum.reduceat(most[-1], np.arange(0, len(most[-1]), _BLOCK)))
    return CurveLevel(at_ns, value, tuple(most[1:]))


def concurrency(since_ns: I64, until_ns: I64) -> CurveLevel:
    """Return the number of intervals that overlap an instant, as a level.

    Intervals may be in any order; those without length do not count.
    """
    n = len(since_ns)
    # A stable sort is fast here: most input is in order, and two sorted runs are merged.
    until_ns = np.maximum(until_ns, since_ns)
    at = np.concatenate((np.sort(since_ns, kind="stable"), np.sort(until_ns, kind="stable")))
    order = np.argsort(at, kind="stable")
    at, count = at[order], np.cumsum(np.where(order < n, 1, -1))
    last = ends_run(at)
    at, count = at[last], count[last]
    zero = np.zeros(0 if n and at[0] <= 0 else 1, np.int64)
    return level(np.concatenate((zero, at)), np.concatenate((zero, count)))


def share(covered: Set) -> Share:
    """Return the share of time that a set covers."""
    start, end = covered
    until = np.cumsum(end - start)
    return Share(
        np.stack((start, end), axis=1).ravel(),
        np.stack((until - (end - start), until), axis=1).ravel(),
    )


def flow(start_ns: I64, end_ns: I64, size_bytes: I64) -> Flow:
    """Return the flow of transfers, each at a constant rate over its time.

    They may be in any order; each has a length.
    """
    at, rate, running = _together(start_ns, end_ns, size_bytes / (end_ns - start_ns) * 1e9)
    passed = np.diff(at, append=at[-1])
    moved, busy = np.cumsum(rate * passed / 1e9), np.cumsum(np.where(running, passed, 0))
    return Flow(at, rate, running, previous(moved, 0.0), previous(busy, 0))


def mean(start_ns: I64, end_ns: I64, value: F64) -> Mean:
    """Return the sum of overlapping intervals as a level, at most 1 at any time.

    Each interval has a length.
    """
    at, total, _ = _together(start_ns, end_ns, value)
    total = np.minimum(total, 1.0)
    area = np.cumsum(total * np.diff(at, append=at[-1]))
    return Mean(at, total, previous(area, 0.0))


def _together(start_ns: I64, end_ns: I64, own: F64) -> tuple[I64, F64, Bools]:
    """Return the times of starts and ends, the sum from each on, and whether any interval runs."""
    at = np.concatenate((start_ns, end_ns))
    order = np.argsort(at, kind="stable")
    at, change = at[order], np.concatenate((own, -own))[order]
    # One entry per time: the last of its changes, after all starts and ends at that time.
    last = np.flatnonzero(np.diff(at, append=at[-1] + 1))
    active = np.cumsum(np.repeat((1, -1), len(own))[order])[last]
    total = np.cumsum(change)[last]
    # Float sums do not return to exactly 0: subtract the rest at the start of each busy interval.
    begins = previous(active, 0) == 0
    zero = previous(total, 0.0)[begins][np.cumsum(begins) - 1]
    return at[last], np.where(active > 0, np.maximum(total - zero, 0), 0.0), active > 0


def _reduced(values: I64, low: I64, high: I64) -> I64:
    """Return the maximum of values [low, high) of each pair; the least int64 if that is empty."""
    counts = np.maximum(high - low, 0)
    best = np.full(len(low), np.iinfo(np.int64).min)
    some = counts > 0
    _, entries = range_rows(low[some], counts[some])
    if len(entries):
        best[some] = np.maximum.reduceat(values[entries], sums_before(counts[some])[:-1])
    return best
