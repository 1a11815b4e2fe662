"""Build the dependency graph of a trace: host threads, launches, streams, waits, hand-offs.

A host thread is a chain of points: launches, starts and ends of waits, of steps, and of hand-offs
to another thread. Between points it does its own work. A stream is a chain of activities. One call
may launch many activities (a graph): they keep the gaps between them. A gap with a known cause
(launch latency, pause between activities, return of a wait) is limited to what is usual in this
trace. The rest is a delay, with a cause of its own (``delays``). So the replay of the graph with
its delays is the recording, and the delays without a mechanism measure how reliable it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.simulation import (
    delays,
    host_points,
    launches_and_waits,
    stream_edges,
    usual_latencies,
)
from tb_privateuse1.analysis.simulation.host_points import Points
from tb_privateuse1.analysis.simulation.node_order import settled
from tb_privateuse1.analysis.simulation.profiler_time import (
    Events,
    Shares,
    events_until,
    find_events,
)
from tb_privateuse1.analysis.simulation.replay import NEVER, Network, Weights
from tb_privateuse1.analysis.threads.clock_slack import clock_slack_ns
from tb_privateuse1.analysis.threads.result_waits import awaited_begins, usual_lags
from tb_privateuse1.analysis.threads.roles import find_turns, thread_roles
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I8, I64, Bools

LAUNCH, WAIT, TURN, STREAM, GUESS = range(5)
"""Kinds of edges: from a launch to its activity, from an activity to the end of its wait, from
thread to thread, from stream to stream, and from the host to an activity whose launch is not
recorded. The last kind delays nothing, except under an assumption."""

_SEVERAL = 2
"""Streams between which there can be an edge."""

_LATE = 20
"""A start later than this many usual latencies is not caused by the launch."""


class Edges(Struct, frozen=True):
    """Dependencies between nodes besides the order in a chain."""

    source: I64
    target: I64
    kind: I8
    wait: I64
    """For ``WAIT``, the row in ``Graph.waits``."""


class Graph(Struct, frozen=True):
    """Nodes are the points, then the activities by row; a node's time is its start."""

    points: Points
    waits: launches_and_waits.Waits
    wait_end: I64
    """By row of ``waits``, the point at which it returns."""
    edges: Edges
    network: Network
    weights: Weights
    """Weights with the delays: their replay is the recording."""
    delay_cause: I8
    """By node, the cause of its delay: an index into ``delays.DELAYS``, or ``NONE``."""
    time_ns: I64
    before: I64
    step_first: I64
    """The node at which each step begins on the host, ``NONE`` for the recording's start."""
    end_step: I64
    end_node: I64
    """Pairs with ``end_step``: the step's window ends no earlier than this node."""
    latency_ns: int
    """The usual launch latency."""
    events: Events
    """The profiler's, on host threads."""
    events_until: Shares
    """By point, how many of these are before it, with those of the threads before its own."""


class _Streams(Struct, frozen=True):
    """By activity: its predecessor on the stream, the pause between them; the usual maximum."""

    before: I64
    pause: I64
    usual_ns: int


_Part = tuple[I64, I64, int, I64, I64 | None]
"""Edges: source, target, kind, gap, and the row of the wait."""


class _Host(Struct, frozen=True):
    """The host's points, and the edges from and to them."""

    points: Points
    parts: list[_Part]
    wait_end: I64
    step_first: I64
    end_step: I64
    end_node: I64
    latency_ns: int


class _Nodes(Struct, frozen=True):
    """Columns by node, and the edges."""

    time: I64
    length: I64
    before: I64
    gap: I64
    edges: Edges
    edge_gap: I64
    order: I64
    delay: I64
    """0 for a node without dependencies."""


