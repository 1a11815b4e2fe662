"""Replay a change under several assumptions about what the recording does not say.

The truth of a change lies among them, more or less: so a prediction is a range. The central replay
keeps all delays as they were.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.simulation import delays, rank_waits, scopes
from tb_privateuse1.analysis.simulation.dependency_graph import GUESS, WAIT, Graph
from tb_privateuse1.analysis.simulation.launches_and_waits import Ranges
from tb_privateuse1.analysis.simulation.profiler_time import Shares, is_dense, left_ns
from tb_privateuse1.analysis.simulation.replay import NEVER, Weights
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I64, Bools

Name = Literal[
    "no_nameless_delays",
    "no_delays",
    "host_launches",
    "free_queue",
    "no_profiler",
    "costly_profiler",
    "short",
    "long",
]
"""``no_nameless_delays``: nothing delays what no mechanism explains. ``no_delays``: nothing at all
but work from before the recording. ``host_launches``: activities without a recorded launch move
with the host, not with their stream. ``free_queue``: the queue is never full. ``no_profiler``: the
host without the profiler's own time. ``costly_profiler``: without more of it, as much as an event
may take. ``short``, ``long``: inferred activities at their bounds."""

_INPUT_STAYS = 0.25
"""Workers take the data loader's work, but compete with the program for cores. This share of the
time may stay, or the time in which batches are handed over, where that is longer."""


class Assumptions(Struct, frozen=True):
    """The assumptions that make a difference for a trace. All columns are by node."""

    graph: Graph
    names: tuple[Name, ...]
    overhead_is_known: bool
    """The recording is dense enough to estimate the profiler's time."""
    inputs: Shares
    """Share of the host's time before each point that lies in the data loader."""
    handed: Shares
    """The part of it that the hand-over of batches from workers may take."""
    error_ns: I64
    """The error of each activity's duration; all 0 if measured."""
    waiting_ns: I64
    """By node, the time in which it waits for what is not recorded, or for other ranks."""
    apart: TimeApart | None = None
    """What no change and no assumption reaches."""

    def judged(self, weights: Weights, now: Weights) -> Weights:
        """Return new weights, but the first ones where no time is judged."""
        return now if self.apart is None else self.apart.hold(weights, now)

    def under(self, weights: Weights) -> Iterator[Weights]:
        """Yield the weights under each assumption, in the order of ``names``."""
        yield from (self.judged(weights, self._under(name, weights)) for name in self.names)

    def _under(self, name: Name, weights: Weights) -> Weights:
        graph, cause = self.graph, self.graph.delay_cause
        n = len(graph.points)
        match name:
            case "no_nameless_delays":
                return weights.without_delays(np.isin(cause, delays.NAMELESS))
            case "no_delays":
                return weights.without_delays(cause != delays.BEFORE_RECORDING)
            case "host_launches":
                return _host_launches(graph, weights)
            case "free_queue":
                wait = np.where(graph.edges.kind == WAIT, graph.edges.wait, NONE)
                queued = lookup(graph.waits.queue, wait, False)
                freed = weights.without_delays(cause == delays.QUEUE_FULL)
                return replace(freed, edge_gap=np.where(queued, NEVER, freed.edge_gap))
            case "no_profiler":
                return _unprofiled(graph, weights, graph.events.usual_ns)
            case "costly_profiler":
                return _unprofiled(graph, weights, graph.events.most_ns)
            case "short" | "long":
                # A change scales the error with the duration.
                was = np.maximum(graph.weights.length[n:], 1)
                error = np.rint(self.error_ns * (weights.length[n:] / was)).astype(np.int64)
                length = weights.length.copy()
                length[n:] = np.maximum(length[n:] + (error if name == "long" else -error), 0)
                return replace(weights, length=length)

    @property
    def is_net(self) -> bool:
        """Return whether the profiler takes time, and it is known how much."""
        return self.overhead_is_known and "no_profiler" in self.names

    def net(self, weights: Weights) -> Weights:
        """Return weights without the profiler's time, if it is known."""
        if not self.is_net:
            return weights
        return self.judged(weights, self._under("no_profiler", weights))

    def partly_loaded(self, weights: Weights) -> Weights | None:
        """Return weights in which a part of the data loader's saved time stays; None if none is."""
        n = len(self.graph.points)
        was, now = self.graph.weights.gap[:n], weights.gap[:n]
        saved = np.minimum(was - now, np.rint(self.inputs * was))
        if not (saved > 0).any():
            return None
        stays = np.minimum(np.maximum(_INPUT_STAYS * saved, self.handed * was), saved)
        gap = weights.gap.copy()
        gap[:n] += np.rint(np.maximum(stays, 0)).astype(np.int64)
        return replace(weights, gap=gap)

    def waits(self, weights: Weights) -> I64:
        """Return the waits for unknown work and other ranks by node, as the weights scale them."""
        was = self.graph.weights
        now = weights.delay + weights.length
        share = np.minimum(now / np.maximum(was.delay + was.length, 1), 1.0)
        found: I64 = np.rint(self.waiting_ns * share).astype(np.int64)
        return found


