"""Bound the times of a stream's events, without the constraints that contradict others.

A claim says that nothing was launched in a segment, or that a call waited. A wrong one ties events
to the host that ran late, so that their earliest time is after their latest one. All events between
the claim and the reason of the earliest time cross then: their number says little. The claims at
the two ends of such a range are dropped, and the events are solved again, until none cross.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.inference.device_timeline import (
    event_pairs,
    event_times,
    likely_path,
    solver,
    step_markers,
    sync_points,
)
from tb_privateuse1.inference.device_timeline.phase_results import StreamInput
from tb_privateuse1.inference.device_timeline.solver import Solution
from tb_privateuse1.inference.device_timeline.stream_joins import FAR
from tb_privateuse1.inference.device_timeline.sync_points import SyncPoints
from tb_privateuse1.inference.device_timeline.timeline_inputs import NEVER, Calibration, EventPairs
from tb_privateuse1.trace.columns import following, range_rows
from tb_privateuse1.trace.table import I64, Bools

_ROUNDS = 8
"""Rounds in which contradicted claims are dropped."""

_LEVELS = (0.0, 0.5, 0.75, 0.9)
"""Shares of the largest excess above which contradictions are separate."""


class StreamSolution(Struct, frozen=True):
    """The bounds of all events, and the events with room for preempted threads."""

    solution: Solution
    events: EventPairs
    estimate: Callable[[], Solution]
    """Returns the solution with the likely time of each event."""


def solve_stream(
    stream: StreamInput,
    launching: Bools,
    blocking: Bools,
    c: Calibration,
    *,
    likely: bool = False,
    dropped: I64 | None = None,
) -> StreamSolution:
    """Return the solution of a stream's events.

    ``dropped``: events whose claims contradicted others in an earlier phase.

    ``launching``: per event, whether its thread may launch before its next one. ``blocking``:
    operators that wait for their work. ``likely``: take waits for other streams as made.
    """
    if stream.measured is not None:
        measured = event_times.solve_measured(stream, stream.measured)
        return StreamSolution(measured, stream.events, lambda: measured)
    ops, joins = stream.ops, stream.joins
    launch_free = event_pairs.launch_free_segments(stream.events, launching)
    events = event_pairs.make_room_for_preemption(stream.events, ops, launch_free, stream.keys)
    points = sync_points.find_sync_points(events, blocking, stream.waits, c)
    until = None
    if joins is not None:
        until = joins.likely_ns if likely else joins.latest_ns
        launch_free &= until < FAR
        # The work that a call waited for last may have run on another stream.
        points = sync_points.drop_earliest(points)
        points = sync_points.add_joins(points, until) if likely else points
        points = sync_points.add_limits(points, joins.likely_by_ns if likely else joins.by_ns)
        points = sync_points.add_idle_start(points, events, stream.waits, until, c)
    if stream.markers is not None:
        alone = launch_free if until is None else launch_free & (until == NEVER)
        points, unmarked = step_markers.pin_stream(stream.markers, events, alone, points, c)
        launch_free &= unmarked  # a marker takes the device its cost, too
    problem = solver.state_problem(events, stream.tree, stream.in_tree, ops.elapsed_ns, c, until)
    claims = _Claims(problem, launch_free, points)
    wrong = np.zeros(len(events), np.bool_)
    if dropped is not None:
        wrong[dropped] = True
    rest, solution = _drop_contradicted(claims, wrong)
    estimate = functools.partial(
        likely_path.with_likely_times, events, stream.tree, ops.elapsed_ns, rest.launch_free,
        rest.points, c, solution, alone=until is None,
    )  # fmt: skip
    return StreamSolution(solution, events, estimate)


def refuted_claims(solution: Solution, events: EventPairs, stream: StreamInput) -> I64:
    """Return the events at which no later phase may claim anything, by a consistent solution.

    They are those whose claims it dropped, and those that came later than when they were due and
    than right behind the event before: something was launched, whatever its like did. A claim
    there would only cost the true ones that contradict it. Of several streams, one may have waited
    for another instead.
    """
    if not len(events) or stream.joins is not None:
        return solution.dropped
    c, low, high = stream.c, solution.bounds.low, solution.bounds.high
    prompt = events.host_high_ns + c.latency_ns + c.jitter_ns
    done = np.concatenate((high[:1], high[:-1])) + c.event_high_ns
    late = low > np.maximum(prompt, done) + solver.NOISE_NS
    late[solution.dropped] = True
    return np.flatnonzero(late)


class _Claims(Struct, frozen=True):
    """The claims about a stream: segments without a launch, and synchronization points."""

    problem: solver.Problem
    launch_free: Bools
    points: SyncPoints

    def solve(self) -> Solution:
        """Return the bounds of all events by these claims."""
        return solver.solve(self.problem, self.launch_free, self.points)

    def without_late_waits(self) -> tuple[_Claims, Solution]:
        """Return the claims less returns of waits that others contradict, and the solution.

        A wait returns late if the host's cores are busy: then its return bounds nothing.
        """
        solution = self.solve()
        if not solution.crossing or not (self.points.earliest > NEVER).any():
            return self, solution
        free = replace(self, points=sync_points.drop_earliest(self.points))
        most = free.solve()
        late = self.points.earliest > most.bounds.high[self.points.event]
        if not late.any():
            return (free, most) if most.crossing < solution.crossing else (self, solution)
        points = sync_points.drop_earliest(self.points, late)
        if (points.nearer == NEVER).all() and (points.earliest == NEVER).all():
            return free, most
        claims = replace(self, points=points)
        solution = claims.solve()
        return (free, most) if most.crossing < solution.crossing else (claims, solution)

    def after_pauses(self, solution: Solution) -> tuple[_Claims, Solution]:
        """Return the claims with room for preempted threads if that helps, and the solution.

        Time stamps are claims, too: that the event before them was recorded right then. A thread
        that was preempted in between makes the event look late, and what follows, and the begins of
        ranges around. Events that cross count from the silence on, if their stamp decides them.
        """
        problem, start = self.problem, self.problem.events.start
        due, low = problem.ready[start], solution.bounds.low[start]
        silent = (due - problem.floor > event_pairs.PAUSE_NS) & (low <= due)
        silent &= solution.excess_ns[start] > solver.NOISE_NS
        if not silent.any():
            return self, solution
        ready = problem.ready.copy()
        ready[start[silent]] = problem.floor[silent]
        roomy = replace(self, problem=replace(problem, ready=ready, attempts=solver.Attempts()))
        solved = roomy.solve()
        return (roomy, solved) if solved.crossing < solution.crossing else (self, solution)

    def claimed(self) -> Bools:
        """Return the events at which there is a claim."""
        events = self.launch_free.copy()
        events[self.points.event] = True
        return events

    def without(self, dropped: Bools) -> _Claims:
        """Return the claims less those at some events; waits for the whole device stay."""
        keep = ~dropped[self.points.event] | (self.points.earliest > NEVER)
        points = SyncPoints(
            self.points.event[keep],
            self.points.earliest[keep],
            self.points.nearer[keep],
            self.points.latest[keep],
        )
        return replace(self, launch_free=self.launch_free & ~dropped, points=points)


def _drop_contradicted(all_claims: _Claims, wrong: Bools) -> tuple[_Claims, Solution]:
    """Return the claims less those at both ends of each contradiction, and the solution.

    ``wrong`` are events without claims from the start. If contradictions remain, no claim is used.
    """
    claims, best = all_claims.without(wrong).without_late_waits()
    crossing = best.crossing
    claims, best = claims.after_pauses(best)
    dropped = used = np.zeros(len(wrong), np.bool_)
    for _ in range(_ROUNDS):
        if not best.crossing:
            break
        dropped = dropped | contradicted_ends(best.excess_ns)
        solution = claims.without(dropped).solve()
        if solution.crossing < best.crossing or solution.excess_ns.max() < best.excess_ns.max():
            best, used = solution, dropped
        else:
            dropped = dropped | np.concatenate((dropped[1:], [False]))
    if best.crossing:
        used = np.ones(len(used), np.bool_)
        best = claims.without(used).solve()
    elif used.any():
        rest = used & ~_compatible(claims, best)
        if (rest != used).any():
            solution = claims.without(rest).solve()
            if not solution.crossing:
                best, used = solution, rest
    wrong = (wrong | used) & all_claims.claimed()
    count = int(all_claims.launch_free.sum()) + len(all_claims.points.event)
    return claims.without(used), replace(
        best, dropped=np.flatnonzero(wrong), claims=count, first_crossing=crossing
    )


def _compatible(claims: _Claims, solution: Solution) -> Bools:
    """Return the events at which the claims may hold by a solution that does not use them."""
    bounds, c = solution.bounds, claims.problem.c
    prompt = claims.problem.events.host_high_ns + c.latency_ns + c.jitter_ns
    before = np.concatenate((bounds.low[:1], bounds.low[:-1]))
    fits: Bools = bounds.low <= np.maximum(prompt, before + c.event_high_ns)
    return fits


def contradicted_ends(excess_ns: I64) -> Bools:
    """Return the events at the ends of contradictions, and their neighbors outside.

    Between a wrong claim and the reason that it contradicts, all events cross by the same time;
    beyond, by less with each elapsed time. So the ends are those of the range of largest excess,
    looked for at several levels, as one large contradiction covers smaller ones.
    """
    ends = np.zeros(len(excess_ns), np.bool_)
    level = np.where(excess_ns > solver.NOISE_NS, excess_ns, 0)
    if not level.any():
        return ends
    for share in _LEVELS:
        above = level > share * int(level.max())
        edge = np.flatnonzero(np.diff(above.astype(np.int8), prepend=0, append=0))
        first, last = edge[::2], edge[1::2]
        most = np.maximum.reduceat(np.append(level, 0), edge)[::2]
        run, _ = range_rows(first, last - first)
        inside = np.flatnonzero(above)
        top = inside[level[inside] >= most[run] - solver.NOISE_NS]
        of = run[level[inside] >= most[run] - solver.NOISE_NS]
        begin = np.flatnonzero(np.diff(of, prepend=-1))
        end = following(begin, len(of)) - 1
        for event in (top[begin] - 1, top[begin], top[end], top[end] + 1):
            ends[np.clip(event, 0, len(ends) - 1)] = True
    return ends
