"""One clock for all ranks, by the collectives that they have in common.

No rank leaves a symmetric collective before all have come, so that all leave it at about the same
time. Each rank's clock is shifted so that the ends agree best: first by medians, so that calls that
were taken for the same collective and are not move nothing and are found by it, then by least
squares over the others. What is left is the residual: how well anything can be compared across
ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.analysis.ranks.collectives import MatchedCalls, RankPart
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import I64, Bools

Floats = NDArray[np.float64]

_ROUNDS = 60
_CLOSE_NS = 0.05
_ENOUGH = 200
"""So many collectives of each rank tell its shift; more would tell the same."""
_FAR = 20.0
"""Ends so many times as far apart as those of a good one (the first quartile) are not of the same
collective ..."""
_SHARE = 0.5
"""... if that is also more than this share of the transfer."""
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Clocks:
    """By part; all but ``ties`` are ``MISSING`` where a rank has no tie with the reference."""

    shift_ns: I64
    """To be added to the time since a trace's start, for that since the reference's start."""
    offset_ns: I64
    """How far the rank's own clock is ahead of the reference's."""
    residual_ns: I64
    """95 % of its ends agree with those of the other ranks to this."""
    ties: I64
    """Collectives that it has in common with others."""
    apart: Bools
    """By match: its calls ended at different times, or reduce different sizes, and so are not the
    same collective."""


def align_clocks(parts: Sequence[RankPart], calls: MatchedCalls) -> Clocks:
    """The reference is the first rank of those with most others tied together."""
    n, matches = len(parts), int(calls.match.max(initial=-1)) + 1
    differ = _differ(calls, matches)
    rows = np.flatnonzero((calls.match >= 0) & ~np.append(differ, True)[calls.match])
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
    """By match, whether ranks reduce tensors of different sizes: all have the same in one call."""
    told = [s.bytes if s.label.kind == "all_reduce" else None for s in calls.shapes]
    sizes = np.array([*(MISSING if b is None else b for b in told), MISSING], np.int64)[calls.shape]
    rows = np.flatnonzero((calls.match >= 0) & (sizes != MISSING))
    least, most = np.full(matches, np.iinfo(np.int64).max), np.full(matches, -1)
    np.minimum.at(least, calls.match[rows], sizes[rows])
    np.maximum.at(most, calls.match[rows], sizes[rows])
    found: Bools = most > least
    return found


def _tied(rank: I64, match: I64, ranks: int) -> I64:
    """The least rank that each is tied to, over any number of others."""
    group = np.arange(ranks)
    while True:
        least = np.full(int(match.max(initial=-1)) + 1, ranks)
        np.minimum.at(least, match, group[rank])
        lower = group.copy()
        np.minimum.at(lower, rank, least[match])
        if (lower == group).all():
            return group
        group = lower


def _shifts(rank: I64, match: I64, end: Floats, ranks: int) -> Floats:
    """Alternately the median end of each collective and the median shift of each rank."""
    shift = np.zeros(ranks)
    collectives, of_match = np.unique(match, return_inverse=True)
    for _ in range(_ROUNDS):
        common = _medians(of_match, end + shift[rank], len(collectives))
        better = _medians(rank, common[of_match] - end, ranks)
        moved = float(np.abs(better - shift).max(initial=0.0))
        shift = better
        if moved < _CLOSE_NS:
            break
    return shift


def _refined(rank: I64, match: I64, end: Floats, shift: Floats) -> Floats:
    """The same with means, from where the medians have come."""
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


def _medians(group: I64, values: Floats, groups: int) -> Floats:
    """The median of each group; 0 of one without values."""
    order = np.lexsort((values, group))
    ordered = np.append(values[order], 0.0)
    count = np.bincount(group, minlength=groups)
    first = np.cumsum(count) - count
    low, high = first + np.maximum(count - 1, 0) // 2, first + count // 2
    found = (ordered[np.minimum(low, len(values))] + ordered[np.minimum(high, len(values))]) / 2
    return np.where(count > 0, found, 0.0)


def _spread(match: I64, ends: Floats, matches: int) -> Floats:
    """How far the ends of each collective are apart."""
    least, most = np.full(matches, np.inf), np.full(matches, -np.inf)
    np.minimum.at(least, match, ends)
    np.maximum.at(most, match, ends)
    return np.where(np.isfinite(least), most - least, 0.0)


def _off(match: I64, ends: Floats, matches: int) -> Floats:
    """How far each end is from the mean one of its collective."""
    mean = np.bincount(match, ends, matches) / np.maximum(np.bincount(match, minlength=matches), 1)
    off: Floats = np.abs(ends - mean[match])
    return off


def _high(rank: I64, off: Floats, ranks: int) -> I64:
    """By rank, what ``_CONFIDENCE`` of its values do not exceed; -1 of one without values."""
    order = np.argsort(off)
    # numpy sorts small integers in linear time.
    small = rank[order].astype(np.int16 if ranks < 1 << 15 else np.int64)
    order = order[np.argsort(small, kind="stable")]
    count = np.bincount(rank, minlength=ranks)
    first = np.cumsum(count) - count
    at = first + np.maximum(np.ceil(count * _CONFIDENCE).astype(np.int64) - 1, 0)
    ordered = np.append(off[order], 0.0)
    found = np.rint(ordered[np.minimum(at, len(off))]).astype(np.int64)
    return np.where(count > 0, found, -1)
