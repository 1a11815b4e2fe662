"""How the values of a curve are known: what each part of a window is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.trace.intervals import Set
from tb_privateuse1.trace.table import I64, Bools

Floats = NDArray[np.float64]

_BLOCK = 16
_MS = 1_000_000


@dataclass(frozen=True)
class Level:
    """``value`` holds from ``at_ns`` to the next entry. Of a part it is the greatest."""

    at_ns: I64
    value: I64
    most: tuple[I64, ...]
    """The greatest of each ``_BLOCK`` values, of each ``_BLOCK`` of these, and so on."""

    def of_parts(self, edges: I64) -> Floats:
        """The greatest value of each part; what holds at its start counts, too."""
        at = np.searchsorted(self.at_ns, edges)
        low = np.maximum(np.searchsorted(self.at_ns, edges[:-1], side="right") - 1, 0)
        return self._greatest(low, np.maximum(at[1:], low + 1)).astype(np.float64)

    def told(self) -> tuple[I64, NDArray[np.generic]]:
        """All changes."""
        return self.at_ns, self.value

    def _greatest(self, low: I64, high: I64) -> I64:
        """The greatest value of entries [low, high) of each part; parts follow each other."""
        best = np.full(len(low), np.iinfo(np.int64).min)
        # Blocks that lie within a part are looked up; only what is around these is looked at.
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


@dataclass(frozen=True)
class Share:
    """The part of time that a set covers: ``busy_ns`` up to ``at_ns``, linear between these."""

    at_ns: I64
    busy_ns: I64

    def of_parts(self, edges: I64) -> Floats:
        """The covered share of each part."""
        share: Floats = np.diff(self._until(edges)) / np.diff(edges)
        return share

    def told(self) -> None:
        """It is a share of parts only."""

    def _until(self, edges: I64) -> I64:
        if not len(self.at_ns):
            return np.zeros(len(edges), np.int64)
        at = np.searchsorted(self.at_ns, edges)
        before, after = np.maximum(at - 1, 0), np.minimum(at, len(self.at_ns) - 1)
        rises = self.busy_ns[after] > self.busy_ns[before]
        passed = np.maximum(edges - self.at_ns[before], 0)
        return self.busy_ns[before] + np.where(rises & (at > 0), passed, 0)


@dataclass(frozen=True)
class Rate:
    """How many begin per ms: those of ``until_ns`` before a part's end, less those of ``since_ns``
    before its start. Both are sorted, and the same unless a start lies between limits.
    """

    until_ns: I64
    since_ns: I64

    def of_parts(self, edges: I64) -> Floats:
        """In each part, or in the ms around its middle if it is shorter than that, per ms."""
        length = np.maximum(np.diff(edges), _MS)
        low = (edges[1:] + edges[:-1]) // 2 - length // 2
        until = np.searchsorted(self.until_ns, low + length)
        begun = np.maximum(until - np.searchsorted(self.since_ns, low), 0)
        per_ms: Floats = begun * (_MS / length)
        return per_ms

    def told(self) -> None:
        """It is a rate of parts only."""


@dataclass(frozen=True)
class Flow:
    """Bytes per second while any flow: ``rate`` holds from ``at_ns`` to the next entry."""

    at_ns: I64
    rate: Floats
    runs: Bools
    moved_bytes: Floats
    """Up to ``at_ns``, as is ``busy_ns``, the time in which any flow."""
    busy_ns: I64

    def of_parts(self, edges: I64) -> Floats:
        """The bytes of each part by the time in it in which any flow; 0 where none do."""
        row = np.maximum(np.searchsorted(self.at_ns, edges, side="right") - 1, 0)
        passed = np.maximum(edges - self.at_ns[row], 0)
        moved = np.diff(self.moved_bytes[row] + self.rate[row] * passed / 1e9)
        busy = np.diff(self.busy_ns[row] + np.where(self.runs[row], passed, 0))
        value = np.where(busy > 0, moved / np.maximum(busy, 1) * 1e9, 0.0)
        # Within one entry the sums have nothing to add but their rounding.
        same = (row[1:] == row[:-1]) & (busy > 0)
        return np.where(same, self.rate[row[:-1]], value)

    def told(self) -> tuple[I64, NDArray[np.generic]]:
        """All changes."""
        return self.at_ns, self.rate


@dataclass(frozen=True)
class Mean:
    """A level on average: ``value`` holds from ``at_ns`` to the next entry; ``area`` is its sum
    over time up to there. It is 0 before the first entry, and from the last one on.
    """

    at_ns: I64
    value: Floats
    area: Floats

    def area_ns(self, start_ns: I64, end_ns: I64) -> Floats:
        """The level's sum over the time of each window."""
        return self._until(end_ns) - self._until(start_ns)

    def of_parts(self, edges: I64) -> Floats:
        """The mean of each part."""
        mean: Floats = self.area_ns(edges[:-1], edges[1:]) / np.diff(edges)
        return np.clip(mean, 0.0, 1.0)  # the areas have rounding

    def told(self) -> None:
        """It is a mean of parts only."""

    def _until(self, at_ns: I64) -> Floats:
        row = np.maximum(np.searchsorted(self.at_ns, at_ns, side="right") - 1, 0)
        passed = np.maximum(at_ns - self.at_ns[row], 0)
        until: Floats = self.area[row] + self.value[row] * passed
        return until


