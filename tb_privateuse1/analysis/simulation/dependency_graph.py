"""Build the dependency graph of a trace: host threads, launches, streams, waits, hand-offs.

A host thread is a chain of points: launches, starts and ends of waits, of steps, and of hand-offs
to another thread. Between points it does its own work. A stream is a chain of activities. A gap
with a known cause (launch latency, pause between activities, return of a wait) is limited to what
is usual in this trace. The rest is a delay without an explanation. So the replay of the graph with
its delays is the recording, and the delays measure how reliable it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.idle import bottleneck
from tb_privateuse1.analysis.simulation import submissions, usual_latencies
from tb_privateuse1.analysis.simulation.replay import Network, Weights, settled
from tb_privateuse1.analysis.threads import roles
from tb_privateuse1.analysis.threads.hand_offs import Turns
from tb_privateuse1.analysis.threads.turns import find_turns
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I8, I32, I64

LAUNCH, WAIT, TURN, STREAM = range(4)
"""Kinds of edges: from a launch to its activity, from an activity to the end of its wait, from
thread to thread, and from stream to stream."""

_LATE = 20
"""A start later than this many usual latencies is not caused by the launch."""


@dataclass(frozen=True)
class Points:
    """Points of host threads, by thread and time; ``before`` is the previous one or ``NONE``."""

    thread: I32
    at_ns: I64
    before: I64
    gap_ns: I64
    """The thread's own time since the previous point."""

    def __len__(self) -> int:
        return len(self.at_ns)


@dataclass(frozen=True)
class Edges:
    """Dependencies between nodes besides the order in a chain."""

    source: I64
    target: I64
    kind: I8
    wait: I64
    """For ``WAIT``, the row in ``Graph.waits``."""


@dataclass(frozen=True)
class Graph:
    """Nodes are the points, then the activities by row; a node's time is its start."""

    points: Points
    waits: submissions.Waits
    edges: Edges
    network: Network
    weights: Weights
    """Weights with the delays: their replay is the recording."""
    time_ns: I64
    before: I64
    step_first: I64
    """The node at which each step begins on the host, ``NONE`` for the recording's start."""
    end_step: I64
    end_node: I64
    """Pairs with ``end_step``: the step's window ends no earlier than this node."""
    latency_ns: int
    """The usual launch latency."""


class _Collected:
    """Points in the order of their discovery, before they are sorted."""

    def __init__(self) -> None:
        self._parts: list[tuple[I64, I64, I64, I64]] = []
        self.count = 0

    def add(self, thread: I32 | I64, at: I64, role: int | I64, own: I64 | None = None) -> I64:
        """Add points and return their numbers.

        ``own`` limits the thread's own time before them; -1 does not.
        """
        n = len(at)
        limit = np.full(n, -1) if own is None else own
        self._parts.append((thread.astype(np.int64), at, np.broadcast_to(role, n), limit))
        self.count += n
        return np.arange(self.count - n, self.count)

    def sorted(self) -> tuple[Points, I64]:
        """Return the points sorted, and the place of each number."""
        thread, at, role, own = (np.concatenate([p[i] for p in self._parts]) for i in range(4))
        order = np.lexsort((role, at, thread))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        thread, at, own = thread[order], at[order], own[order]
        before = np.arange(-1, len(order) - 1)
        first = np.diff(thread, prepend=-2) != 0
        before[first] = NONE
        gap = np.diff(at, prepend=0)
        gap[first] = 0
        gap = np.where(own >= 0, np.minimum(own, gap), gap)
        return Points(thread.astype(np.int32), at, before, gap), place


_RETURNS, _BEGINS, _HANDS, _LEAVES, _ENDS = range(5)
"""The order of a thread's points at one instant."""


