"""Predict how long steps take with changes, and bound the error of the saving.

A prediction is the measured time less the saving in the replay. The saving is computed in
alternative replays, too: without unexplained delays, and with inferred activities as short and as
long as their bounds allow. The differences between these savings give the error bound.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.simulation import changes
from tb_privateuse1.analysis.simulation.changes import Change
from tb_privateuse1.analysis.simulation.dependency_graph import Graph
from tb_privateuse1.analysis.simulation.replay import Weights
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I64


def judged_steps(trace: Trace, row: int | None) -> I64:
    """Return the selected step, or the complete ones that were not primed, else all."""
    if row is not None:
        return np.array([row])
    steps = trace.steps
    complete = np.flatnonzero(~steps.incomplete & ~steps.primed)
    return complete if len(complete) else np.arange(len(steps))


def step_durations(trace: Trace, graph: Graph, weights: Weights) -> I64:
    """Return the length of each step's window in a replay, by the rules of ``inference.steps``."""
    return _lengths(trace, graph, graph.network.replay(weights), weights.length)


def _lengths(trace: Trace, graph: Graph, time: I64, own: I64) -> I64:
    """Return the steps' lengths for node starts ``time`` and node durations ``own``."""
    steps = len(trace.steps)
    first = np.where(graph.step_first >= 0, np.append(time, 0)[graph.step_first], 0)
    end = first.copy()
    np.maximum.at(end, graph.end_step, time[graph.end_node] + own[graph.end_node])
    if not steps:
        return end
    before = np.concatenate((first[:1], np.maximum.accumulate(end)[:-1]))
    length: I64 = np.maximum(end - np.maximum(first, before), 0)
    return length


@dataclass(frozen=True)
class Baseline:
    """The replays without changes, per step: as recorded, and in alternatives (``_variants``)."""

    held: I64
    others: tuple[I64, ...]

    @property
    def bare(self) -> I64:
        """The lengths without unexplained delays."""
        return self.others[0]


def replay_baseline(trace: Trace, graph: Graph) -> Baseline:
    """Return the replays without changes; the one with delays is the recording."""
    recorded = _lengths(trace, graph, graph.time_ns, graph.weights.length)
    return Baseline(recorded, alternative_lengths(trace, graph, graph.weights))


def alternative_lengths(trace: Trace, graph: Graph, weights: Weights) -> tuple[I64, ...]:
    """Return the steps' lengths in the alternatives: without delays, at the ends of the bounds."""
    return tuple(step_durations(trace, graph, other) for other in _variants(trace, graph, weights))


def _variants(trace: Trace, graph: Graph, weights: Weights) -> Iterator[Weights]:
    """Yield the weights without delays and, of inferred activities, the shortest and longest."""
    yield weights.bare()
    error = trace.kernels.duration_bound_ns
    if not error.any() or (error == MISSING).any():
        return
    # A change scales the error with the duration.
    n = len(graph.points)
    was = np.maximum(graph.weights.length[n:], 1)
    error = np.rint(error * (weights.length[n:] / was)).astype(np.int64)
    for sign in (-1, 1):
        length = weights.length.copy()
        length[n:] = np.maximum(length[n:] + sign * error, 0)
        yield dataclasses.replace(weights, length=length)


@dataclass(frozen=True)
class Prediction:
    """The saving per step. ``bound`` is ``MISSING`` if the durations' bounds are not known."""

    gain: I64
    bound: I64


def predict(trace: Trace, graph: Graph, base: Baseline, made: tuple[Change, ...]) -> Prediction:
    """Return the saving of changes in each step, and its error bound."""
    nothing = np.zeros(len(trace.steps), np.int64)
    if not made:
        return Prediction(nothing, nothing)
    weights = changes.apply_changes(graph, trace, made)
    gain = base.held - step_durations(trace, graph, weights)
    if (trace.kernels.duration_bound_ns == MISSING).any():
        return Prediction(gain, np.full(len(gain), MISSING))
    bound = nothing
    for before, after in zip(base.others, alternative_lengths(trace, graph, weights), strict=True):
        bound = np.maximum(bound, np.abs(before - after - gain))
    return Prediction(gain, bound)


def mean_bound(bounds: I64) -> int | None:
    """Return the mean bound of some steps; None if one is not known."""
    if (bounds == MISSING).any() or not len(bounds):
        return None
    return round(float(bounds.mean()))
