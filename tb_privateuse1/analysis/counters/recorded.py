"""Counters that the trace itself records, such as clocks, power and bandwidth: curves and means."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.counters.curves import Curve
from tb_privateuse1.trace.columns import latest_before, latest_not_after, previous
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I64

SHOWN = 100
"""The counters that are drawn: those with most values. SQL has all."""


class Samples(Struct, frozen=True):
    """A counter's values by time: each holds until the next, the last one to the end.

    ``area`` is the value's integral from the first entry to each entry, in value times ns.
    """

    at_ns: I64
    value: F64
    area: F64

    def of_parts(self, edges: I64) -> F64:
        """Return the mean over time of each part; NaN before the first value."""
        return self.means(edges[:-1], edges[1:])

    def mean(self, start_ns: I64, end_ns: I64) -> float | None:
        """Return the mean over the time of all windows together; None before the first value."""
        means, length = self.means(start_ns, end_ns), self.known_ns(start_ns, end_ns)
        known = length > 0
        return float(np.average(means[known], weights=length[known])) if known.any() else None

    def known_ns(self, start_ns: I64, end_ns: I64) -> I64:
        """Return the length of the part of each window that has a value."""
        known: I64 = np.maximum(end_ns - np.maximum(start_ns, self.at_ns[0]), 0)
        return known

    def extremes(self, start_ns: int, end_ns: int) -> tuple[float, float] | None:
        """Return the least and the greatest value in a window; None before the first value."""
        first = max(int(np.searchsorted(self.at_ns, start_ns, side="right")) - 1, 0)
        own = self.value[first : int(np.searchsorted(self.at_ns, end_ns))]
        return (float(own.min()), float(own.max())) if len(own) else None

    def means(self, start_ns: I64, end_ns: I64) -> F64:
        """Return the mean over time of each window, from the first value on; NaN before it."""
        since = np.maximum(start_ns, self.at_ns[0])
        length = end_ns - since
        total = self._until(end_ns) - self._until(since)
        mean: F64 = np.where(length > 0, total / np.maximum(length, 1), np.nan)
        # Within one entry the value is exact; the sums would add rounding.
        row = latest_not_after(self.at_ns, since)
        same = latest_before(self.at_ns, end_ns) == row
        return np.where(same & (length > 0), self.value[np.maximum(row, 0)], mean)

    def all_changes(self) -> tuple[I64, F64]:
        """Return all times and values."""
        return self.at_ns, self.value

    def _until(self, at_ns: I64) -> F64:
        row = np.maximum(latest_not_after(self.at_ns, at_ns), 0)
        until: F64 = self.area[row] + self.value[row] * np.maximum(at_ns - self.at_ns[row], 0)
        return until


def samples(at_ns: I64, value: F64) -> Samples:
    """Return the values of one counter, at least one, in order of time."""
    passed = np.diff(at_ns, append=at_ns[-1])
    return Samples(at_ns, value, previous(np.cumsum(value * passed), 0.0))


@memoize
def recorded_samples(trace: Trace) -> dict[int, Samples]:
    """Return the values of each counter by its row in ``trace.counter_series``."""
    table = trace.counter_samples
    edges = np.searchsorted(table.series, np.arange(len(trace.counter_series) + 1)).tolist()
    return {
        row: samples(table.ts_ns[first:last], table.value[first:last])
        for row, (first, last) in enumerate(itertools.pairwise(edges))
        if last > first
    }


def labels(trace: Trace) -> list[str]:
    """Return a label of each counter: its name, its key and its process where it needs them."""
    series = trace.counter_series
    names = [trace.text(name) for name in series.name.tolist()]
    keys = [trace.text(key) for key in series.key.tolist()]
    processes = [trace.text(process) for process in series.process.tolist()]
    same = Counter(zip(names, keys, strict=True))  # the series of one process differ in these
    found = []
    for name, key, process in zip(names, keys, processes, strict=True):
        label = name if key in ("", "value", name) else f"{name} · {key}"
        found.append(f"{process}: {label}" if same[name, key] > 1 else label)
    return found


def drawn_samples(trace: Trace) -> dict[int, Samples]:
    """Return the values of the counters with most of them, by row and in the trace's order."""
    forms = recorded_samples(trace)
    most = sorted(forms, key=lambda row: -len(forms[row].at_ns))[:SHOWN]
    return {row: forms[row] for row in sorted(most)}


def recorded_curves(trace: Trace) -> list[Curve]:
    """Return the curves of the counters with most values, in the order of the trace."""
    named = labels(trace)
    return [Curve(named[row], "", "recorded", form) for row, form in drawn_samples(trace).items()]
