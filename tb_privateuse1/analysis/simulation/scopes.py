"""Find which ranges, kernels and waits a what-if change affects, and scale their time.

A scope has ranges of host threads, shares of activities, waits, and times between activities. The
scope of a class of time is where the account would have the class, whether the device is idle
there or not: its removal is a change of the program, as that of an operator is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.account import host_chain
from tb_privateuse1.analysis.account.class_intervals import ClassIntervals, join
from tb_privateuse1.analysis.account.classes import CLASSES, NAMES, NUMBER, ClassName
from tb_privateuse1.analysis.account.classification import KINDS as DEVICE_CLASSES
from tb_privateuse1.analysis.simulation import delays
from tb_privateuse1.analysis.simulation.dependency_graph import LAUNCH, STREAM, WAIT, Graph
from tb_privateuse1.analysis.simulation.launches_and_waits import Ranges, join_ranges
from tb_privateuse1.analysis.simulation.profiler_time import Shares
from tb_privateuse1.analysis.simulation.replay import NEVER, Weights
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import containing, latest_not_after, lookup, starts_run
from tb_privateuse1.trace.intervals import Lanes, lanes
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools

Between = Literal["launch_latency", "queued_gap", "unknown_launch", "clock_doubt"]
"""Classes of time between a launch and its activity, or between activities."""

_CAUSES: dict[Between, tuple[int, ...]] = {
    "launch_latency": (),
    "queued_gap": (delays.UNATTRIBUTED,),
    "unknown_launch": (delays.UNKNOWN_LAUNCH,),
    "clock_doubt": (delays.CLOCK_DOUBT,),
}
"""The causes of delays of activities that are time of the class."""


class Waiters(Struct, frozen=True):
    """Rows of ``trace.ops`` and ``trace.launches`` that no longer wait for the device.

    A wait is its call's, and that of its operator only if no call of it is recorded.
    """

    ops: I64
    launches: I64


class Scope(Struct, frozen=True):
    """The targets of a change."""

    ranges: Ranges
    """The time of host threads."""
    kernels: Shares
    """By activity, the share of its time."""
    frees: Literal["nothing", "inside", "all"] = "nothing"
    """Waits for the device that end at once if it is removed: those in the ranges, or all."""
    between: tuple[Between, ...] = ()
    waiters: Waiters | None = None
    """Waits that end at once besides those that ``frees`` names."""
    most: float = 1.0
    """How many times the gain of its removal may be, where only a part of it is known to go."""
    least: float = 1.0
    """How many times that gain it is at least, where its removal may not be possible."""
    may_vanish: bool = False
    """What comes in its place may take as long."""


def no_ranges() -> Ranges:
    """Return no ranges of threads."""
    nothing = np.empty(0, np.int64)
    return Ranges(nothing.astype(np.int32), nothing, nothing)


def join_scopes(scopes: Sequence[Scope]) -> Scope:
    """Return the targets of several scopes, each instant once. They must not be empty."""
    ranges = no_ranges()
    for one in scopes:
        ranges = ranges.and_(one.ranges)
    frees = [one.frees for one in scopes]
    return Scope(
        ranges,
        np.maximum.reduce([one.kernels for one in scopes]),
        "inside" if "inside" in frees else "nothing",
        tuple(name for one in scopes for name in one.between),
    )


def outside_of(scope: Scope, times: intervals.Set) -> Scope:
    """Return a scope without some times of host threads."""
    left = [no_ranges()]
    for thread, own in scope.ranges.by_thread():
        start, end = intervals.subtract(own, times)
        left.append(Ranges(np.full(len(start), thread, np.int32), start, end))
    return replace(scope, ranges=join_ranges(left))


def are_nested(one: Scope, other: Scope) -> bool:
    """Return whether scopes have the same activities, and one's ranges lie in the other's."""
    same = (one.frees, one.between) == (other.frees, other.between)
    if not same or not np.array_equal(one.kernels, other.kernels):
        return False
    own, others = dict(one.ranges.by_thread()), dict(other.ranges.by_thread())
    both = sum(
        intervals.length(intervals.intersect(times, others[thread]))
        for thread, times in own.items()
        if thread in others
    )
    return both == min(
        sum(map(intervals.length, own.values())), sum(map(intervals.length, others.values()))
    )


def class_scope(trace: Trace, name: ClassName) -> Scope:
    """Return where a class of the account is; empty for work from before the recording."""
    untouched = np.zeros(len(trace.kernels))
    if name in DEVICE_CLASSES:
        kinds = breakdown.activity_kinds(trace.kernels)
        return Scope(no_ranges(), (kinds == DEVICE_CLASSES.index(name)).astype(np.float64))
    if name in _CAUSES:
        return Scope(no_ranges(), untouched, between=(name,))
    if CLASSES[NUMBER[name]].group not in ("blocked", "host", "outside"):
        return Scope(no_ranges(), untouched)
    did = host_times(trace)
    own = did.take(did.time_class == NUMBER[name])
    return Scope(Ranges(own.thread, own.start_ns, own.end_ns), untouched, "inside")


def has_time(trace: Trace) -> tuple[ClassName, ...]:
    """Return the classes that a change can have in a trace."""
    kinds = groupby.distinct_values(breakdown.activity_kinds(trace.kernels))
    device = [DEVICE_CLASSES[kind] for kind in kinds.tolist()]
    host = [NAMES[i] for i in groupby.distinct_values(host_times(trace).time_class).tolist()]
    return (*device, *host, *(_CAUSES if len(trace.kernels) else ()))


@memoize
def host_times(trace: Trace) -> ClassIntervals:
    """Return what each driving thread does, by the classes of the account.

    A thread that waits for another one's work has that work's classes, so intervals may be double.
    """
    first, last = np.array([0]), np.array([trace.end_ns])
    threads = np.flatnonzero(thread_roles(trace).driving).astype(np.int32)
    return join([
        ClassIntervals.empty(),
        *(host_chain.host_intervals(trace, threads[i : i + 1], first, last)
          for i in range(len(threads))),
    ])  # fmt: skip


class Pace(Struct, frozen=True):
    """The factors of threads' time: ``factor[i]`` from ``at[i]`` to the next; 1 before.

    ``at`` are places on an axis (``Lanes``). The last factor of a thread is 1, too.

    Between two points of a graph a thread may do much: on a CPU alone, a whole step. So which
    changes meet, and where the profiler's events are, shares of that time do not say.
    """

    at: I64
    factor: Shares

    def lost(self, here: Shares | I64, amount: Shares | I64, piece: I64) -> Shares:
        """Return what the factors take of an amount until some places, in its unit.

        ``here`` and ``amount`` are how much there is until each of ``at``, and until those places,
        which lie behind the rows ``piece`` of ``at``: it never decreases.
        """
        away = 1 - self.factor
        before = np.concatenate(([0.0], np.cumsum(away[:-1] * np.diff(here))))
        own = np.maximum(piece, 0)
        lost = before[own] + away[own] * (amount - here[own])
        return np.where(piece >= 0, lost, 0.0)


def find_pace(axis: Lanes, made: Sequence[tuple[Ranges, float]]) -> Pace:
    """Return the pace of an axis's threads by disjoint ranges in order, with their factors.

    Factors multiply where ranges of several entries overlap.
    """
    sets = [(ranges.on(axis), factor) for ranges, factor in made]
    edges = np.concatenate([edge for times, _ in sets for edge in times])
    edges = np.sort(edges, kind="stable")  # merges the starts and ends, which are in order
    edges = edges[starts_run(edges)]
    factor = np.ones(len(edges))
    for (starts, ends), each in sets:
        factor[containing(starts, ends, edges) >= 0] *= each
    return Pace(edges, factor)


class Factors:
    """By what a change multiplies the weights of a graph; all 1 at first."""

    def __init__(self, graph: Graph) -> None:
        n, nodes = len(graph.points), len(graph.time_ns)
        self._graph = graph
        self.host = np.ones(n)
        """Of the host's time before each point, besides that in ranges."""
        self.events = np.ones(n)
        """Of the profiler's events in it."""
        self._made: list[tuple[Ranges, float]] = []
        self.device = np.ones(nodes - n)
        """Of each activity."""
        self.pauses = np.ones(nodes - n)
        """Of the time between an activity and the one before it."""
        self.delays = np.ones(nodes)
        self.edges = np.ones(len(graph.edges.kind))
        self.freed = np.zeros(len(graph.waits.start_ns), np.bool_)
        """Waits that end at once: no activity delays them, nor anything that is not recorded."""

    def scale(self, scope: Scope, factor: float) -> None:
        """Multiply what is in a scope."""
        graph = self._graph
        self._made.append((scope.ranges.covered(), factor))
        self.device *= 1 - (1 - factor) * scope.kernels
        kind = graph.edges.kind
        for name in scope.between:
            self.delays[len(self.host) :][_caused(graph, name)] *= factor
            if name == "launch_latency":
                self.edges[kind == LAUNCH] *= factor
            if name == "queued_gap":
                self.pauses *= factor
                self.edges[kind == STREAM] *= factor
        if factor == 0 and scope.frees != "nothing":
            self.freed |= scope.frees == "all" or waits_inside(graph, scope.ranges)
        if factor == 0 and scope.waiters is not None:
            self.freed |= waits_of(graph, scope.waiters)

    def scale_profiler(self, taken: Shares, ranges: Shares, factor: float) -> None:
        """Multiply the profiler's time: ``taken`` of the host's time, for ``ranges`` of all."""
        self.host *= 1 - (1 - factor) * taken
        self.events *= 1 - (1 - factor) * ranges

    def weights(self) -> Weights:
        """Return the recording's weights, multiplied."""
        graph, n, recorded = self._graph, len(self.host), self._graph.weights
        length, gap = recorded.length.copy(), recorded.gap.copy()
        delay, at = _scaled(recorded.delay, self.delays), recorded.at.copy()
        length[n:] = _scaled(length[n:], self.device)
        events = recorded.events.copy()
        host, kept = self._on_host()
        gap[:n] = _scaled(gap[:n], host)
        events[:n] *= kept
        gap[n:] = _scaled(gap[n:], self.pauses)
        ends = graph.wait_end[self.freed]
        delay[ends] = 0
        at[ends[graph.before[ends] >= 0]] = NEVER
        wait = np.where(graph.edges.kind == WAIT, graph.edges.wait, NONE)
        no_wait = lookup(self.freed, wait, False) | (recorded.edge_gap == NEVER)
        edge_gap = np.where(no_wait, NEVER, _scaled(recorded.edge_gap, self.edges))
        return Weights(length, gap, delay, edge_gap, at, events)

    def _on_host(self) -> tuple[Shares, Shares]:
        """Return by what the host's times, and the profiler's events in them, are multiplied."""
        graph, points, events = self._graph, self._graph.points, self._graph.events
        lost, gone = np.zeros(len(points)), np.zeros(len(points))
        made = [(ranges, factor) for ranges, factor in self._made if len(ranges.thread)]
        touched = join_ranges([no_ranges(), *(ranges for ranges, _ in made)])
        for axis in lanes(
            (points.thread, points.at_ns),
            (events.thread, events.at_ns),
            (touched.thread, touched.start_ns),
            (touched.thread, touched.end_ns),
        ):
            if not made:
                break
            rows, pace = axis.has(points.thread), find_pace(axis, made)
            at = axis.place(points.thread[rows], points.at_ns[rows])
            piece = latest_not_after(pace.at, at)
            lost[rows] = pace.lost(pace.at, at, piece)
            here = events.count_until(axis)(pace.at)
            gone[rows] = pace.lost(here, graph.events_until[rows], piece)
        lost -= points.of_before(lost)
        gone -= points.of_before(gone)
        passed_ns, passed = points.at_ns - points.since_ns, graph.weights.events[: len(points)]
        host = self.host * (1 - lost / np.maximum(passed_ns, 1))
        return host, self.events * (1 - gone / np.maximum(passed, 1))


