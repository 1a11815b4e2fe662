"""Replay steps without changes, or with changes that others come on top of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.simulation import changes
from tb_privateuse1.analysis.simulation.assumptions import Assumptions, Name, find_assumptions
from tb_privateuse1.analysis.simulation.changes import Change
from tb_privateuse1.analysis.simulation.dependency_graph import Graph
from tb_privateuse1.analysis.simulation.profiler_time import MOST
from tb_privateuse1.analysis.simulation.replay import Weights
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup, previous
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64


def durations_each(
    graph: Graph,
    weights: Sequence[Weights],
    watch: Callable[[Weights, I64], None] | None = None,
) -> Iterator[I64]:
    """Yield the length of each step's window in each of several replays; ``watch`` is shown them.

    It gets the weights, and when each node happens, in ns.
    """
    for one, time in zip(weights, graph.network.replay_each(weights), strict=True):
        if watch is not None:
            watch(one, time)
        yield _lengths(graph, time, one.length)


def _lengths(graph: Graph, time: I64, own: I64) -> I64:
    """Return the steps' lengths for node starts ``time`` and node durations ``own``."""
    begin, end = step_windows(graph, time, own)
    return end - begin


def step_windows(graph: Graph, time: I64, own: I64) -> tuple[I64, I64]:
    """Return the steps' begins and ends for node starts ``time`` and node durations ``own``."""
    first = lookup(time, graph.step_first, 0)
    end = first.copy()
    np.maximum.at(end, graph.end_step, time[graph.end_node] + own[graph.end_node])
    begin = np.maximum(first, previous(np.maximum.accumulate(end), np.iinfo(np.int64).min))
    return begin, np.maximum(end, begin)


class Baseline(Struct, frozen=True):
    """The replays without changes, per step: as recorded, and under each assumption."""

    assumptions: Assumptions
    held: I64
    others: tuple[I64, ...]
    weights: Weights
    """What is replayed: gains are on top of it."""
    earlier: tuple[Change, ...] = ()
    """The changes in it."""

    @property
    def bare(self) -> I64:
        """The lengths without the delays that have no mechanism."""
        return self.others[0]

    @property
    def net(self) -> I64:
        """The lengths that likely gains are of: without the profiler, if its time is known."""
        made = self.assumptions
        return self.others[made.names.index("no_profiler")] if made.is_net else self.held

    def net_ns(self, judged_ns: float, steps: I64) -> float:
        """Return a step's judged time in ns less the profiler's own, the whole of a gain's share.

        The profiler's is the mean of ``steps``, as the replay without it gains it; 0 where it is
        not known.
        """
        taken = float((self.held - self.net)[steps].mean()) if len(steps) else 0.0
        return max(judged_ns - taken, (1 - MOST) * judged_ns, 1.0)


def replay_baseline(
    trace: Trace,
    graph: Graph,
    apart: intervals.Set = intervals.EMPTY,
    *,
    only: Collection[Name] | None = None,
) -> Baseline:
    """Return the replays without changes; the one with delays is the recording.

    No change and no assumption reaches the time ``apart``, which is not judged. ``only`` limits the
    assumptions.
    """
    recorded = _lengths(graph, graph.time_ns, graph.weights.length)
    made = find_assumptions(trace, graph, apart, only=only)
    others = tuple(durations_each(graph, list(made.under(graph.weights))))
    return Baseline(made, recorded, others, graph.weights)


def change_baseline(
    trace: Trace, graph: Graph, base: Baseline, made: tuple[Change, ...]
) -> Baseline:
    """Return the replays with changes: what comes next gains on top of them."""
    changed = changes.apply_changes(graph, trace, made)
    weights = base.assumptions.judged(graph.weights, changed)
    held, *others = durations_each(graph, [weights, *base.assumptions.under(weights)])
    return Baseline(base.assumptions, held, tuple(others), weights, made)
