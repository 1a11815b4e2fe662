"""Place the ranges of a CUDA graph's capture under the host ranges that replay the graph."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.captures import Captures
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, Bools

_NODE = (1 << 32) - 1


class Placed(Struct, frozen=True):
    """The captured ranges at each place of a replay."""

    node: I32
    """Row of ``Captures``."""
    parent: I32
    """Row of this table, ``NONE`` for an outermost range."""
    holder: I32
    """The host range around the replay, ``NONE`` without one."""
    of: I32
    """The row of this table that each activity lies in, or ``NONE``."""


def place_captures(captures: Captures, wanted: Bools, holder: I32, node: I32) -> Placed:
    """Return the wanted captured ranges under the holders of some activities.

    ``node`` is the row of ``captures`` of each activity, ``holder`` any number of its place.
    """
    node = lookup(call_tree.self_or_nearest(captures.parent, wanted), node, NONE)
    up = intervals.nearest(captures.parent, wanted)
    here = np.flatnonzero(node >= 0)
    own = (holder[here].astype(np.int64) + 1) << 32 | node[here]
    key = level = np.unique(own)
    while len(level):
        above = up[level & _NODE]
        level = np.unique((level & ~_NODE | above)[above >= 0])
        level = np.setdiff1d(level, key)
        key = np.union1d(key, level)
    above = up[key & _NODE]
    parent = np.where(above >= 0, np.searchsorted(key, key & ~_NODE | np.maximum(above, 0)), NONE)
    of = np.full(len(node), NONE, np.int32)
    of[here] = np.searchsorted(key, own)
    return Placed(
        (key & _NODE).astype(np.int32),
        parent.astype(np.int32),
        ((key >> 32) - 1).astype(np.int32),
        of,
    )


def first_of_same_path(nodes: call_tree.Nodes) -> I32:
    """Return the first range with the path of each range; ``NONE`` for excluded ones.

    Replays of one line of the program then share their captured ranges.
    """
    rows = np.arange(len(nodes.of) - 1, -1, -1, dtype=np.int32)
    first = np.full(len(nodes), NONE, np.int32)
    of = nodes.of[::-1]
    first[of[of >= 0]] = rows[of >= 0]  # reversed, so that the first is written last
    return lookup(first, nodes.of, NONE)