@memoize
def build_graph(trace: Trace) -> Graph:
    """Return the graph of a trace; without operators or activities it has no nodes."""
    kernels = trace.kernels
    calls = device_bound.find_waits(trace)
    submission = launches_and_waits.find_submissions(trace, calls)
    waits = launches_and_waits.find_waits(trace, submission, calls)
    streams = _Streams(*usual_latencies.stream_gaps(kernels, submission))
    host = _host(trace, submission, waits, streams)
    n = len(host.points)
    nodes = _with_streams(trace, submission, host, streams)
    early = _early(trace, submission, streams, nodes.delay[n:], host.latency_ns)
    cause = np.full(len(nodes.time), NONE, np.int8)
    slack_ns = clock_slack_ns(trace)
    cause[n:] = delays.device_delays(kernels, submission, nodes.delay[n:], early, slack_ns)
    of_waits = delays.wait_delays(kernels, waits, submission, nodes.delay[host.wait_end])
    cause[host.wait_end] = of_waits
    # Nothing in the recording moves what is not in it. Recorded work follows its stream.
    fixed = cause == delays.BEFORE_RECORDING
    fixed[n:] &= nodes.before[n:] < 0
    alone = nodes.before < 0
    alone[nodes.edges.target[nodes.edge_gap > NEVER]] = False
    at = np.where(fixed | alone, nodes.time, NEVER)
    chain = usual_latencies.chain_of(streams.before) + int(host.points.thread.max(initial=0)) + 1
    step_of = host_points.activity_steps(trace)
    until = events_until(find_events(trace), host.points)
    events = np.zeros(len(nodes.time))
    events[:n] = until - host.points.of_before(until)
    return Graph(
        points=host.points,
        waits=waits,
        wait_end=host.wait_end,
        edges=nodes.edges,
        network=Network(
            np.concatenate((host.points.thread, chain)).astype(np.int64),
            nodes.before,
            nodes.edges.source,
            nodes.edges.target,
            nodes.time,
            nodes.order,
        ),
        weights=Weights(
            nodes.length, nodes.gap, np.where(fixed, 0, nodes.delay), nodes.edge_gap, at, events
        ),
        delay_cause=cause,
        time_ns=nodes.time,
        before=nodes.before,
        step_first=host.step_first,
        end_step=np.concatenate((host.end_step, step_of[step_of >= 0])),
        end_node=np.concatenate((host.end_node, np.flatnonzero(step_of >= 0) + n)),
        latency_ns=host.latency_ns,
        events=find_events(trace),
        events_until=until,
    )


def _host(
    trace: Trace,
    submission: launches_and_waits.Submissions,
    waits: launches_and_waits.Waits,
    streams: _Streams,
) -> _Host:
    """Return the points of all threads, and their edges."""
    kernels, roles, turns = trace.kernels, thread_roles(trace), find_turns(trace)
    known = np.flatnonzero(submission.thread >= 0)
    latency, typical = usual_latencies.launch_latencies(
        trace, submission, known, streams.before[known]
    )
    found = host_points.Collected()
    hands = found.add(submission.thread[known], submission.at_ns[known], host_points.HANDS)
    found.add(waits.thread, waits.start_ns, host_points.LEAVES)
    own, back = usual_latencies.return_latencies(kernels, waits)
    # On a coarse clock a wait can end as it begins: behind the launches of that instant.
    instant = waits.start_ns == waits.end_ns
    ends = found.add(
        waits.thread, waits.end_ns, np.where(instant, host_points.LEAVES, host_points.RETURNS), own
    )
    leaves, begins, dones, returns = host_points.add_turns(found, turns)
    # A worker that waits for another worker does not wait for this thread.
    elsewhere = awaited_begins(roles.results, turns.worker, turns.begin_ns)
    to_worker = np.where(elsewhere, NEVER, turns.begin_ns - turns.leave_ns)
    finished, awaited = host_points.add_results(found, roles.results)
    handed, taken, lag = host_points.add_tasks(found, trace)
    first, end_step, last = host_points.add_steps(found, trace, roles)
    unknown = submission.thread < 0
    unknown &= ~delays.launched_before(kernels, submission) & (roles.main != NONE)
    guessed = np.flatnonzero(unknown)
    since = np.maximum(kernels.start_ns[guessed] - typical, 0)
    guesses = found.add(np.full(len(guessed), roles.main), since, host_points.HANDS)
    chain, place = found.sorted()
    n = len(chain)
    return _Host(
        points=chain,
        parts=[
            (place[hands], known + n, LAUNCH, latency, None),
            (waits.kernel + n, place[ends[waits.wait]], WAIT, back, waits.wait),
            (place[leaves], place[begins], TURN, to_worker, None),
            (place[dones], place[returns], TURN, turns.return_ns - turns.done_ns, None),
            (place[finished], place[awaited], TURN, usual_lags(roles.results), None),
            (place[handed], place[taken], TURN, lag, None),
            (place[guesses], guessed + n, GUESS, np.full(len(guessed), NEVER), None),
        ],
        wait_end=place[ends],
        step_first=np.where(first >= 0, lookup(place, first, 0), NONE),
        end_step=end_step,
        end_node=place[last],
        latency_ns=typical,
    )


