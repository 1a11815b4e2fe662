"""Predict how long steps take with changes, as a range.

A prediction is the measured time less the saving in the replay. The saving is computed under
competing assumptions, too (``assumptions``). The range holds the savings under all of them. It is
never narrower than the replay fits the recording.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tb_privateuse1.analysis.simulation import changes
from tb_privateuse1.analysis.simulation.assumptions import Name
from tb_privateuse1.analysis.simulation.baseline import Baseline, durations_each
from tb_privateuse1.analysis.simulation.changes import Change
from tb_privateuse1.analysis.simulation.dependency_graph import Graph
from tb_privateuse1.analysis.simulation.replay import Weights
from tb_privateuse1.trace import call_tree, device_times
from tb_privateuse1.trace.columns import containing
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.statistics import student_t
from tb_privateuse1.trace.table import I64

Times = NDArray[np.float64]

MARGIN = 0.2
"""Changed code meets other caches, clocks and schedules. A gain is known no better than this share:
the median error of the developed pairs was 18 % when it was chosen (docs/internals/pairs.md)."""

CENTRAL: tuple[Name, ...] = ("no_nameless_delays", "no_profiler")
"""The assumptions that ``likely_gains`` and the replay's error need."""

_FEWEST = 2
"""Steps with which the error of their mean is known."""

_OUTSIDE = 0.15
"""A range is meant to hold 85 % of gains: the mean gain of few steps is as sure as that."""

REPLACED = 0.07
"""In a step a replacement takes what it takes alone, but for this share: the median of the four
developed pairs whose changes say it (docs/internals/pairs.md)."""


class GainRange(Struct, frozen=True):
    """A gain in ns, and the least and greatest one; null if inferred times have no bounds."""

    gain_ns: int
    low_ns: int | None
    high_ns: int | None


class Prediction(Struct, frozen=True):
    """The gain per step, in the central replay and under each assumption."""

    gain: I64
    others: tuple[Times, ...]
    likely: tuple[Times, ...]
    """The gain without the profiler's time, or as recorded where that is not known; with a part of
    the data loader's time, and none where the device's work is not known. The truth is between
    them: a prediction is their middle."""
    waits: I64
    """The waits for unknown work and other ranks in each step: they may take up a gain."""
    held: I64
    """The length of each step in the replay of what is known: no gain is greater."""
    error: I64
    """By how much that misses each step."""
    least_ns: int
    """No gain is known better than this."""
    has_bounds: bool
    """False if the bound of an inferred activity is not known."""
    may_vanish: bool
    """The device's work is not known, or what comes in its place: that may take up the gain."""
    shortens: bool
    """No time is longer than in the recording, so no step can be."""
    lengthens: bool
    most: float = 1.0
    """How many times the gain it may be (``Scope.most``)."""
    least: float = 1.0
    """How many times the gain it is at least (``Scope.least``)."""

    def mean(self, rows: I64) -> GainRange:
        """Return the mean gain of some steps, and its range."""
        if not len(rows) or not (self.shortens or self.lengthens):
            return GainRange(0, 0, 0)
        gain = float(self.gain[rows].mean())
        if not self.has_bounds:
            return GainRange(round(gain), None, None)
        others = [gain, *(float(one[rows].mean()) for one in self.others)]
        low, high = min(others), max(others)
        low -= max(low, 0.0) if self.may_vanish else min(max(low, 0.0), self._waiting_ns(rows))
        error = abs(float(self.error[rows].mean()))
        margin = max(error, MARGIN * abs(gain), float(self.least_ns))
        # How steps differ is independent of what the recording does not say.
        noise = self._noise_ns(rows)
        low = gain - math.hypot(max(gain - low, margin), noise)
        low = min(low, self.least * gain) if gain > 0 else low
        most = max(gain, float(self.held[rows].mean()))
        further = (self.most - 1) * max(gain, 0.0)
        high = min(gain + math.hypot(max(high - gain, margin), noise) + further, most)
        if not self.lengthens:
            low, high = max(low, min(gain, 0.0)), max(high, 0.0)
        if not self.shortens:
            low, high = min(low, 0.0), min(high, max(gain, 0.0))
        return GainRange(round(gain), round(low), round(high))

    def _waiting_ns(self, rows: I64) -> float:
        return float(self.waits[rows].mean())

    def _noise_ns(self, rows: I64) -> float:
        """Return how far the mean gain of some steps may be off; 0 of a single one."""
        if len(rows) < _FEWEST:
            return 0.0
        error = float(self.gain[rows].std(ddof=1)) / math.sqrt(len(rows))
        return float(student_t(_OUTSIDE, len(rows) - 1)) * error


