"""Align the clocks of all ranks by their common collectives.

No rank leaves a symmetric collective before all have arrived, so all leave at about the same time.
Each clock is shifted until these ends agree best. Medians come first, so that wrongly matched calls
have no effect and are detected; then least squares over the others. The remaining residual is the
accuracy of any comparison across ranks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.ranks.collectives import MatchedCalls, RankPart
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import maxima, minima
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.statistics import COVERED, medians, sort_groups
from tb_privateuse1.trace.table import F64, I64, Bools

_ROUNDS = 60
"""Of groups that cross (64 and 128 simulated ranks with 2 µs of noise) they leave 0.5 µs, as 10,000
rounds do. Ranks that only a long chain of pairs ties need more."""
_CLOSE_NS = 0.05
"""A shift that moves less does not change when it is rounded to ns. Ten times as much changes no
verdict of 60 simulated jobs."""
_ENOUGH = 200
"""Collectives per rank that determine its shift; more would not change it."""
_FAR = 20.0
"""Ends this many times as far apart as good ones (the first quartile) are not of the same
collective ..."""
_SHARE = 0.5
"""... if that is also more than this share of the transfer."""


class Clocks(Struct, frozen=True):
    """Clocks by part, ``MISSING`` without a tie to the reference.

    ``ties`` is always known, and ``apart`` is by match.
    """

    shift_ns: I64
    """Added to the time since a trace's start, it gives the time since the reference's start."""
    offset_ns: I64
    """How far the rank's own clock is ahead of the reference's."""
    residual_ns: I64
    """95 % of the rank's ends agree with those of other ranks within this time."""
    ties: I64
    """Number of collectives in common with other ranks."""
    apart: Bools
    """By match, whether its calls are different collectives: they end at different times, or reduce
    different sizes."""


