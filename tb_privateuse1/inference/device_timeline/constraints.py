"""Solve difference constraints on a chain of events with nested spans, in near-linear time.

Events follow each other. Between neighbors (a segment) and between the first and the last event
of a node lies a time that is at least ``low`` and at most ``high``. Nodes are disjoint or nested,
so that the constraints need no sweeps over the chain. Spans are summed from the leaves up, and the
rest of a parent is shared among its parts from the root down. Then absolute bounds travel the same
way, inside a level by running maxima. Every pass is sound by itself: it only removes what the
constraints exclude.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64, Bools

UNKNOWN = 1 << 40
"""A span (18 minutes in ns) that stands for an unknown largest time."""

_MOST = 1 << 62
"""Sums of times on a level must stay below this: int64."""


@dataclass(frozen=True)
class Level:
    """The series of points inside some nodes of one depth: own events and those of the children.

    ``point`` are positions of events; ``first`` and ``last`` index ``point`` per node (its own
    start and end), ``size`` counts its points, ``node`` is its number (``NONE`` for the root,
    which has no events). The step ``k`` leads from point ``k - 1`` to ``k``; ``step`` is its row in
    the tables of ``Spans``, an empty one at the beginning of a node.
    """

    point: I64
    step: I64
    first: I64
    last: I64
    size: I64
    node: I64

    @property
    def is_root(self) -> bool:
        """Return whether these are the points outside all nodes."""
        return bool(self.node[0] == NONE)


@dataclass(frozen=True)
class Tree:
    """The levels, each before those inside its nodes, and the nodes without points inside.

    These ``leaves`` have no level: such a node is its one segment, which ends with the event
    ``leaf_end``.
    """

    levels: list[Level]
    leaves: I64
    leaf_end: I64


@dataclass(frozen=True)
class Spans:
    """Least and largest time of each segment and node (between its events), in ns.

    The tables ``low`` and ``high`` have a row per segment (``p`` lies between the events ``p - 1``
    and ``p``), then one per node, then one of length 0.
    """

    low: I64
    high: I64
    segments: int
    paths: tuple[Path, ...]
    """Per level."""

    @property
    def segment_low(self) -> I64:
        """Least time of each segment."""
        return self.low[: self.segments]

    @property
    def segment_high(self) -> I64:
        """Largest time of each segment, ``UNKNOWN`` or more if there is none."""
        return self.high[: self.segments]

    @property
    def node_low(self) -> I64:
        """Least time of each node."""
        return self.low[self.segments : -1]

    @property
    def node_high(self) -> I64:
        """Largest time of each node."""
        return self.high[self.segments : -1]


@dataclass(frozen=True)
class Path:
    """Sums along a level, from its beginning to each point, and the times of its nodes.

    ``least`` and ``most`` are of the least and largest times of the steps; ``spare`` is their
    difference. ``most`` is None if the sums grow too large: then it bounds nothing.
    """

    least: I64
    most: I64 | None
    spare: I64
    node_low: I64
    node_high: I64


def tighten_spans(
    tree: Tree,
    node_low: I64,
    node_high: I64,
    segment_low: I64,
    segment_high: I64,
    reach: int = UNKNOWN,
) -> tuple[Spans, Bools]:
    """Return the tightest spans of nodes and segments, and the segments with wrong limits.

    The arguments are the limits of each by itself; they are not changed. If a node contradicts its
    parts, its own segments lose their limits. ``reach`` exceeds the time from any event to the next
    in any bound on them.
    """
    empty = np.zeros(1, np.int64)
    low = np.concatenate((segment_low, node_low, empty))
    high = np.concatenate((segment_high, node_high, empty))
    segments = len(segment_low)
    doubted = np.zeros(segments, np.bool_)
    leaf, own = tree.leaves + segments, tree.leaf_end
    crossed = (low[leaf] > high[own]) | (high[leaf] < low[own])
    wrong = own[crossed]
    low[wrong], high[wrong], doubted[wrong] = 0, UNKNOWN, True
    low[leaf] = np.maximum(low[leaf], low[own])
    high[leaf] = np.maximum(np.minimum(high[leaf], high[own]), low[leaf])
    for level in reversed(tree.levels):
        if level.is_root:
            continue
        node = level.node + segments
        least, most = _sums(level, low, high)
        crossed = (low[node] > most) | (high[node] < least)
        if crossed.any():
            # The limits of the node's own segments are wrong: drop them.
            own = level.step[np.repeat(crossed, level.size)]
            own = own[own < segments]
            low[own], high[own], doubted[own] = 0, UNKNOWN, True
            least, most = _sums(level, low, high)
        low[node] = np.maximum(low[node], least)
        high[node] = np.maximum(np.minimum(high[node], np.minimum(most, UNKNOWN)), low[node])
    paths = []
    for level in tree.levels:
        least, most = low[level.step], high[level.step]
        if not level.is_root:
            node = level.node + segments
            whole = np.where(high[node] < UNKNOWN, high[node], _MOST >> 1)
            lacking = low[node] - np.add.reduceat(most, level.first)
            room = whole - np.add.reduceat(least, level.first)
            lacking, room = np.repeat(lacking, level.size), np.repeat(room, level.size)
            lacking += most
            room += least
            least = np.maximum(least, np.minimum(lacking, most))
            most = np.minimum(most, np.maximum(room, least))
            low[level.step], high[level.step] = least, most
            low[-1] = high[-1] = 0
        paths.append(_path(level, least, most, low[segments:], high[segments:], reach))
    low[tree.leaf_end], high[tree.leaf_end] = low[leaf], high[leaf]
    return Spans(low, high, segments, tuple(paths)), doubted


def earliest_times(tree: Tree, spans: Spans, low: I64) -> I64:
    """Return the least times that are not before ``low`` and satisfy all spans."""
    low = low.copy()
    both = list(zip(tree.levels, spans.paths, strict=True))
    for level, path in both[:0:-1]:
        # From the leaves up, only a node's two events matter to the nodes around it.
        at = _not_before(low[level.point], path)
        first, last = at[level.first], at[level.last]
        last = np.maximum(last, first + path.node_low)
        at[level.last] = last
        low[level.point] = at
        low[level.point[level.first]] = np.maximum(first, last - path.node_high)
    for level, path in both:
        low[level.point] = _not_before(low[level.point], path)
    return low


def latest_times(tree: Tree, spans: Spans, high: I64) -> I64:
    """Return the largest times that are not after ``high`` and satisfy all spans."""
    high = high.copy()
    both = list(zip(tree.levels, spans.paths, strict=True))
    for level, path in both[:0:-1]:
        at = _not_after(high[level.point], path)
        first, last = at[level.first], at[level.last]
        first = np.minimum(first, last - path.node_low)
        at[level.first] = first
        high[level.point] = at
        high[level.point[level.last]] = np.minimum(last, first + path.node_high)
    for level, path in both:
        high[level.point] = _not_after(high[level.point], path)
    return high


def _not_before(at: I64, path: Path) -> I64:
    """Raise the times of a level's points until its steps are satisfied; may change ``at``."""
    # Less the sums of least times, points may not decrease; less those of largest times, they may
    # not increase.
    at -= path.least
    np.maximum.accumulate(at, out=at)
    if path.most is None:
        at += path.least
        return at
    at -= path.spare
    at = np.maximum.accumulate(at[::-1])[::-1]
    at += path.most
    return at


def _not_after(at: I64, path: Path) -> I64:
    """Lower the times of a level's points until its steps are satisfied; may change ``at``."""
    at -= path.least
    at = np.minimum.accumulate(at[::-1])[::-1]
    if path.most is None:
        at += path.least
        return at
    at -= path.spare
    np.minimum.accumulate(at, out=at)
    at += path.most
    return at


def _sums(level: Level, low: I64, high: I64) -> tuple[I64, I64]:
    """Return the least and largest sum of the steps of each node."""
    return (
        np.add.reduceat(low[level.step], level.first),
        np.add.reduceat(high[level.step], level.first),
    )


def _path(level: Level, low: I64, high: I64, node_low: I64, node_high: I64, reach: int) -> Path:
    """Return the sums along a level. Between nodes, only the order is known."""
    least = np.cumsum(low)
    inside = node_low[level.node], node_high[level.node]
    if len(low) * reach >= _MOST:
        return Path(least, None, least, *inside)
    # No step takes longer than ``reach``, so that it stands for an unknown limit.
    high = np.where(high < UNKNOWN, high, reach)
    high[level.first] = reach
    most = np.cumsum(high)
    return Path(least, most, most - least, *inside)