def build_graph(trace: Trace) -> Graph:
    """Return the graph of a trace; without operators or activities it has no nodes."""
    kernels = trace.kernels
    calls = bottleneck.find_waits(trace)
    submission = submissions.find_submissions(trace, calls)
    waits = submissions.find_waits(trace, submission, calls)
    main = roles.thread_roles(trace).main
    turns = find_turns(trace)
    points = _Collected()
    known = np.flatnonzero(submission.thread >= 0)
    hands = points.add(submission.thread[known], submission.at_ns[known], _HANDS)
    points.add(waits.thread, waits.start_ns, _LEAVES)
    own, back = usual_latencies.return_latencies(kernels, waits)
    # On a coarse clock a wait can end as it begins: behind the launches of that instant.
    instant = waits.start_ns == waits.end_ns
    ends = points.add(waits.thread, waits.end_ns, np.where(instant, _LEAVES, _RETURNS), own)
    leaves, begins, dones, returns = _turns(points, turns)
    first, last_step, last = _steps(trace, points, main)
    found, place = points.sorted()
    n = len(found)
    before, gap, usual = usual_latencies.stream_gaps(kernels, submission, n)
    latency, typical = usual_latencies.launch_latencies(
        kernels, submission, known, np.maximum(before[known] - n, NONE)
    )
    # A stream's first activity that starts late waits for work from before the recording.
    sure = (before[known] >= 0) | (
        kernels.start_ns[known] - submission.at_ns[known] <= _LATE * typical
    )
    parts = [
        (place[hands[sure]], known[sure] + n, LAUNCH, latency[sure], None),
        (waits.kernel + n, place[ends[waits.wait]], WAIT, back, waits.wait),
        (place[leaves], place[begins], TURN, turns.begin_ns - turns.leave_ns, None),
        (place[dones], place[returns], TURN, turns.return_ns - turns.done_ns, None),
    ]
    time = np.concatenate((found.at_ns, kernels.start_ns))
    length = np.concatenate((np.zeros(n, np.int64), kernels.end_ns - kernels.start_ns))
    before = np.concatenate((found.before, before))
    gap = np.concatenate((found.gap_ns, gap))
    edges, edge_gap, order, delay = _joined(parts, time, length, before, gap)
    if len(np.unique(kernels.lane)) > 1:
        ended, begun, pause = usual_latencies.between_streams(kernels, delay[n:], usual, n)
        parts.append((ended, begun, STREAM, pause, None))
        edges, edge_gap, order, delay = _joined(parts, time, length, before, gap)
    streams = usual_latencies.chain_of(before[n:] - n) + int(found.thread.max(initial=0)) + 1
    chain = np.concatenate((found.thread, streams))
    step_of = _own_steps(trace)
    return Graph(
        points=found,
        waits=waits,
        edges=edges,
        network=Network(chain.astype(np.int64), before, edges.source, edges.target, time, order),
        weights=Weights(length, gap, delay, edge_gap, time),
        time_ns=time,
        before=before,
        step_first=np.where(first >= 0, np.append(place, 0)[first], NONE),
        end_step=np.concatenate((last_step, step_of[step_of >= 0])),
        end_node=np.concatenate((place[last], np.flatnonzero(step_of >= 0) + n)),
        latency_ns=typical,
    )


def _turns(points: _Collected, turns: Turns) -> tuple[I64, I64, I64, I64]:
    """Add the points of hand-offs; return those of leaving, beginning, being done, returning."""
    nothing = np.zeros(len(turns.thread), np.int64)
    leaves = points.add(turns.thread, turns.leave_ns, _LEAVES)
    returns = points.add(turns.thread, turns.return_ns, _RETURNS, nothing)
    begins = points.add(turns.worker, turns.begin_ns, _BEGINS, nothing)
    dones = points.add(turns.worker, turns.done_ns, _ENDS)
    return leaves, begins, dones, returns


def _joined(
    parts: Sequence[tuple[I64, I64, int, I64, I64 | None]],
    time: I64,
    length: I64,
    before: I64,
    gap: I64,
) -> tuple[Edges, I64, I64, I64]:
    """Join the edges without those that close a cycle.

    Returns the edges, their gaps, the nodes' order and their delays.
    """
    size = [len(p[0]) for p in parts]
    source, target, edge_gap = (np.concatenate([p[i] for p in parts]) for i in (0, 1, 3))
    kind = np.repeat(np.array([p[2] for p in parts], np.int8), size)
    wait = np.concatenate([np.full(len(p[0]), NONE) if p[4] is None else p[4] for p in parts])
    order, forward = settled(time, before, source, target)
    edges = Edges(source[forward], target[forward], kind[forward], wait[forward])
    edge_gap = edge_gap[forward]
    return edges, edge_gap, order, _delays(time, length, before, gap, edges, edge_gap)


def _delays(time: I64, length: I64, before: I64, gap: I64, edges: Edges, edge_gap: I64) -> I64:
    """Return the unexplained part of each node's time; 0 for a node without dependencies."""
    ready = np.full(len(time), np.iinfo(np.int64).min)
    has = before >= 0
    ready[has] = time[before[has]] + length[before[has]] + gap[has]
    np.maximum.at(ready, edges.target, time[edges.source] + length[edges.source] + edge_gap)
    return np.where(ready == np.iinfo(np.int64).min, 0, np.maximum(time - ready, 0))


def _steps(trace: Trace, points: _Collected, main: int) -> tuple[I64, I64, I64]:
    """Return points where steps begin (or ``NONE``), and pairs of a step and a point of its end."""
    steps, ops = trace.steps, trace.ops
    threads_, since = submissions.thread_starts(trace)
    points.add(threads_, since, _BEGINS)
    if any("#" in trace.text(name) for name in steps.name):
        thread = np.full(len(steps), main)
        first = points.add(thread, steps.host_start_ns, _BEGINS)
        last = points.add(thread, steps.host_end_ns, _ENDS)
        return first, np.arange(len(steps)), last
    ends = np.zeros(int(ops.thread.max(initial=-1)) + 1, np.int64)
    np.maximum.at(ends, ops.thread, ops.end_ns)
    threads = np.unique(ops.thread)
    last = points.add(threads, ends[threads], _ENDS)
    return np.full(len(steps), NONE), np.zeros(len(last), np.int64), last


def _own_steps(trace: Trace) -> I64:
    """Return the step that each activity can end: the one that launched it."""
    kernels = trace.kernels
    if not any("#" in trace.text(name) for name in trace.steps.name):
        return np.zeros(len(kernels), np.int64)
    launched = (kernels.launch >= 0) | (kernels.op >= 0)
    return np.where(launched, kernels.step, NONE).astype(np.int64)
