"""Solve difference constraints on a chain of events with nested spans, in near-linear time.

Events follow each other. Between neighbors (a segment) and between the first and the last event
of a node lies a time that is at least ``low`` and at most ``high``. Nodes are disjoint or nested,
so that the constraints need no sweeps over the chain. Spans are summed from the leaves up, and the
rest of a parent is shared among its parts from the root down. Then absolute bounds travel the same
way, inside a level by running maxima. Every pass is sound by itself: it only removes what the
constraints exclude.
"""

from __future__ import annotations

import itertools
from typing import Self

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import HALF_INT64, I64, Bools

UNKNOWN = 1 << 40
"""A span (18 minutes in ns) that stands for an unknown largest time."""

_ROWS, _LONG = 8, 1 << 13
"""The points of a column, and the least points of a level that has columns of more than one."""


class TreeLevel(Struct, frozen=True):
    """The series of points inside some nodes of one depth: own events and those of the children.

    ``first`` and ``last`` are the numbers of the points that are a node's own start and end,
    ``size`` counts its points, ``node`` is its number (``NONE`` for the root, which has no events).
    The step ``k`` leads from point ``k - 1`` to ``k``; ``step`` is its row in the tables of
    ``Spans``, an empty one at the beginning of a node.

    ``grid`` are the positions of the points' events, column by column; the last one fills up the
    last column. So a running maximum is one of whole rows, which a processor does several times as
    fast as one value after the other. ``edge_at`` are the places in the flat grid of all ``first``,
    all ``last`` and those filled up, ``edge_event`` their events.
    """

    step: I64
    first: I64
    last: I64
    size: I64
    node: I64
    grid: I64
    edge_at: I64
    edge_event: I64

    @classmethod
    def of_points(cls, point: I64, step: I64, first: I64, last: I64, node: I64) -> Self:
        """Return the level of some points: the positions of their events."""
        count = len(point)
        rows = _ROWS if count >= _LONG else 1
        columns = -(-count // rows)
        grid = _by_columns(point, (rows, columns))
        number = np.concatenate((first, last, np.arange(count, grid.size)))
        at = number % rows * columns + number // rows
        return cls(step, first, last, last - first + 1, node, grid, at, grid.reshape(-1)[at])

    @property
    def point(self) -> I64:
        """Return the positions of the points' events, in order."""
        return self.grid.T.reshape(-1)[: len(self.step)]

    @property
    def is_root(self) -> bool:
        """Return whether these are the points outside all nodes."""
        return bool(self.node[0] == NONE)


class Tree(Struct, frozen=True):
    """The levels, each before those inside its nodes, and the nodes without points inside.

    These ``leaves`` have no level: such a node is its one segment, which ends with the event
    ``leaf_end``.
    """

    levels: list[TreeLevel]
    leaves: I64
    leaf_end: I64


class Spans(Struct, frozen=True):
    """Least and largest time of each segment and node (between its events), in ns.

    The tables ``low`` and ``high`` have a row per segment (``p`` lies between the events ``p - 1``
    and ``p``), then one per node, then one of length 0.
    """

    low: I64
    high: I64
    segments: int
    paths: tuple[Path, ...] = ()
    """Per level, if they are asked for times: they need the memory of all spans."""

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


class Path(Struct, frozen=True):
    """Sums along a level, from its beginning to each point, and the times of its nodes.

    ``least`` are of the least times of the steps, in the level's grid; ``spare`` is what those of
    the largest times exceed them by, or None if the sums grow too large: then nothing is bounded.
    """

    least: I64
    spare: I64 | None
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
    parts = []
    for level in tree.levels[:0:-1]:
        node = level.node + segments
        part = _parts(level, low, high)
        crossed = (low[node] > part.most_sum) | (high[node] < part.least_sum)
        if crossed.any():
            # The limits of the node's own segments are wrong: drop them.
            own = level.step[np.repeat(crossed, level.size)]
            own = own[own < segments]
            low[own], high[own], doubted[own] = 0, UNKNOWN, True
            part = _parts(level, low, high)
        low[node] = np.maximum(low[node], part.least_sum)
        most = np.minimum(part.most_sum, UNKNOWN)
        high[node] = np.maximum(np.minimum(high[node], most), low[node])
        parts.append(part)
    for level in tree.levels:
        if level.is_root:
            continue
        node = level.node + segments
        low[level.step], high[level.step] = _share(level, parts.pop(), low[node], high[node])
        low[-1] = high[-1] = 0
    low[tree.leaf_end], high[tree.leaf_end] = low[leaf], high[leaf]
    return with_paths(tree, Spans(low, high, segments), reach), doubted


def with_paths(tree: Tree, spans: Spans, reach: int) -> Spans:
    """Return the spans with their sums along each level, which earliest and latest times need.

    ``reach`` exceeds the time from any event to the next in any bound on them.
    """
    paths = [_path(level, spans, reach) for level in tree.levels]
    return replace(spans, paths=tuple(paths))


def earliest_times(tree: Tree, spans: Spans, low: I64) -> I64:
    """Return the least times that are not before ``low`` and satisfy all spans."""
    low = low.copy()
    both = list(zip(tree.levels, spans.paths, strict=True))
    inside = []
    for level, path in both[:0:-1]:
        # From the leaves up, only a node's two events matter to the nodes around it.
        at = low[level.grid]
        _not_before(at, path)
        first, last = _edges(level, at)
        last = np.maximum(last, first + path.node_low)
        _set_edges(level, low, np.maximum(first, last - path.node_high), last)
        inside.append(at)
    for level, path in both:
        at = low[level.grid] if level.is_root else inside.pop()
        at.reshape(-1)[level.edge_at] = low[level.edge_event]
        _not_before(at, path)
        low[level.grid] = at
    return low


def latest_times(tree: Tree, spans: Spans, high: I64) -> I64:
    """Return the largest times that are not after ``high`` and satisfy all spans."""
    high = high.copy()
    both = list(zip(tree.levels, spans.paths, strict=True))
    inside = []
    for level, path in both[:0:-1]:
        at = high[level.grid]
        _not_after(at, path)
        first, last = _edges(level, at)
        first = np.minimum(first, last - path.node_low)
        _set_edges(level, high, first, np.minimum(last, first + path.node_high))
        inside.append(at)
    for level, path in both:
        at = high[level.grid] if level.is_root else inside.pop()
        at.reshape(-1)[level.edge_at] = high[level.edge_event]
        _not_after(at, path)
        high[level.grid] = at
    return high


def _edges(level: TreeLevel, at: I64) -> tuple[I64, I64]:
    """Return the times of the first and the last points of a level's nodes."""
    count = len(level.node)
    edges = at.reshape(-1)[level.edge_at[: 2 * count]]
    return edges[:count], edges[count:]


def _set_edges(level: TreeLevel, time: I64, first: I64, last: I64) -> None:
    """Set the times of the events at both ends of a level's nodes."""
    count = len(level.node)
    time[level.edge_event[:count]] = first
    time[level.edge_event[count : 2 * count]] = last


def _not_before(at: I64, path: Path) -> None:
    """Raise the times of a level's points until its steps are satisfied; in place."""
    # Less the sums of least times, points may not decrease; less those of largest times, they may
    # not increase.
    at -= path.least
    _accumulate(np.maximum, at)
    if path.spare is not None:
        at -= path.spare
        _accumulate_back(np.maximum, at)
        at += path.spare
    at += path.least


def _not_after(at: I64, path: Path) -> None:
    """Lower the times of a level's points until its steps are satisfied; in place."""
    at -= path.least
    _accumulate_back(np.minimum, at)
    if path.spare is not None:
        at -= path.spare
        _accumulate(np.minimum, at)
        at += path.spare
    at += path.least


def _accumulate(extreme: np.ufunc, at: I64) -> None:
    """Replace each value of a grid by the extreme of those up to it; in place."""
    for before, row in itertools.pairwise(at):
        extreme(before, row, out=row)
    done = at[-1]
    extreme.accumulate(done, out=done)
    extreme(at[:-1, 1:], done[:-1], out=at[:-1, 1:])


def _accumulate_back(extreme: np.ufunc, at: I64) -> None:
    """Replace each value of a grid by the extreme of those from it on; in place."""
    for after, row in itertools.pairwise(at[::-1]):
        extreme(after, row, out=row)
    done = at[0, ::-1]
    extreme.accumulate(done, out=done)
    extreme(at[1:, :-1], at[0, 1:], out=at[1:, :-1])


class _Parts(Struct, frozen=True):
    """Least and largest time of a level's steps, and their sums per node."""

    least: I64
    most: I64
    least_sum: I64
    most_sum: I64


def _parts(level: TreeLevel, low: I64, high: I64) -> _Parts:
    least, most = low[level.step], high[level.step]
    return _Parts(
        least,
        most,
        np.add.reduceat(least, level.first),
        np.add.reduceat(most, level.first),
    )


def _share(level: TreeLevel, parts: _Parts, low: I64, high: I64) -> tuple[I64, I64]:
    """Return the limits of a level's steps by those of its nodes: what the other parts leave."""
    least, most = parts.least, parts.most
    whole = np.where(high < UNKNOWN, high, HALF_INT64 >> 1)
    lacking = np.repeat(low - parts.most_sum, level.size)
    room = np.repeat(whole - parts.least_sum, level.size)
    lacking += most
    room += least
    least = np.maximum(least, np.minimum(lacking, most))
    return least, np.minimum(most, np.maximum(room, least))


def _path(level: TreeLevel, spans: Spans, reach: int) -> Path:
    """Return the sums along a level. Between nodes, only the order is known."""
    low, high = spans.low[level.step], spans.high[level.step]
    shape = level.grid.shape
    least = _by_columns(np.cumsum(low), shape)
    inside = spans.node_low[level.node], spans.node_high[level.node]
    if len(low) * reach >= HALF_INT64:
        return Path(least, None, *inside)
    # No step takes longer than ``reach``, so that it stands for an unknown limit.
    high = np.where(high < UNKNOWN, high, reach)
    high[level.first] = reach
    spare = _by_columns(np.cumsum(high), shape)
    spare -= least
    return Path(least, spare, *inside)


def _by_columns(values: I64, shape: tuple[int, ...]) -> I64:
    """Return the values in a grid, column by column; the last one fills up the last column."""
    rows, columns = shape
    last = np.repeat(values[-1:], rows * columns - len(values))
    return np.concatenate((values, last)).reshape(columns, rows).T.copy()