def _caused(graph: Graph, name: Between) -> Bools:
    """Return by activity whether its delay is of a class of time."""
    return np.isin(graph.delay_cause[len(graph.points) :], _CAUSES[name])


def waits_inside(graph: Graph, ranges: Ranges) -> Bools:
    """Return which waits have their middle in a range of their thread."""
    waits = graph.waits
    middle = waits.start_ns + (waits.end_ns - waits.start_ns) // 2
    return ranges.contain(waits.thread, middle)


def waits_of(graph: Graph, waiters: Waiters) -> Bools:
    """Return which waits are those of some operators and calls."""
    own = np.isin(graph.waits.launch, waiters.launches)
    found: Bools = np.where(graph.waits.launch >= 0, own, np.isin(graph.waits.op, waiters.ops))
    return found


def thread_shares(graph: Graph, ranges: Ranges) -> Shares:
    """Return the share of its thread's time before each point that lies in the ranges."""
    points, own = graph.points, ranges.covered()
    share, since_ns = np.zeros(len(points)), points.since_ns
    for axis in lanes(
        (points.thread, points.at_ns), (own.thread, own.start_ns), (own.thread, own.end_ns)
    ):
        rows = axis.has(points.thread)
        thread = points.thread[rows]
        at, since = axis.place(thread, points.at_ns[rows]), axis.place(thread, since_ns[rows])
        share[rows] = intervals.covered_length(own.on(axis), since, at) / np.maximum(at - since, 1)
    return share


def _scaled(values: I64, by: Shares) -> I64:
    return np.where(by == 1, values, np.rint(values * by)).astype(np.int64)
