"""What in a trace waits for what: host threads, launches, streams, waits, and where turns change.

A thread of the host is a chain of points: where it hands work to the device, where it begins and
ends to wait, where a step begins and ends, where another thread takes over. Between points it does
its own work, which takes its time. A stream is a chain of activities. Each gap that is known to
need its time (a launch's latency, the pause between activities, the return of a waiting call) is
held up to what is usual in this trace. What passes beyond that is a delay that nothing recorded
explains; so the recording itself is a replay, and the delays say how far it can be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.simulation import submissions, usual_latencies
from tb_privateuse1.analysis.simulation.replay import Network, Weights, settled
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I8, I32, I64

LAUNCH, WAIT, TURN, STREAM = range(4)
"""What an edge is: from handing in to the activity, from the activity to who waited for it, from
thread to thread, and from stream to stream."""

_LATE = 20
"""So many times a usual latency is none any more."""


@dataclass(frozen=True)
class Points:
    """Points of host threads, by thread and time; ``before`` is the previous one or ``NONE``."""

    thread: I32
    at_ns: I64
    before: I64
    gap_ns: I64
    """The thread's own time since the previous one."""

    def __len__(self) -> int:
        return len(self.at_ns)


@dataclass(frozen=True)
class Edges:
    """Who waits for whom besides the order in a chain: nodes."""

    source: I64
    target: I64
    kind: I8
    wait: I64
    """Of ``WAIT``, the row in ``Graph.waits``."""


@dataclass(frozen=True)
class Graph:
    """Nodes are the points, then the activities by row; a node's time is its start."""

    points: Points
    waits: submissions.Waits
    edges: Edges
    network: Network
    held: Weights
    """With the delays: its replay is the recording."""
    time_ns: I64
    before: I64
    step_first: I64
    """The node at which each step begins on the host, ``NONE`` at the recording's start."""
    end_step: I64
    end_node: I64
    """Which steps' windows end no earlier than which nodes."""
    latency_ns: int
    """What a launch usually takes."""


class _Collected:
    """Points in the order they are found, until they are sorted."""

    def __init__(self) -> None:
        self._parts: list[tuple[I64, I64, I64, I64]] = []
        self.count = 0

    def add(self, thread: I32 | I64, at: I64, role: int | I64, own: I64 | None = None) -> I64:
        """Their numbers. ``own`` limits the thread's own time before them; -1: all of it."""
        n = len(at)
        limit = np.full(n, -1) if own is None else own
        self._parts.append((thread.astype(np.int64), at, np.broadcast_to(role, n), limit))
        self.count += n
        return np.arange(self.count - n, self.count)

    def sorted(self) -> tuple[Points, I64]:
        """The points, and where each number went."""
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
"""At one instant, a thread's points are in this order."""


