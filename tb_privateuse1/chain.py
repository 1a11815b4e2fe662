"""Bounds on a chain of instants whose nested spans are known within limits, near-linear.

Instants ("marks") follow each other. Between neighbours (a segment) and between the first and the
last mark of a node lies a time that is at least ``low`` and at most ``high``. Nodes are disjoint
or nested, so that these difference constraints need no sweeps over the chain: spans are summed
from the leaves up, and what a parent leaves is shared from the root down; then absolute bounds
travel the same way, inside a level by running maxima. Every pass is sound by itself: it only
takes away what the constraints exclude.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.trace import I64, NONE, Bools

UNKNOWN = 1 << 40
"""A span (18 minutes in ns) that stands for: no largest time is known."""


@dataclass(frozen=True)
class Level:
    """The series of points inside all nodes of one depth: own marks and those of the children.

    ``point`` are positions of marks; ``first`` and ``last`` index ``point`` per node (its own
    start and end), ``node`` its number (``NONE`` for the root, which has no marks), ``group`` the
    node of each point. ``child`` is the node whose start and end a step connects, ``NONE`` for a
    segment; the step ``k`` leads from point ``k - 1`` to ``k`` (unused at ``first``).
    """

    point: I64
    group: I64
    first: I64
    last: I64
    node: I64
    child: I64


@dataclass(frozen=True)
class Spans:
    """Least and largest time of each node (between its marks) and of each segment.

    Segment ``p`` lies between the marks ``p - 1`` and ``p``.
    """

    node_low: I64
    node_high: I64
    segment_low: I64
    segment_high: I64
    paths: tuple[tuple[I64, I64, I64], ...]
    """Per level: least and largest time from its beginning to each point, and the unbroken part."""


def spans(
    levels: list[Level], node_low: I64, node_high: I64, segment_low: I64, segment_high: I64
) -> tuple[Spans, Bools]:
    """The tightest spans of nodes and segments, and the segments of which too much was said.

    The arguments are what is known of each by itself; they are not changed. Where a node
    contradicts its parts, its own segments lose their limits.
    """
    node_low, node_high = node_low.copy(), node_high.copy()
    segment_low, segment_high = segment_low.copy(), segment_high.copy()
    doubted = np.zeros(len(segment_low), np.bool_)
    for level in reversed(levels):
        if level.node[0] == NONE:
            continue
        low, high = _steps(level, node_low, node_high, segment_low, segment_high)
        least, most = np.add.reduceat(low, level.first), np.add.reduceat(high, level.first)
        node = level.node
        crossed = (node_low[node] > most) | (node_high[node] < least)
        if crossed.any():
            # What is said of the node's own segments is wrong: nothing is known of them.
            own_step = crossed[level.group] & (level.child < 0)
            own_step[level.first] = False
            own = level.point[own_step]
            segment_low[own], segment_high[own], doubted[own] = 0, UNKNOWN, True
            low, high = _steps(level, node_low, node_high, segment_low, segment_high)
            least, most = np.add.reduceat(low, level.first), np.add.reduceat(high, level.first)
        node_low[node] = np.maximum(node_low[node], least)
        node_high[node] = np.minimum(node_high[node], np.minimum(most, UNKNOWN))
        node_high[node] = np.maximum(node_high[node], node_low[node])
    for level in levels:
        if level.node[0] == NONE:
            continue
        low, high = _steps(level, node_low, node_high, segment_low, segment_high)
        least, most = np.add.reduceat(low, level.first), np.add.reduceat(high, level.first)
        count = level.last - level.first + 1
        spare = np.repeat(node_low[level.node] - most, count) + high
        whole = node_high[level.node]
        room = np.repeat(np.where(whole < UNKNOWN, whole - least, UNKNOWN), count) + low
        low = np.maximum(low, np.minimum(spare, high))
        high = np.minimum(high, np.maximum(room, low))
        step = np.ones(len(low), np.bool_)
        step[level.first] = False
        inner = step & (level.child >= 0)
        node_low[level.child[inner]], node_high[level.child[inner]] = low[inner], high[inner]
        own_step = step & (level.child < 0)
        own = level.point[own_step]
        segment_low[own], segment_high[own] = low[own_step], high[own_step]
    paths = tuple(
        _paths(level, *_steps(level, node_low, node_high, segment_low, segment_high))
        for level in levels
    )
    return Spans(node_low, node_high, segment_low, segment_high, paths), doubted


def earliest(levels: list[Level], known: Spans, low: I64) -> I64:
    """The least times that are not before ``low`` and keep all spans."""
    low = low.copy()
    for level, (least, most, part) in _up_and_down(levels, known):
        at = low[level.point]
        at = np.maximum.accumulate(at - least) + least
        if level.node[0] != NONE:
            ends = at[level.first] + known.node_low[level.node]
            at[level.last] = np.maximum(at[level.last], ends)
        at = running_max((at - most)[::-1], -part[::-1])[::-1] + most
        if level.node[0] != NONE:
            starts = at[level.last] - known.node_high[level.node]
            at[level.first] = np.maximum(at[level.first], starts)
        low[level.point] = np.maximum.accumulate(at - least) + least
    return low


def latest(levels: list[Level], known: Spans, high: I64) -> I64:
    """The greatest times that are not after ``high`` and keep all spans."""
    high = high.copy()
    for level, (least, most, part) in _up_and_down(levels, known):
        at = high[level.point]
        at = np.minimum.accumulate((at - least)[::-1])[::-1] + least
        if level.node[0] != NONE:
            starts = at[level.last] - known.node_low[level.node]
            at[level.first] = np.minimum(at[level.first], starts)
        at = most - running_max(most - at, part)
        if level.node[0] != NONE:
            ends = at[level.first] + known.node_high[level.node]
            at[level.last] = np.minimum(at[level.last], ends)
        high[level.point] = np.minimum.accumulate((at - least)[::-1])[::-1] + least
    return high


def _steps(
    level: Level, node_low: I64, node_high: I64, segment_low: I64, segment_high: I64
) -> tuple[I64, I64]:
    """Least and largest time of each step; 0 where a node begins."""
    inner = level.child >= 0
    row = np.maximum(level.child, 0)
    low = np.where(inner, node_low[row], segment_low[level.point])
    high = np.where(inner, node_high[row], segment_high[level.point])
    low[level.first], high[level.first] = 0, 0
    return low, high


def _up_and_down(levels: list[Level], known: Spans) -> Iterator[tuple[Level, tuple[I64, I64, I64]]]:
    """The levels with their paths, from the leaves to the root and back."""
    both = list(zip(levels, known.paths, strict=True))
    yield from reversed(both)
    yield from both[1:]


def _paths(level: Level, low: I64, high: I64) -> tuple[I64, I64, I64]:
    """Least and largest time from the level's beginning to each point, and the unbroken part.

    From one node to the next nothing is known but the order: the least time is 0, and a new part
    begins, as at every step without a largest time.
    """
    broken: Bools = high >= UNKNOWN
    broken[level.first] = True
    part = np.cumsum(broken).astype(np.int64)
    # Counted from the beginning of each part, so that no sum grows with the trace.
    most = np.cumsum(np.where(broken, 0, high))
    return np.cumsum(low), most - most[np.flatnonzero(broken)][part - 1], part


def running_max(values: I64, part: I64) -> I64:
    """The running maximum within each part; ``part`` never falls."""
    reach = int(values.max()) - int(values.min()) + 1
    part = part - part[0]
    # Parts are kept apart by an offset each; so many at a time as int64 holds.
    most = max((1 << 61) // reach, 1)
    if part[-1] >= most:
        cut = int(np.searchsorted(part, part[len(part) // 2]))
        cut = cut or int(np.searchsorted(part, part[0], side="right"))
        if cut < len(part):
            both = running_max(values[:cut], part[:cut]), running_max(values[cut:], part[cut:])
            return np.concatenate(both)
    offset = part * reach
    result: I64 = np.maximum.accumulate(values + offset) - offset
    return result