def align_clocks(parts: Sequence[RankPart], calls: MatchedCalls) -> Clocks:
    """Align all clocks to the first rank of the largest group of tied ranks."""
    n, matches = len(parts), int(calls.match.max(initial=-1)) + 1
    differ = _differ(calls, matches)
    rows = np.flatnonzero((calls.match >= 0) & ~lookup(differ, calls.match, True))
    rank, match = calls.rank[rows].astype(np.int64), calls.match[rows].astype(np.int64)
    ties = np.bincount(rank, minlength=n)
    apart = differ
    group = _tied(rank, match, n)
    sizes = np.bincount(group[ties > 0], minlength=max(n, 1))
    largest = int(sizes.argmax())
    if sizes[largest] < 2:
        missing = np.full(n, MISSING)
        return Clocks(missing, missing.copy(), missing.copy(), ties, apart)
    inside = group[rank] == largest
    rank, match, rows = rank[inside], match[inside], rows[inside]
    end = calls.end_ns[rows].astype(np.float64)
    member = (group == largest) & (ties > 0)
    some = match % max(int(ties[member].min()) // _ENOUGH, 1) == 0
    shift = _shifts(rank[some], match[some], end[some], n)
    spread = _spread(match, end + shift[rank], matches)
    limit = _FAR * float(np.quantile(spread[np.unique(match)], 0.25))
    transfer = np.zeros(matches)
    transfer[match] = calls.transfer_ns[rows]
    apart = differ | (spread > np.maximum(_SHARE * transfer, limit))
    near = ~apart[match]
    shift = _refined(rank[near], match[near], end[near], shift)
    ends = end + shift[rank]
    first = int(np.flatnonzero(member)[0])
    found = np.where(member, np.rint(shift - shift[first]), 0).astype(np.int64)
    base = np.array([part.base_ns for part in parts], np.int64)
    residual = _high(rank[near], _off(match[near], ends[near], matches), n)
    return Clocks(
        np.where(member, found, MISSING),
        np.where(member, base - base[first] - found, MISSING),
        np.where(member & (residual >= 0), residual, MISSING),
        ties,
        apart,
    )


def _differ(calls: MatchedCalls, matches: int) -> Bools:
    """Return by match whether sizes differ between ranks; all-reduces have one size."""
    known = [s.bytes if s.label.kind == "all_reduce" else None for s in calls.shapes]
    by_shape = [*(MISSING if b is None else b for b in known), MISSING]
    sizes = np.array(by_shape, np.int64)[calls.shape]
    rows = np.flatnonzero((calls.match >= 0) & (sizes != MISSING))
    least = minima(calls.match[rows], sizes[rows], matches)
    differ: Bools = maxima(calls.match[rows], sizes[rows], matches, -1) > least
    return differ


def _tied(rank: I64, match: I64, ranks: int) -> I64:
    """Return the lowest rank that each is tied to, also through other ranks."""
    group = np.arange(ranks)
    while True:
        least = minima(match, group[rank], int(match.max(initial=-1)) + 1)
        lower = group.copy()
        np.minimum.at(lower, rank, least[match])
        if (lower == group).all():
            return group
        group = lower


def _shifts(rank: I64, match: I64, end: F64, ranks: int) -> F64:
    """Return shifts by alternating medians: the end of a collective, the shift of a rank."""
    shift = np.zeros(ranks)
    collectives, of_match = np.unique(match, return_inverse=True)
    of_collectives, of_ranks = _Groups(of_match, len(collectives)), _Groups(rank, ranks)
    for _ in range(_ROUNDS):
        common = of_collectives.medians(end + shift[rank])
        better = of_ranks.medians(common[of_match] - end)
        moved = float(np.abs(better - shift).max(initial=0.0))
        shift = better
        if moved < _CLOSE_NS:
            break
    return shift


def _refined(rank: I64, match: I64, end: F64, shift: F64) -> F64:
    """Return shifts by alternating means, starting from the medians' result."""
    collectives = int(match.max(initial=-1)) + 1
    in_match = np.maximum(np.bincount(match, minlength=collectives), 1)
    of_rank = np.bincount(rank, minlength=len(shift))
    for _ in range(_ROUNDS):
        common = np.bincount(match, end + shift[rank], collectives) / in_match
        better = np.bincount(rank, common[match] - end, len(shift)) / np.maximum(of_rank, 1)
        better = np.where(of_rank > 0, better, shift)
        moved = float(np.abs(better - shift).max(initial=0.0))
        shift = better
        if moved < _CLOSE_NS:
            break
    return shift


class _Groups:
    """Values in groups, of which medians are asked again and again."""

    def __init__(self, group: I64, groups: int) -> None:
        self._group = group
        self._count = np.bincount(group, minlength=groups)
        self._order = np.argsort(group, kind="stable")

    def medians(self, values: F64) -> F64:
        """Return the median of each group; 0 for an empty one."""
        count = self._count
        if len(values) and (count == count[0]).all():  # all ranks in all collectives: no sorting
            equal: F64 = np.median(values[self._order].reshape(len(count), -1), axis=1)
            return equal
        return medians(self._group, values, len(count))


def _spread(match: I64, ends: F64, matches: int) -> F64:
    """Return the difference between the last and first end of each collective."""
    least, most = minima(match, ends, matches, np.inf), maxima(match, ends, matches, -np.inf)
    return np.where(np.isfinite(least), most - least, 0.0)


def _off(match: I64, ends: F64, matches: int) -> F64:
    """Return the distance of each end from the mean end of its collective."""
    mean = np.bincount(match, ends, matches) / np.maximum(np.bincount(match, minlength=matches), 1)
    off: F64 = np.abs(ends - mean[match])
    return off


def _high(rank: I64, off: F64, ranks: int) -> I64:
    """Return by rank the ``COVERED`` quantile of its values; -1 for a rank without values."""
    ordered = sort_groups(rank, off, ranks)
    place = np.ceil(ordered.count * COVERED).astype(np.int64) - 1
    return np.rint(ordered.at(place, -1.0)).astype(np.int64)
