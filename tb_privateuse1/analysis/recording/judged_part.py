"""Find the steady part of a recording, which figures and advice are about."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tb_privateuse1.analysis.recording import iterations as recording_iterations
from tb_privateuse1.analysis.recording.phases import FIRST_TIME, KINDS, phases, time_of
from tb_privateuse1.analysis.recording.workload import workload
from tb_privateuse1.analysis.steps import judged_window
from tb_privateuse1.analysis.steps.table import Spread, spread_of
from tb_privateuse1.trace import intervals, processes
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

MATERIAL = 0.1
"""Share of a step. A step with more first-time or edge work is not steady."""

_FEWEST = 2
"""Steady steps; with fewer, steps with work at an edge only stay, without that edge."""


class JudgedPart(Struct, frozen=True):
    """The judged steps (rows of ``trace.steps``) and their time; the time is empty if none is
    steady.
    """

    steps: I64
    window: intervals.Set
    left_out: I64
    """Complete steps that are not steady."""
    apart: intervals.Set
    """Time of the judged steps that is not judged: another phase, or behind the last event."""
    lengths_ns: I64
    """The judged time of each of ``steps``: its mean is the *steady step*."""
    is_steady: bool = True
    """False if each step is a start-up, a compilation or a capture, and nothing repeats later."""
    iterations_ns: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    """Lengths of the iterations that stand for steps: of serving without steps, and of those that
    are judged because no step is steady; else empty."""
    of_iterations: bool = False
    """Whether the window is that of iterations behind such steps."""

    @property
    def steady_step_ns(self) -> int | None:
        """Return the judged time of a step, on average; None if nothing is judged."""
        if not self.is_steady or not len(self.steps):
            return None
        if len(self.iterations_ns):
            return round(float(self.iterations_ns.mean()))
        return round(float(self.lengths_ns.mean()))


def judged_part(trace: Trace, row: int | None = None) -> JudgedPart:
    """Return the steady part of all steps, or of one row of ``trace.steps``.

    Complete steps come before incomplete ones, and before those in which our capture kept the
    device busy. Of several recordings in one file nothing is judged.
    """
    steps = trace.steps
    candidates = np.arange(len(steps)) if row is None else np.array([row])
    if processes.is_joined(trace):
        return _part(trace, candidates[:0], intervals.EMPTY, candidates)
    complete = candidates[~steps.incomplete[candidates] & ~steps.primed[candidates]]
    chosen = complete if len(complete) else candidates
    found = phases(trace)
    first_time = time_of(found, FIRST_TIME)
    edges = time_of(found, set(KINDS) - FIRST_TIME - {"steady"})
    start, end = steps.start_ns[chosen], steps.end_ns[chosen]
    length = np.maximum(end - start, 1)
    at_edge = intervals.covered_length(edges, start, end)
    # First-time work is the host's: the device may still be in an earlier step.
    own = steps.take(chosen)
    first = intervals.covered_length(first_time, own.host_start_ns, own.host_end_ns)
    host = own.host_end_ns - own.host_start_ns
    warm = first < MATERIAL * np.maximum(np.maximum(length - at_edge, host - at_edge), 1)
    clean = warm & (at_edge < MATERIAL * length)
    kept = clean if np.count_nonzero(clean) >= _FEWEST else warm
    if len(warm) and not warm.any():
        each = _steady_iterations(trace, first_time) if row is None else intervals.EMPTY
        found_any = len(each[0]) > 0
        part = _part(trace, chosen, intervals.union(*each), chosen[:0], is_steady=found_any)
        return replace(part, iterations_ns=each[1] - each[0], of_iterations=found_any)
    window = judged_window.judged_window(trace, chosen[kept])
    window = intervals.subtract(window, intervals.merge(first_time, edges))
    part = _part(trace, chosen[kept], window, chosen[~kept])
    return replace(part, iterations_ns=_of_serving(trace)) if row is None else part


def iteration_spread(trace: Trace) -> Spread | None:
    """Return the spread of the judged iterations that stand for steps; None where steps count.

    They are the host's ranges, which are measured. Recordings with steps are not judged for this.
    """
    if recording_iterations.has_steps(trace):
        return None
    lengths: list[int] = judged_part(trace).iterations_ns.tolist()
    return spread_of(lengths, bound_ns=0) if lengths else None


def phase_part(trace: Trace, rows: I64) -> JudgedPart:
    """Return rows of ``trace.steps``, without the time of work from before the recording."""
    drained = time_of(phases(trace), ("drain",))
    window = intervals.subtract(judged_window.judged_window(trace, rows), drained)
    return _part(trace, rows, window, rows[:0])


def whole_part(trace: Trace) -> JudgedPart:
    """Return all steps, with all of their time."""
    rows = np.arange(len(trace.steps))
    window = judged_window.judged_window(trace, rows)
    return _part(trace, rows, window, rows[:0])


def _part(
    trace: Trace, rows: I64, window: intervals.Set, left_out: I64, *, is_steady: bool = True
) -> JudgedPart:
    """Return the judged part; if none is steady, the steps have their whole lengths."""
    start, end = trace.steps.start_ns[rows], trace.steps.end_ns[rows]
    if not is_steady:
        return JudgedPart(rows, window, left_out, intervals.EMPTY, end - start, is_steady)
    apart = intervals.subtract(intervals.union(start, end), window)
    return JudgedPart(rows, window, left_out, apart, intervals.covered_length(window, start, end))


def _of_serving(trace: Trace) -> I64:
    """Return the times from each iteration of an engine to the next; empty where steps count."""
    found = recording_iterations.iterations(trace)
    if found is None or found.source == "steps" or workload(trace).kind != "serving":
        return np.empty(0, np.int64)
    return np.diff(found.start_ns)


def _steady_iterations(trace: Trace, first_time: intervals.Set) -> intervals.Set:
    """Return the iterations behind the last first-time work, one by one: two or more, or none."""
    found = recording_iterations.iterations(trace)
    if found is None or found.source == "steps":
        return intervals.EMPTY
    after = found.start_ns >= first_time[1][-1]
    if np.count_nonzero(after) < _FEWEST:
        return intervals.EMPTY
    return found.start_ns[after], found.end_ns[after]