def build_graph(trace: Trace) -> Graph:
    """The graph of a trace; without operators or activities one without nodes."""
    kernels = trace.kernels
    calls = submissions.waiting_calls(trace)
    given = submissions.find_submissions(trace, calls)
    waits = submissions.find_waits(trace, given, calls)
    main = submissions.main_thread(trace)
    turns = submissions.find_turns(trace, main)
    points = _Collected()
    known = np.flatnonzero(given.thread >= 0)
    hands = points.add(given.thread[known], given.at_ns[known], _HANDS)
    points.add(waits.thread, waits.start_ns, _LEAVES)
    own, back = usual_latencies.return_latencies(kernels, waits)
    # On a coarse clock a wait can end as it begins: behind what was handed in at that instant.
    instant = waits.start_ns == waits.end_ns
    ends = points.add(waits.thread, waits.end_ns, np.where(instant, _LEAVES, _RETURNS), own)
    nothing = np.zeros(len(turns.thread), np.int64)
    leaves = points.add(turns.thread, turns.leave_ns, _LEAVES)
    returns = points.add(turns.thread, turns.return_ns, _RETURNS, nothing)
    begins = points.add(turns.worker, turns.begin_ns, _BEGINS, nothing)
    dones = points.add(turns.worker, turns.done_ns, _ENDS)
    first, last_step, last = _steps(trace, points, main)
    found, place = points.sorted()
    n = len(found)
    before, gap, usual = usual_latencies.stream_gaps(kernels, given, n)
    latency, typical = usual_latencies.launch_latencies(
        kernels, given, known, np.maximum(before[known] - n, NONE)
    )
    # What begins a stream long after its launch waits for work from before the recording.
    sure = (before[known] >= 0) | (kernels.start_ns[known] - given.at_ns[known] <= _LATE * typical)
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
    edges, waited, order, delay = _joined(parts, time, length, before, gap)
    if len(np.unique(kernels.lane)) > 1:
        ended, begun, pause = usual_latencies.between_streams(kernels, delay[n:], usual, n)
        parts.append((ended, begun, STREAM, pause, None))
        edges, waited, order, delay = _joined(parts, time, length, before, gap)
    streams = usual_latencies.chain_of(before[n:] - n) + int(found.thread.max(initial=0)) + 1
    chain = np.concatenate((found.thread, streams))
    step_of = _own_steps(trace)
    return Graph(
        points=found,
        waits=waits,
        edges=edges,
        network=Network(chain.astype(np.int64), before, edges.source, edges.target, time, order),
        held=Weights(length, gap, delay, waited, time),
        time_ns=time,
        before=before,
        step_first=np.where(first >= 0, np.append(place, 0)[first], NONE),
        end_step=np.concatenate((last_step, step_of[step_of >= 0])),
        end_node=np.concatenate((place[last], np.flatnonzero(step_of >= 0) + n)),
        latency_ns=typical,
    )


def _joined(
    parts: Sequence[tuple[I64, I64, int, I64, I64 | None]],
    time: I64,
    length: I64,
    before: I64,
    gap: I64,
) -> tuple[Edges, I64, I64, I64]:
    """The edges without those that would close a circle, their gaps; nodes' order and delays."""
    size = [len(p[0]) for p in parts]
    source, target, waited = (np.concatenate([p[i] for p in parts]) for i in (0, 1, 3))
    kind = np.repeat(np.array([p[2] for p in parts], np.int8), size)
    wait = np.concatenate([np.full(len(p[0]), NONE) if p[4] is None else p[4] for p in parts])
    order, forward = settled(time, before, source, target)
    edges = Edges(source[forward], target[forward], kind[forward], wait[forward])
    waited = waited[forward]
    return edges, waited, order, _delays(time, length, before, gap, edges, waited)


def _delays(time: I64, length: I64, before: I64, gap: I64, edges: Edges, waited: I64) -> I64:
    """What of each node's time nothing explains; 0 for what waits for nothing."""
    ready = np.full(len(time), np.iinfo(np.int64).min)
    has = before >= 0
    ready[has] = time[before[has]] + length[before[has]] + gap[has]
    np.maximum.at(ready, edges.target, time[edges.source] + length[edges.source] + waited)
    return np.where(ready == np.iinfo(np.int64).min, 0, np.maximum(time - ready, 0))


def _steps(trace: Trace, points: _Collected, main: int) -> tuple[I64, I64, I64]:
    """Points where steps begin (``NONE`` without), and pairs of a step and a point of its end."""
    steps, ops = trace.steps, trace.ops
    told, since = submissions.thread_starts(trace)
    points.add(told, since, _BEGINS)
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
    """Whose window each activity can end: that of the step which launched it."""
    kernels = trace.kernels
    if not any("#" in trace.text(name) for name in trace.steps.name):
        return np.zeros(len(kernels), np.int64)
    told = (kernels.launch >= 0) | (kernels.op >= 0)
    return np.where(told, kernels.step, NONE).astype(np.int64)
