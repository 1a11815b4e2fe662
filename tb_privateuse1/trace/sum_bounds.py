"""Error bounds of sums over durations of activities: worst case and statistical.

The worst case is the sum of all bounds. The statistical bound allows that independent errors
cancel out. What is common to all activities adds; the errors of equal work on equal shapes
(``Kernels.error_group``) add, too, as its duration is seen, or assumed, once for all its calls;
those of different work add as squares. Where nothing of equal work shows its duration, the guess
counts with its whole bound. docs/internals/inference.md, "Bounds of sums", has the
measurements behind each constant, and what would refute them.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace.groupby import group_rows, maxima, sums
from tb_privateuse1.trace.model import MISSING, NONE, Kernels
from tb_privateuse1.trace.table import I32, I64, Bools

GUESSED = -2
"""The first ``Kernels.error_group``, downwards, of durations that nothing of equal work shows."""
COMMON_NS = 2_200
"""The part of each duration's bound that all activities share: gaps and the cost of events.

Gaps of kernels are up to 2.6 us; the estimate of a duration takes 0.4 us off for them.
"""

GROUP_SIGMAS = 0.5
"""The error of equal work, as a share of its bounds, at two standard deviations.

Not where nothing of equal work shows the duration: it may be as wrong as its bound says.
"""

RECORDING_SIGMAS = 0.2
"""The error that all work of a recording shares, as a share of its bounds, at two sigma."""


class SumBound(Struct, frozen=True):
    """The two error bounds of a sum of durations, in ns; the smaller one is shown."""

    worst_ns: int
    statistical_ns: int

    @property
    def bound_ns(self) -> int:
        """The smaller of the two."""
        return min(self.worst_ns, self.statistical_ns)


def sum_bound(bounds_ns: I64, error_group: I32 | I64) -> SumBound | None:
    """Return both bounds of the sum of some durations; None if one of them has no bound.

    The columns have a row per duration: its bound and its ``error_group``.
    """
    if (bounds_ns == MISSING).any():
        return None
    worst = int(bounds_ns.sum())
    if not worst:
        return SumBound(0, 0)
    one = np.zeros(len(bounds_ns), np.int64)
    return SumBound(
        worst, int(_statistical(one, _Parts.of(bounds_ns, error_group), error_group, 1)[0])
    )


def sum_bounds(group: I32 | I64, bounds_ns: I64, error_group: I32 | I64, groups: int) -> I64:
    """Return by group the bound of the sum of its durations; ``MISSING`` if one is not known.

    The other columns have a row per duration: its group (``NONE``: in no sum), its bound and its
    ``error_group``. A row may appear in several groups, each time as a row of its own.
    """
    inside = (group >= 0) & (bounds_ns != 0)
    group, bounds, alike = group[inside], bounds_ns[inside], error_group[inside]
    lost = bounds == MISSING
    bounds = np.where(lost, 0, bounds)
    worst = sums(group, bounds, groups)
    likely = _statistical(group, _Parts.of(bounds, alike), alike, groups)
    unknown = sums(group, lost.astype(np.int64), groups) > 0
    return np.where(unknown, MISSING, np.minimum(worst, likely))


def duration_sum_bounds(group: I32 | I64, kernels: Kernels, groups: int) -> I64:
    """Return by group the bound of the sum of its activities' durations, as ``sum_bounds`` does."""
    return sum_bounds(group, kernels.duration_bound_ns, kernels.error_group, groups)


def tree_bounds(parent: I32, node: I32 | I64, bounds_ns: I64, error_group: I32 | I64) -> I64:
    """Return by node of a tree the bound of the sum of its durations and of those below it.

    ``node`` is each duration's; ``parent`` each node's.
    """
    inside = (node >= 0) & (bounds_ns != 0)
    node, bounds, alike = node[inside], bounds_ns[inside], error_group[inside]
    # Equal work at one node counts as one row, so that few rows climb the tree.
    first, member = group_rows(node, alike)
    lost = sums(member, (bounds == MISSING).astype(np.int64), len(first)) > 0
    parts = _Parts.of(np.where(bounds == MISSING, 0, bounds), alike).sums(member, len(first))
    place, row = _with_ancestors(parent, node[first].astype(np.int64))
    worst = sums(place, (parts.common_ns + parts.rest_ns)[row], len(parent))
    likely = _statistical(place, parts.take(row), alike[first][row], len(parent))
    unknown = sums(place, lost[row].astype(np.int64), len(parent)) > 0
    return np.where(unknown, MISSING, np.minimum(worst, likely))


def _with_ancestors(parent: I32, node: I64) -> tuple[I64, I64]:
    """Return each row's node and all nodes above it, and the row of each of these."""
    row, places, rows = np.arange(len(node)), [], []
    while len(row):
        places.append(node)
        rows.append(row)
        node = parent[node].astype(np.int64)
        row, node = row[node >= 0], node[node >= 0]
    none = np.empty(0, np.int64)
    return np.concatenate([*places, none]), np.concatenate([*rows, none])


class _Parts(Struct, frozen=True):
    """The parts of some bounds: what all durations share, the rest, and the largest bound."""

    common_ns: I64
    rest_ns: I64
    largest_ns: I64

    @classmethod
    def of(cls, bounds_ns: I64, error_group: I32 | I64) -> Self:
        """Return the parts. An activity in no error group was repaired: no errors cancel out."""
        common = np.where(error_group == NONE, bounds_ns, np.minimum(bounds_ns, COMMON_NS))
        return cls(common, bounds_ns - common, bounds_ns)

    def sums(self, group: I64, groups: int) -> Self:
        largest = maxima(group, self.largest_ns, groups)
        common, rest = (sums(group, one, groups) for one in (self.common_ns, self.rest_ns))
        return type(self)(common, rest, largest)

    def take(self, rows: I64) -> Self:
        return type(self)(self.common_ns[rows], self.rest_ns[rows], self.largest_ns[rows])


def _statistical(group: I32 | I64, parts: _Parts, alike: I32 | I64, groups: int) -> I64:
    """Return the statistical bound of each group's sum."""
    first, member = group_rows(group, alike)
    equal_work = sums(member, parts.rest_ns, len(first))
    sigmas = np.where(alike[first] <= GUESSED, 1.0, GROUP_SIGMAS)
    squares = np.bincount(group[first], (sigmas * equal_work) ** 2, groups)
    whole = parts.sums(group.astype(np.int64), groups)
    likely = whole.common_ns + np.sqrt(squares + (RECORDING_SIGMAS * whole.rest_ns) ** 2)
    # No sum is better known than the worst-known of its parts.
    return np.maximum(np.ceil(likely).astype(np.int64), whole.largest_ns)


def error_groups(guessed: Bools, name: I32, *columns: I32) -> I32:
    """Return one number per distinct name and columns: the ``error_group`` of each activity.

    Those whose duration is ``guessed`` have numbers of their own, from ``GUESSED`` down.
    """
    _, member = group_rows(name, *columns)
    return np.where(guessed, GUESSED - member, member).astype(np.int32)