def level(at_ns: I64, value: I64) -> Level:
    """Of at least one value, by time."""
    most = [value]
    while len(most[-1]) > 1:
        most.append(np.maximum.reduceat(most[-1], np.arange(0, len(most[-1]), _BLOCK)))
    return Level(at_ns, value, tuple(most[1:]))


def concurrency(since_ns: I64, until_ns: I64) -> Level:
    """How many of these stretches go on; in any order, those without length never do."""
    n = len(since_ns)
    # Most are in order already, which a stable sort sees; two sorted runs it only merges.
    until_ns = np.maximum(until_ns, since_ns)
    at = np.concatenate((np.sort(since_ns, kind="stable"), np.sort(until_ns, kind="stable")))
    order = np.argsort(at, kind="stable")
    at, count = at[order], np.cumsum(np.where(order < n, 1, -1))
    last = np.append(at[1:] != at[:-1], np.ones(min(n, 1), np.bool_))
    at, count = at[last], count[last]
    zero = np.zeros(0 if n and at[0] <= 0 else 1, np.int64)
    return level(np.concatenate((zero, at)), np.concatenate((zero, count)))


def share(covered: Set) -> Share:
    """Of a set of times."""
    start, end = covered
    until = np.cumsum(end - start)
    return Share(
        np.stack((start, end), axis=1).ravel(),
        np.stack((until - (end - start), until), axis=1).ravel(),
    )


def flow(start_ns: I64, end_ns: I64, size_bytes: I64) -> Flow:
    """Of what moves so many bytes, evenly over its time, which has a length; in any order."""
    at, rate, running = _together(start_ns, end_ns, size_bytes / (end_ns - start_ns) * 1e9)
    passed = np.diff(at, append=at[-1])
    moved, busy = np.cumsum(rate * passed / 1e9), np.cumsum(np.where(running, passed, 0))
    return Flow(at, rate, running, np.append(0.0, moved[:-1]), np.append(0, busy[:-1]))


def mean(start_ns: I64, end_ns: I64, value: Floats) -> Mean:
    """Of stretches that have a length; at most 1 of those that go on at the same time count."""
    at, total, _ = _together(start_ns, end_ns, value)
    total = np.minimum(total, 1.0)
    area = np.cumsum(total * np.diff(at, append=at[-1]))
    return Mean(at, total, np.append(0.0, area[:-1]))


def _together(start_ns: I64, end_ns: I64, own: Floats) -> tuple[I64, Floats, Bools]:
    """The times at which a stretch begins or ends, the sum of those that go on from there, and
    whether any does.
    """
    at = np.concatenate((start_ns, end_ns))
    order = np.argsort(at, kind="stable")
    at, change = at[order], np.concatenate((own, -own))[order]
    # An entry for each time, the last of its changes; what begins there and what ends.
    last = np.flatnonzero(np.diff(at, append=at[-1] + 1))
    active = np.cumsum(np.repeat((1, -1), len(own))[order])[last]
    total = np.cumsum(change)[last]
    # Of floats, sums that should be 0 again are not quite: each busy stretch starts from its own 0.
    begins = np.append(True, active[:-1] == 0)
    zero = np.append(0.0, total)[:-1][begins][np.cumsum(begins) - 1]
    return at[last], np.where(active > 0, np.maximum(total - zero, 0), 0.0), active > 0


def _reduced(values: I64, low: I64, high: I64) -> I64:
    """The maximum of values [low, high) of each pair; the least int64 where there are none."""
    counts = np.maximum(high - low, 0)
    best = np.full(len(low), np.iinfo(np.int64).min)
    some = counts > 0
    first = np.cumsum(counts[some]) - counts[some]
    looked = np.arange(counts.sum()) + np.repeat(low[some] - first, counts[some])
    if len(looked):
        best[some] = np.maximum.reduceat(values[looked], first)
    return best
