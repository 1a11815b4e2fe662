"""Kernels that take longer later in a recording, with the same inputs.

The calls of one kernel, operator and shape are cut into three thirds by time. The kernel became
slower if three things hold. Even the fast calls of the last third (lower quartile) take longer than
the slow ones of the first (upper quartile). The middle lies between them. And chance is no
explanation, by the rank test of Mann and Whitney (1947): calls in order of duration rarely are in
order of time. Neither depends on outliers. The quartiles also hold where calls that follow each
other are alike, so that the rank test is too sure.

A device that lowers its clock slows most of what it runs. A single kernel that becomes slower has
another reason.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.analysis.roofs.undisturbed import undisturbed
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import group_rows, sums
from tb_privateuse1.trace.kernel_context import operator_names
from tb_privateuse1.trace.model import KERNEL, MISSING, NONE, Trace
from tb_privateuse1.trace.statistics import sort_groups
from tb_privateuse1.trace.table import F64, I8, I64, Bools, Table

LEAST_FACTOR = 1.05
"""The median of the last third by that of the first: less is left to chance."""
LEAST_SCORE = 4.0
"""Standard deviations of the rank test: chance has this in 3 of 100,000 kernels."""
DEVICE_SHARE = 0.5
"""The device became slower if this share of the time that can be judged did."""
_MOST_FASTER = 0.2
"""A device that lowers its clock makes hardly anything faster. Half or twice of it changes none of
117 recordings."""
_LEAST_SHARE = 0.002
"""Kernels with less of the device time are not named."""
_THIRDS = 3
"""The fewest parts with a middle: a drift passes it, a step does not return."""
LEAST_CALLS = _THIRDS * math.ceil(
    (LEAST_SCORE**2 + LEAST_SCORE * math.sqrt(LEAST_SCORE**2 + 3)) / 3
)
"""36: fewer cannot reach the score, even if all calls of the last third are the longer ones. With n
calls in each third, they score sqrt(3) n / sqrt(2 n + 1)."""


class Slowdown(Struct, frozen=True):
    """A kernel of one shape whose later calls take longer."""

    row: int
    """Its first activity in ``trace.kernels``."""
    calls: int
    device_ns: int
    first_ns: int
    """Median of the first third of its calls."""
    last_ns: int
    extra_ns: int
    """The time of its calls above the first third's median."""
    longest: int

    @property
    def factor(self) -> float:
        """Return how many times longer the last third takes."""
        return self.last_ns / max(self.first_ns, 1)


class Slowdowns(Struct, frozen=True):
    """Slower kernels, and the time that could be judged."""

    kernels: tuple[Slowdown, ...]
    """The most time above first."""
    judged: int
    """Kernels of one shape with enough calls."""
    judged_ns: int
    slower_ns: int
    """The part of ``judged_ns`` of those that became slower."""
    faster_ns: int
    """The same of those that became faster, by the same test."""

    @property
    def of_device(self) -> bool:
        """Return whether the device became slower, not single kernels."""
        most = self.slower_ns >= DEVICE_SHARE * self.judged_ns and self.slower_ns > 0
        return most and len(self.kernels) > 1 and self.faster_ns < _MOST_FASTER * self.slower_ns


class _Calls(Table, frozen=True):
    """Undisturbed calls of kernels with a known shape, by group and time."""

    row: I64
    group: I64
    third: I8
    shortest_ns: I64
    duration_ns: I64
    longest_ns: I64