def _unprofiled(graph: Graph, weights: Weights, each_ns: float) -> Weights:
    """Return weights without the profiler's time on the host, ``each_ns`` for an event."""
    gap, n, was = weights.gap.copy(), len(graph.points), graph.weights
    before, now = ((one.gap[:n], one.events[:n]) for one in (was, weights))
    gap[:n] = np.rint(gap[:n] - left_ns(before, now, each_ns)).astype(np.int64)
    return replace(weights, gap=gap)


def _host_launches(graph: Graph, weights: Weights) -> Weights:
    """Return weights in which the host launches what has no recorded launch, as late as it was."""
    guess = graph.edges.kind == GUESS
    source, target = graph.edges.source, graph.edges.target
    kept = graph.time_ns[target] - graph.time_ns[source]
    moved = mask_of(target[guess], len(graph.time_ns))
    return replace(
        weights.without_delays(moved),
        edge_gap=np.where(guess, kept, weights.edge_gap),
        at=np.where(moved, NEVER, weights.at),
    )


def find_assumptions(
    trace: Trace,
    graph: Graph,
    apart: intervals.Set = intervals.EMPTY,
    *,
    only: Collection[Name] | None = None,
) -> Assumptions:
    """Return the assumptions for a trace; the first one is ``no_nameless_delays``.

    ``apart`` is the time of its steps that is not judged.
    """
    n, cause, kernels = len(graph.points), graph.delay_cause, trace.kernels
    is_profiled = bool(graph.weights.events.any())
    error = kernels.duration_bound_ns
    inferred = bool(error.any()) and not (error == MISSING).any()
    kept = (*delays.NAMELESS, delays.BEFORE_RECORDING)
    named = (graph.weights.delay > 0) & ~np.isin(cause, kept)
    loads = call_tree.starts_with(trace, call_tree.LOADER)[trace.ops.name]
    waiting = np.zeros(len(cause), np.int64)
    waiting[n:] = rank_waits.rank_waits_ns(trace)
    blocked = cause == delays.BLOCKED
    waiting[blocked] += graph.weights.delay[blocked]
    is_used: dict[Name, bool] = {
        "no_nameless_delays": True,
        "no_delays": bool(named.any()),
        "host_launches": bool((graph.edges.kind == GUESS).any()),
        "free_queue": bool(graph.waits.queue.any()),
        "no_profiler": is_profiled,
        "costly_profiler": is_profiled and is_dense(trace),
        "short": inferred,
        "long": inferred,
    }
    return Assumptions(
        graph=graph,
        names=tuple(
            name for name, used in is_used.items() if used and (only is None or name in only)
        ),
        overhead_is_known=is_dense(trace),
        inputs=scopes.thread_shares(graph, Ranges.of(trace.ops, loads)),
        handed=scopes.thread_shares(graph, hand_overs(trace)),
        error_ns=error if inferred else np.zeros(len(kernels), np.int64),
        waiting_ns=waiting,
        apart=find_apart(graph, apart),
    )


ONE_PROCESS = f"{call_tree.LOADER}#_SingleProcess"

_BATCH_NS, _TENSOR_NS = 650_000, 130_000
"""What the training thread works for a batch, and for each of its tensors.

The least CPU time of ``__next__`` with one worker or two whose batch was ready, in a container
whose calls of the system are slow: 0.3 ms without tensors, 0.8 ms with one, 1.0 with two, 1.7 with
eight and 2.7 with sixteen. With pinned memory another thread does the most of it: recordings of
others have 0.07 to 0.08 ms at least."""


def loading_rows(trace: Trace) -> I64:
    """Return the rows of ``trace.ops`` in which the training process makes a batch itself."""
    return np.flatnonzero(call_tree.starts_with(trace, ONE_PROCESS)[trace.ops.name])


def hand_over_ns(trace: Trace, rows: I64) -> I64:
    """Return what it takes at most to hand over the batches that operators make."""
    return _BATCH_NS + _TENSOR_NS * np.maximum(_kept_blocks(trace, rows), 1)


def _kept_blocks(trace: Trace, rows: I64) -> I64:
    """Return how many blocks of memory are taken in each operator and kept behind it.

    They are those of the batch's tensors; 0 where memory is not recorded.
    """
    ops, memory = trace.ops, trace.memory
    net = np.concatenate(([0], np.cumsum(np.sign(memory.bytes))))
    start = np.searchsorted(memory.ts_ns, ops.start_ns[rows])
    end = np.searchsorted(memory.ts_ns, ops.end_ns[rows])
    kept: I64 = net[end] - net[start]
    return kept


def hand_overs(trace: Trace) -> Ranges:
    """Return the part of each such operator's time that the hand-over of its batch may take."""
    rows = loading_rows(trace)
    made = Ranges.of(trace.ops, rows)
    until = np.minimum(made.start_ns + hand_over_ns(trace, rows), made.end_ns)
    return Ranges(made.thread, made.start_ns, until)


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
