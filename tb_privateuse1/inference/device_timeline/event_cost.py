"""Estimate the mean cost of an event on a busy device, and what elapsed times lose.

Under a backlog the time of a range is that of the launching operators in it and the cost of its
other events. All times are cut to the resolution, so that each range gives two limits of the cost.
The cost is the same everywhere: its error grows with the number of events, unlike roundings.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.inference.device_timeline.timeline_inputs import Calibration, EventPairs
from tb_privateuse1.trace.columns import latest_not_after, sums_before
from tb_privateuse1.trace.model import MISSING, Ops
from tb_privateuse1.trace.table import I64, Bools

_ENOUGH = 20
"""The least number of events, per square root of the number of roundings."""

_LEAST_DOUBT_NS = 3
"""The least error of the mean cost of an event."""

_FITS, _SURELY = 3, 4
"""Rounds of least squares, and the standard deviations beyond which a difference is real."""

_AGREED = 0.9
"""The share of the events under backlog that agree about their cost, unless it varies."""


_TINY = 1e-12
"""For no division by 0, where all weights are 0: the sums above are 0 as well."""


class EventCost(Struct, frozen=True):
    """The mean cost of an event, its error, and the mean of what is cut from an elapsed time.

    All in ns. ``samples`` is the number of ranges that show them. Where these do not agree, events
    cost the device different times, and the error is as large as the largest cost. ``scatter_ns``
    is how much a few events cost more or less than most.
    """

    cost_ns: int
    doubt_ns: int
    cut_ns: int
    samples: int
    scatter_ns: int = 0


def event_cost(
    ops: Ops, events: EventPairs, may: Bools, behind: Bools, c: Calibration
) -> EventCost:
    """Return the mean cost of an event by ranges under backlog.

    With too few, it is the calibration's. ``may`` are the operators that may launch, ``behind`` the
    events at which the device surely had a backlog.
    """
    known = ops.elapsed_ns != MISSING
    late = sums_before(~behind)
    row = np.flatnonzero(known & ~may & (late[events.end + 1] == late[events.start]))
    launches = sums_before(may[events.op])
    alone = launches[events.end[row] + 1] == launches[events.start[row]]
    ranges, unit, at = _around_launches(events, row[~alone], np.flatnonzero(may & known))
    row = np.concatenate((row[alone], ranges))
    at = at + int(alone.sum())
    count = events.end[row] - events.start[row]
    np.subtract.at(count, at, events.end[unit] - events.start[unit])
    parts, rest = np.bincount(at, minlength=len(row)), ops.elapsed_ns[row].copy()
    np.subtract.at(rest, at, ops.elapsed_ns[unit])
    # Other ranges hold work of an unknown launcher: they tell nothing of events.
    only = rest - parts * c.resolution_ns <= count * c.event_high_ns
    row, count, parts, rest = row[only], count[only], parts[only], rest[only]
    if count.sum() < _ENOUGH * max(1.0, len(unit) ** 0.5):
        return EventCost(c.event_ns, c.event_doubt_ns, c.cut_ns, 0)
    low, high, agreed = _most_agreed(rest - parts * c.resolution_ns, rest + c.resolution_ns, count)
    if agreed < _AGREED * count.sum():
        return EventCost(c.event_ns, c.event_high_ns, c.cut_ns, 0)
    low, high = max(low, 0.0), min(max(high, 0.0), float(c.event_high_ns))
    around = parts > 0
    if not around.any():
        cost, cut, deviation = (low + high) / 2, float(c.cut_ns), high - low
    else:
        cost, cut, deviation = _fit_cut(
            np.stack((ops.elapsed_ns[row], rest, parts, count))[:, around],
            c.resolution_ns,
            c.cut_ns,
        )
    nearest = min(max(cost, low), high)
    off = abs(nearest - cost)
    if off > max(_SURELY * deviation, _LEAST_DOUBT_NS):
        # The cost that every range allows is not the mean: single events cost more or less.
        doubt = max(_LEAST_DOUBT_NS, int(_SURELY * deviation))
        return EventCost(int(cost), doubt, int(cut), len(row), int(off))
    doubt = max(_LEAST_DOUBT_NS, int(min(_SURELY * deviation, max(nearest - low, high - nearest))))
    return EventCost(int(nearest), doubt, int(cut), len(row))


def _fit_cut(ranges: I64, resolution: int, usual: int) -> tuple[float, float, float]:
    """Return the cost of an event, what elapsed times lose on average, and the cost's deviation.

    ``ranges`` are rows of elapsed time, the same less that of the parts, number of parts, and of
    events outside these. By least squares: the time of a range less that of its parts is the cost
    of its events, and what the parts lost less what the range did. That is ``usual`` unless the
    ranges surely show another loss, as by clocks whose ticks are the resolution.
    """
    alike, times = np.unique(ranges, axis=1, return_counts=True)
    _, rest, parts, count = alike
    more, variance = parts - 1.0, resolution**2 / 12 * (1.0 + parts)
    use = np.ones(len(rest), np.bool_)
    for _ in range(_FITS):
        # Equal ranges are one observation of what is cut, however often they come.
        weight = use / variance
        squares = (weight * count * count).sum(), (weight * more * more).sum() + 12 / resolution**2
        both = (weight * count * more).sum()
        lost = rest - usual * more
        rank = max(squares[0] * squares[1] - both**2, _TINY)
        cut = (weight * (more * squares[0] - count * both) * lost).sum() / rank
        cut = cut if abs(cut) > _SURELY * (squares[0] / rank) ** 0.5 else 0.0
        weight = weight * times
        total = max((weight * count * count).sum(), _TINY)
        cost = (weight * count * (lost - cut * more)).sum() / total
        # In a few ranges more than events ran, or the device waited after all.
        off = np.abs(lost - cost * count - cut * more)
        use = off <= _SURELY * np.sqrt(variance) + np.median(off)
    deviation = (weight**2 * count**2 * variance).sum() ** 0.5 / total
    return cost, min(max(usual + cut, 0.0), float(resolution)), deviation


def _around_launches(events: EventPairs, row: I64, launching: I64) -> tuple[I64, I64, I64]:
    """Return the outermost ranges around launching operators, these, and the range of each."""
    unit = _outermost(events, launching)
    if not len(row) or not len(unit):
        none = np.zeros(0, np.int64)
        return none, none, none
    within = latest_not_after(events.start[unit], events.start[row])
    row = row[(within < 0) | (events.end[unit[np.maximum(within, 0)]] < events.start[row])]
    after = np.searchsorted(events.start[unit], events.start[row])
    row = _outermost(
        events, row[events.start[unit[np.minimum(after, len(unit) - 1)]] < events.end[row]]
    )
    if not len(row):
        return row, row, row
    at = latest_not_after(events.start[row], events.start[unit])
    inside = (at >= 0) & (events.end[unit] < events.end[row[np.maximum(at, 0)]])
    return row, unit[inside], at[inside]


def _most_agreed(least: I64, most: I64, count: I64) -> tuple[float, float, int]:
    """Return the range of a cost that most limits of ``count`` costs allow, and how many costs."""
    value = np.concatenate((least, most)) / np.tile(np.maximum(count, 1), 2)
    # At equal values a lower limit counts before an upper one.
    order = np.argsort(value, kind="stable")
    agreed = np.cumsum(np.concatenate((count, -count))[order])
    best = int(np.argmax(agreed))
    least_cost, most_cost = value[order][[best, min(best + 1, len(order) - 1)]].tolist()
    return least_cost, most_cost, int(agreed[best])


def _outermost(events: EventPairs, rows: I64) -> I64:
    """Return the rows that lie inside no other of them, by start."""
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    if not len(rows):
        return rows
    reach = np.maximum.accumulate(events.end[rows])
    first = np.concatenate(([True], events.start[rows][1:] > reach[:-1]))
    return rows[first]