def share_of(gain_ns: float, net_ns: float) -> float:
    """Return a gain as a share of the step without the profiler's own time, at most 1.

    A part of the gain of a data loader is one of the recorded step, which may be longer.
    """
    return min(gain_ns / net_ns, 1.0)


def predict(trace: Trace, graph: Graph, base: Baseline, made: tuple[Change, ...]) -> Prediction:
    """Return the gain of changes in each step."""
    return predict_each(trace, graph, base, [made])[0]


Look = Callable[[int, Weights, I64], None]
"""What is shown the likely replay of each set of changes: its place, its weights, and its times."""


def predict_each(
    trace: Trace,
    graph: Graph,
    base: Baseline,
    wanted: Sequence[tuple[Change, ...]],
    look: Look | None = None,
) -> list[Prediction]:
    """Return the gain of each set of changes in each step; one set does not count for another.

    ``look`` is shown the replays without the profiler's time, where that is known; not those of
    sets that change nothing, or that take the profiler away themselves.
    """
    plans = [_plan(trace, graph, base, made) for made in wanted]
    return [
        replace(found, gain=_between(found.likely)) if found.likely else found
        for found in _predicted(trace, graph, base, plans, look)
    ]


def likely_gains(
    trace: Trace, graph: Graph, base: Baseline, wanted: Sequence[tuple[Weights, bool]]
) -> list[I64]:
    """Return the gains of weights in each step as ``predict`` does, without their ranges.

    The flag says whether the change is one of the data loader.
    """
    made = base.assumptions
    replays: list[Weights] = []
    places: list[list[int]] = []
    for weights, of_loader in wanted:
        judged = made.judged(graph.weights, weights)
        partly = made.partly_loaded(judged) if of_loader else None
        places.append([len(replays)])
        replays.append(made.net(judged))
        if partly is not None:
            places[-1].append(len(replays))
            replays.append(partly)
    lengths = list(durations_each(graph, replays))
    none = [np.zeros(len(base.held))] if _may_vanish(trace) else []
    return [
        _between([base.net - lengths[first], *(base.held - lengths[i] for i in more), *none])
        for first, *more in places
    ]


def _may_vanish(trace: Trace) -> bool:
    """Return whether the device's work is not known: it may take up any gain."""
    return not len(trace.kernels) and device_times.known_times(trace) != "host"


def _between(likely: Sequence[Times | I64]) -> I64:
    """Return the middle of the least and the greatest of equally likely gains."""
    least, most = (limit.reduce(likely) for limit in (np.minimum, np.maximum))
    middle: I64 = np.rint((least + most) / 2).astype(np.int64)
    return middle


class _Plan(Struct, frozen=True):
    """The replays of a prediction: a change, under each assumption, and made in other ways."""

    weights: Weights
    shortens: bool
    lengthens: bool
    under: dict[Name, Weights]
    alternatives: tuple[Weights, ...]
    """The range holds their gains, too."""
    partly: Weights | None
    of_loader: bool
    most: float = 1.0
    """How many times the gain it may be."""
    least: float = 1.0
    """How many times the gain it is at least."""
    may_vanish: bool = False
    """What comes in the place of what goes may take up the gain."""

    @property
    def replays(self) -> tuple[Weights, ...]:
        """Return all of these weights; none if nothing changes."""
        if not (self.shortens or self.lengthens):
            return ()
        partly = () if self.partly is None else (self.partly,)
        return (self.weights, *self.under.values(), *self.alternatives, *partly)


def _plan(trace: Trace, graph: Graph, base: Baseline, made: tuple[Change, ...]) -> _Plan:
    earlier = base.earlier
    others = [
        changes.apply_changes(graph, trace, made, earlier, with_callers=True),
        *(changes.apply_changes(graph, trace, one, earlier) for one in _otherwise(made)),
    ]
    weights = changes.apply_changes(graph, trace, made, earlier)
    # Without the profiler, there is nothing of it to take away.
    without: tuple[Name, ...] = ()
    if any(change.kind in changes.RECORDING for change in made):
        without = ("no_profiler", "costly_profiler")
    of_loader = is_of_loader(made)
    plan = _plan_weights(graph, base, weights, *others, without=without, of_loader=of_loader)
    scopes = [one.scope for one in made if one.scope]
    return replace(
        plan,
        most=max((one.most for one in scopes), default=1.0),
        least=min((one.least for one in scopes), default=1.0),
        may_vanish=any(one.may_vanish for one in scopes),
    )


def _otherwise(made: tuple[Change, ...]) -> list[tuple[Change, ...]]:
    """Return the changes with faster and with slower replacements of what they change.

    None if a range holds these anyway: a replacement that takes nearly as long as what it replaces
    gains the small difference of two large times.
    """
    unsure = [_is_unsure(one) for one in made]
    return [
        tuple(
            replace(one, factor=one.factor * factor) if so else one
            for one, so in zip(made, unsure, strict=True)
        )
        for factor in (1 - REPLACED, 1 + REPLACED)
        if any(unsure)
    ]


