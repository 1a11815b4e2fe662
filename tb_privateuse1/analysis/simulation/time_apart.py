"""Keep start-up, drain and the profiler's end constant in a replay: no gain counts there.

A gain is one of the judged time. So no change and no assumption reaches what is apart from it.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.simulation.dependency_graph import Graph
from tb_privateuse1.analysis.simulation.profiler_time import Shares
from tb_privateuse1.analysis.simulation.replay import Weights
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64, Bools


class TimeApart(Struct, frozen=True):
    """The nodes of a graph, and their shares, in the time that is not judged."""

    gap: Shares
    """Share of the time before each point; of an activity, 1 if it is there."""
    length: Shares
    """Share of each activity."""
    is_there: Bools
    """The node happens there."""
    target: I64
    """The node at which each edge ends."""

    def hold(self, was: Weights, now: Weights) -> Weights:
        """Return new weights, but the old ones in the time apart."""
        return Weights(
            length=_mixed(was.length, now.length, self.length),
            gap=_mixed(was.gap, now.gap, self.gap),
            delay=np.where(self.is_there, was.delay, now.delay),
            edge_gap=np.where(self.is_there[self.target], was.edge_gap, now.edge_gap),
            at=np.where(self.is_there, was.at, now.at),
            events=now.events + self.gap * (was.events - now.events),
        )


def find_apart(graph: Graph, apart: intervals.Set) -> TimeApart | None:
    """Return the nodes and shares in a set of times; None without any."""
    if not len(apart[0]):
        return None
    points, time, length = graph.points, graph.time_ns, graph.weights.length
    # A point ends the time before it, an activity begins its own.
    instant = time - (np.arange(len(time)) < len(points))
    is_there = intervals.covered_length(apart, instant, instant + 1) > 0
    gap = is_there.astype(np.float64)
    since = np.where(points.before >= 0, points.at_ns[points.before], points.at_ns)
    before = np.maximum(points.at_ns - since, 1)
    gap[: len(points)] = intervals.covered_length(apart, since, points.at_ns) / before
    covered = intervals.covered_length(apart, time, time + length) / np.maximum(length, 1)
    return TimeApart(gap, covered, is_there, graph.edges.target)


def _mixed(was: I64, now: I64, share: Shares) -> I64:
    mixed: I64 = now + np.rint(share * (was - now)).astype(np.int64)
    return mixed
