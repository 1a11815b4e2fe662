"""Divide the steps of two traces into cells to compare: idle time by class, kernels by operator.

Each instant of a step's window is in one interval of the account of time, so in one cell: idle time
by its class, work of the device by what became of it (``changed_calls``), copies by their
direction. So the cells of a step sum to its length, and nothing counts twice.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account import classification
from tb_privateuse1.analysis.account.class_intervals import ClassIntervals, within
from tb_privateuse1.analysis.account.classes import NAMES, NUMBER, ClassName
from tb_privateuse1.analysis.account.host_activity import KERNELS, OPS, TABLES
from tb_privateuse1.analysis.comparison.call_places import Places, place_work
from tb_privateuse1.analysis.comparison.changed_calls import Matches, match_calls
from tb_privateuse1.analysis.kernel_names import display_name
from tb_privateuse1.trace import device_times, groupby, intervals, sum_bounds
from tb_privateuse1.trace.columns import lookup, range_rows
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I64

Cell = tuple[ClassName, str, int]
"""The class of time, the direction of a copy or nothing, and the change of work or ``NONE``."""


class Side(Struct, frozen=True):
    """The time of one trace's chosen steps by cell."""

    trace: Trace
    steps: I64
    cell: I64
    """By piece of an interval, as the next columns."""
    step: I64
    """The place among ``steps``."""
    ns: I64
    table: I64
    """Of the responsible event, an index into ``host_activity.TABLES``."""
    row: I64
    activity_cell: I64
    """By device activity of the chosen steps, ``NONE`` for others."""

    def names_of(self, cells: set[int]) -> Counter[str]:
        """Return the time per step of each responsible event's name in some cells."""
        inside = np.flatnonzero(np.isin(self.cell, list(cells)) & (self.row >= 0))
        found: Counter[str] = Counter()
        for number, name in enumerate(TABLES):
            own = inside[self.table[inside] == number]
            texts = getattr(self.trace, name).name[self.row[own]]
            for text, some in groupby.split_by_value(texts):
                found[self.trace.text(text)] += int(self.ns[own[some]].sum())
        return found

    def bounds(self, cell_group: I64, groups: int) -> I64:
        """Return by group of cells how far off its activities' time in a step may be."""
        kernels = self.trace.kernels
        group = lookup(cell_group, self.activity_cell, NONE)
        found = sum_bounds.duration_sum_bounds(group, kernels, groups)
        known = device_times.known_bounds(self.trace, found)
        return np.where(known == MISSING, MISSING, known // max(len(self.steps), 1))


class Cells(Struct, frozen=True):
    """The time of two traces in the same cells."""

    keys: list[Cell]
    places: Places
    matches: Matches
    base: Side
    now: Side


def divide(
    base: Trace,
    now: Trace,
    base_steps: I64,
    now_steps: I64,
    times: tuple[intervals.Set, intervals.Set],
) -> Cells:
    """Return the cells of the chosen steps, which are rows of each trace's ``steps``.

    Of the steps, ``times`` count: those of the base and those of ``now``.
    """
    places = place_work(base, now, base_steps, now_steps)
    matches = match_calls(places, base_steps, now_steps)
    number: dict[Cell, int] = {}
    old, new = (
        _side(trace, steps, time, change, places.on_device, number)
        for trace, steps, time, change in (
            (base, base_steps, times[0], matches.base),
            (now, now_steps, times[1], matches.now),
        )
    )
    return Cells(list(number), places, matches, old, new)


def _side(
    trace: Trace,
    steps: I64,
    time: intervals.Set,
    change: I64,
    on_device: bool,
    number: dict[Cell, int],
) -> Side:
    every = within(classification.classify_time(trace), time)
    at, step, ns = _pieces(every, trace.steps.start_ns[steps], trace.steps.end_ns[steps])
    table, row = every.table[at].astype(np.int64), every.row[at].astype(np.int64)
    time_class = every.time_class[at].astype(np.int64)
    worked = (time_class == NUMBER["kernel" if on_device else "dispatch"]) & (row >= 0)
    worked &= table == (KERNELS if on_device else OPS)
    of_piece = lookup(change, np.where(worked, row, NONE), NONE)
    copied = (time_class == NUMBER["exposed_copy"]) & (row >= 0)
    name = lookup(trace.kernels.name, np.where(copied, row, NONE), NONE)
    first, group = groupby.group_rows(time_class, name, of_piece)
    cells = np.empty(len(first), np.int64)
    for i, at_piece in enumerate(first.tolist()):
        copy = display_name(trace.text(name[at_piece]))
        key = (NAMES[time_class[at_piece]], copy, int(of_piece[at_piece]))
        cells[i] = number.setdefault(key, len(number))
    cell = cells[group]
    activity = np.full(len(trace.kernels), NONE)
    on_device_now = np.isin(time_class, [NUMBER[kind] for kind in classification.KINDS])
    runs = np.flatnonzero(on_device_now & (row >= 0))
    activity[row[runs]] = cell[runs]
    return Side(trace, steps, cell, step, ns, table, row, activity)


def _pieces(every: ClassIntervals, start_ns: I64, end_ns: I64) -> tuple[I64, I64, I64]:
    """Return the interval, the window and the length of each piece of an interval in a window."""
    low = np.searchsorted(every.end_ns, start_ns, side="right")
    high = np.searchsorted(every.start_ns, end_ns)
    count = np.maximum(high - low, 0)
    window, at = range_rows(low, count)
    begin = np.maximum(every.start_ns[at], start_ns[window])
    return at, window, np.minimum(every.end_ns[at], end_ns[window]) - begin