def slowdowns(trace: Trace, chosen: Bools) -> Slowdowns:
    """Return the kernels among the chosen activities that became slower."""
    calls, groups = _calls(trace, chosen)
    if not groups:
        return Slowdowns((), 0, 0, 0, 0)
    total = sums(calls.group, calls.duration_ns, groups)
    first, middle, last = (_quantiles(calls, calls.duration_ns, k, 0.5) for k in range(_THIRDS))
    slower = _later_longer(calls, calls.shortest_ns, calls.longest_ns)
    slower &= (first <= middle) & (middle <= last) & (last >= LEAST_FACTOR * first)
    # The same with the times turned round.
    faster = _later_longer(calls, -calls.longest_ns, -calls.shortest_ns)
    faster &= (first >= middle) & (middle >= last) & (first >= LEAST_FACTOR * last)
    kernels = trace.kernels
    least = _LEAST_SHARE * int((kernels.end_ns - kernels.start_ns)[chosen].sum())
    number = np.bincount(calls.group, minlength=groups)
    named = np.flatnonzero(slower & (total >= least)).tolist()
    found = [
        Slowdown(
            row=int(rows[0]),
            calls=int(number[i]),
            device_ns=int(total[i]),
            first_ns=int(first[i]),
            last_ns=int(last[i]),
            extra_ns=max(int(total[i] - number[i] * first[i]), 0),
            longest=int(rows[np.argmax((kernels.end_ns - kernels.start_ns)[rows])]),
        )
        for i in named
        for rows in [calls.row[calls.group == i]]
    ]
    return Slowdowns(
        kernels=tuple(sorted(found, key=lambda one: -one.extra_ns)),
        judged=groups,
        judged_ns=int(total.sum()),
        slower_ns=int(total[slower].sum()),
        faster_ns=int(total[faster].sum()),
    )


def _calls(trace: Trace, chosen: Bools) -> tuple[_Calls, int]:
    """Return the calls that can be judged, and the number of their groups."""
    kernels = trace.kernels
    bound = kernels.duration_bound_ns
    shapes = lookup(trace.ops.shapes, kernels.op, NONE)
    same = (shapes >= 0) | (kernels.capture >= 0)
    fit = chosen & same & undisturbed(trace) & (bound != MISSING)
    fit &= (kernels.kind == KERNEL) & ~kernels.communication
    rows = np.flatnonzero(fit)
    table = kernels.take(rows)
    columns = (table.name, operator_names(trace, table), shapes[rows], table.config, table.capture)
    _, group = group_rows(*columns, trace.lanes.device[table.lane])
    number = np.bincount(group)
    rows, group = rows[number[group] >= LEAST_CALLS], group[number[group] >= LEAST_CALLS]
    _, group = group_rows(group)
    order = np.argsort(group, kind="stable")  # rows are by start
    rows, group = rows[order], group[order]
    number = np.bincount(group)
    place = np.arange(len(group)) - (np.cumsum(number) - number)[group]
    duration = (kernels.end_ns - kernels.start_ns)[rows]
    error = bound[rows] + device_rates(trace).resolution_ns
    return _Calls(
        row=rows,
        group=group,
        third=(place * _THIRDS // number[group]).astype(np.int8),
        shortest_ns=duration - error,
        duration_ns=duration,
        longest_ns=duration + error,
    ), len(number)


def _later_longer(calls: _Calls, late_ns: I64, early_ns: I64) -> Bools:
    """Return which groups have greater values in the last third than in the first."""
    apart = _quantiles(calls, late_ns, _THIRDS - 1, 0.25) > _quantiles(calls, early_ns, 0, 0.75)
    longer: Bools = apart & (_scores(calls, late_ns, early_ns) >= LEAST_SCORE)
    return longer


def _scores(calls: _Calls, late_ns: I64, early_ns: I64) -> F64:
    """Return by group the score of the rank test of the last against the first third.

    Equal values count as the order that speaks against it.
    """
    here = np.flatnonzero(calls.third != 1)
    group, late = calls.group[here], calls.third[here] > 1
    values = np.where(late, late_ns[here], early_ns[here])
    order = np.lexsort((~late, values, group))
    group, late = group[order], late[order]
    count, lates = np.bincount(group), np.bincount(group, late)
    rank = np.arange(len(group)) - (np.cumsum(count) - count)[group] + 1
    wins: F64 = np.bincount(group, rank * late) - lates * (lates + 1) / 2
    both = lates * (count - lates)
    score: F64 = (wins - both / 2) / np.sqrt(both * (count + 1) / 12)
    return score


def _quantiles(calls: _Calls, values: I64, third: int, share: float) -> I64:
    """Return a quantile of each group's values in a third."""
    here = calls.third == third
    ordered = sort_groups(calls.group[here], values[here], int(calls.group[-1]) + 1)
    return ordered.quantile(share, MISSING).astype(np.int64)