def _with_streams(
    trace: Trace, submission: launches_and_waits.Submissions, host: _Host, streams: _Streams
) -> _Nodes:
    """Return the nodes with the edges between streams.

    They are recorded, of what an execution trace says that is read, and others by time.
    """
    kernels, n = trace.kernels, len(host.points)
    recorded = stream_edges.wait_edges(trace, submission.at_ns)
    both = np.concatenate((recorded, stream_edges.tensor_edges(trace)), axis=1)
    source, target = np.unique(both, axis=1)
    gap = np.minimum(kernels.start_ns[target] - kernels.end_ns[source], streams.usual_ns)
    parts = [*host.parts, (source + n, target + n, STREAM, gap, None)]
    nodes = _joined(parts, trace, host.points, streams)
    if len(np.unique(kernels.lane)) < _SEVERAL:
        return nodes
    late = usual_latencies.between_streams(kernels, nodes.delay[n:], streams.usual_ns)
    parts.append((late[0] + n, late[1] + n, STREAM, late[2], None))
    return _joined(parts, trace, host.points, streams)


def _early(
    trace: Trace,
    submission: launches_and_waits.Submissions,
    streams: _Streams,
    delay: I64,
    typical_ns: int,
) -> Bools:
    """Return the activities that waited for work from before the recording.

    They were launched before the recording, or they are the first of their stream and start late.
    """
    first = (streams.before < 0) & (submission.thread >= 0)
    late = delay > (_LATE - 1) * typical_ns
    early: Bools = (first & late) | delays.launched_before(trace.kernels, submission)
    return early


def _joined(parts: Sequence[_Part], trace: Trace, chain: Points, streams: _Streams) -> _Nodes:
    """Return the nodes and the edges, without those that close a cycle."""
    kernels, n = trace.kernels, len(chain)
    time = np.concatenate((chain.at_ns, kernels.start_ns))
    length = np.concatenate((np.zeros(n, np.int64), kernels.end_ns - kernels.start_ns))
    ahead = np.where(streams.before >= 0, streams.before + n, NONE)
    before = np.concatenate((chain.before, ahead))
    gap = np.concatenate((chain.gap_ns, streams.pause))
    size = [len(p[0]) for p in parts]
    source, target, edge_gap = (np.concatenate([p[i] for p in parts]) for i in (0, 1, 3))
    kind = np.repeat(np.array([p[2] for p in parts], np.int8), size)
    wait = np.concatenate([np.full(len(p[0]), NONE) if p[4] is None else p[4] for p in parts])
    order, forward = settled(time, before, source, target)
    edges = Edges(source[forward], target[forward], kind[forward], wait[forward])
    edge_gap = edge_gap[forward]
    delay = _delays(time, length, before, gap, edges, edge_gap)
    return _Nodes(time, length, before, gap, edges, edge_gap, order, delay)


def _delays(time: I64, length: I64, before: I64, gap: I64, edges: Edges, edge_gap: I64) -> I64:
    """Return the part of each node's time that its dependencies leave open; 0 without any."""
    ready = np.full(len(time), NEVER)
    has = before >= 0
    ready[has] = time[before[has]] + length[before[has]] + gap[has]
    real = edge_gap > NEVER
    source, target = edges.source[real], edges.target[real]
    np.maximum.at(ready, target, time[source] + length[source] + edge_gap[real])
    return np.where(ready == NEVER, 0, np.maximum(time - ready, 0))