def _is_unsure(one: Change) -> bool:
    away = abs(1 - one.factor)
    return one.kind not in changes.RECORDING and 0 < MARGIN * away < REPLACED * one.factor


def is_of_loader(made: tuple[Change, ...]) -> bool:
    """Return whether one of the changes is of the data loader."""
    return any(
        one.kind == "data_loader"
        or (one.kind, one.name) == ("class", "input")
        or one.name.startswith(call_tree.LOADER)
        for one in made
    )


def _plan_weights(
    graph: Graph,
    base: Baseline,
    weights: Weights,
    *alternatives: Weights,
    without: tuple[Name, ...] = (),
    of_loader: bool = False,
) -> _Plan:
    """Return what is to be replayed. ``without`` are assumptions that contradict the change."""
    made = base.assumptions
    weights = made.judged(graph.weights, weights)
    shortens, lengthens = _directions(base.weights, weights)
    under = dict(zip(made.names, made.under(weights), strict=True))
    return _Plan(
        weights=weights,
        shortens=shortens,
        lengthens=lengthens,
        under={name: one for name, one in under.items() if name not in without},
        alternatives=tuple(made.judged(graph.weights, one) for one in alternatives),
        partly=made.partly_loaded(weights),
        of_loader=of_loader,
    )


def _predicted(
    trace: Trace, graph: Graph, base: Baseline, plans: Sequence[_Plan], look: Look | None
) -> list[Prediction]:
    """Return the gains of plans, all of whose replays are made together."""
    is_net = base.assumptions.is_net
    shown = {
        id(plan.under.get("no_profiler") if is_net else plan.weights): place
        for place, plan in enumerate(plans)
    }

    def watch(weights: Weights, time_ns: I64) -> None:
        if look is not None and id(weights) in shown:
            look(shown[id(weights)], weights, time_ns)

    lengths = durations_each(graph, [one for plan in plans for one in plan.replays], watch)
    return [
        _of_plan(trace, graph, base, plan, [next(lengths) for _ in plan.replays]) for plan in plans
    ]


def _of_plan(
    trace: Trace, graph: Graph, base: Baseline, plan: _Plan, lengths: list[I64]
) -> Prediction:
    """Return the gain of a plan; ``lengths`` are the steps' in each of its replays."""
    if not lengths:
        nothing = np.zeros(len(base.held), np.int64)
        return Prediction(nothing, (), (), nothing, nothing, nothing, 0, True, False, False, False)
    made = base.assumptions
    gain = (base.held - lengths[0]).astype(np.float64)
    others, likely = [gain], [gain]
    befores = dict(zip(made.names, base.others, strict=True))
    count = 1 + len(plan.under)
    for name, length in zip(plan.under, lengths[1:count], strict=True):
        before = befores[name]
        other = before - length
        others.append(other.astype(np.float64))
        if name == "no_profiler":  # the same share of the recorded step
            likely = others[-1:] if made.overhead_is_known else likely
            others.append(other * (base.held / np.maximum(before, 1)))
    others += [(base.held - length).astype(np.float64) for length in lengths[count:]]
    if plan.partly is not None:
        likely += others[-1:] if plan.of_loader else []
    may_vanish = plan.may_vanish or _may_vanish(trace)
    if may_vanish:
        likely.append(np.zeros(len(gain)))
    return Prediction(
        gain=likely[0].astype(np.int64),
        others=tuple(others),
        likely=tuple(likely),
        waits=_by_step(trace, graph.time_ns, made.waits(plan.weights)),
        held=base.held,
        error=base.bare - base.held,
        least_ns=graph.latency_ns,
        has_bounds=not bool((trace.kernels.duration_bound_ns == MISSING).any()),
        may_vanish=may_vanish,
        shortens=plan.shortens,
        lengthens=plan.lengthens,
        most=plan.most,
        least=plan.least,
    )


def _directions(was: Weights, now: Weights) -> tuple[bool, bool]:
    """Return whether any time is shorter, and whether any is longer."""
    pairs = (
        (was.length, now.length),
        (was.gap, now.gap),
        (was.delay, now.delay),
        (was.edge_gap, now.edge_gap),
        (was.at, now.at),
    )
    return (
        any(bool((new < old).any()) for old, new in pairs),
        any(bool((new > old).any()) for old, new in pairs),
    )


def _by_step(trace: Trace, at_ns: I64, spent: I64) -> I64:
    """Return the time spent from some instants on, by the step in which they lie."""
    steps = trace.steps
    return sums(containing(steps.start_ns, steps.end_ns, at_ns), spent, len(steps))
