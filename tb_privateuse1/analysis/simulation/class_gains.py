"""Compute what the step gains without a class of time, by replays.

The gain of a class is the what-if's of ``class:NAME=0``. A step with half of a class is no longer
than the mean of those with all of it and with none, so half gains at least half as much.

A host that waits for the device in what is not recorded hides what the device's work costs. So the
gain without that work has a greatest value, too, in which the host does not wait there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct

from tb_privateuse1.analysis.account.classes import CLASSES, ClassName, Group
from tb_privateuse1.analysis.account.table import Account
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.recording.judged_part import JudgedPart
from tb_privateuse1.analysis.simulation import baseline, launches_and_waits, prediction, scopes
from tb_privateuse1.analysis.simulation.baseline import Baseline
from tb_privateuse1.analysis.simulation.dependency_graph import Graph, build_graph
from tb_privateuse1.analysis.simulation.excerpt import Excerpt, cut_excerpt
from tb_privateuse1.analysis.simulation.replay import Weights
from tb_privateuse1.analysis.simulation.scopes import Factors, Scope
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace

Key = TypeVar("Key")

_EVENTS = 30_000
"""Steps from the middle of a longer recording are replayed: these take some 50 ms."""

_STEP_EVENTS = 150_000
"""A single step of more events is not replayed."""

LITTLE = 0.01
"""Share of the step: classes with less time are not replayed, and gains closer than this are alike.
"""


class ClassGains(Struct, frozen=True):
    """Gains per step, in ns."""

    step_ns: int
    """The mean length of the replayed steps."""
    net_ns: float
    """That without the profiler's own time, the whole of a gain's share."""
    steps: int
    groups: Mapping[Group, int]
    device_most_ns: int
    """The gain without the device's work, if the host waits for it in what is not recorded."""
    classes: Mapping[ClassName, int]
    """The classes of the groups that gain most."""
    alike_ns: int
    """Gains that are closer are alike: within what the replay misses, or a little."""

    def share(self, gain_ns: int) -> float:
        """Return a gain as a share of the step without the profiler's own time."""
        return prediction.share_of(gain_ns, self.net_ns)

    @property
    def is_net(self) -> bool:
        """Return whether the profiler takes a part of the step that can be read."""
        return round(self.step_ns - self.net_ns) >= LITTLE * self.step_ns

    def may_exceed(self, gain_ns: int, most_ns: int) -> bool:
        """Return whether a gain may be no less than a greater one, as far as the replay knows."""
        return _may_exceed(gain_ns, most_ns, self.alike_ns)

    def most(self, group: Group) -> int:
        """Return the greatest gain of a group that cannot be excluded."""
        return max(self.groups[group], self.device_most_ns if group == "device" else 0)


def class_gains(trace: Trace, part: JudgedPart, account: Account) -> ClassGains | None:
    """Return what the judged steps gain; None if a step is too long, or no class can change."""
    cut = cut_excerpt(trace, part.steps, _EVENTS) or cut_excerpt(trace, part.steps, _STEP_EVENTS)
    if cut is None or not len(cut.steps):
        return None
    replay = _Replay(cut, part.apart)
    least = LITTLE * account.window_ns
    large = [one for one in account.classes if one.ns >= least and one.name in replay.known]
    of_group = {
        group: [one.name for one in CLASSES if one.group == group and one.name in replay.known]
        for group in {one.group for one in large}
    }
    if not large:
        return None
    groups = replay.gains(of_group)
    device_most = replay.most_without(of_group["device"]) if "device" in groups else 0
    most = max(*groups.values(), device_most)

    near = [
        group
        for group, gain in groups.items()
        if _may_exceed(max(gain, device_most if group == "device" else 0), most, replay.alike_ns)
    ]
    classes = replay.gains({one.name: [one.name] for one in large if one.group in near})
    return ClassGains(
        replay.step_ns,
        replay.net_ns,
        len(cut.steps),
        groups,
        device_most,
        classes,
        replay.alike_ns,
    )


def _may_exceed(gain_ns: int, most_ns: int, alike_ns: int) -> bool:
    # Both gains are off by a share of themselves (``prediction.MARGIN``).
    doubt_ns = max(alike_ns, prediction.MARGIN * (max(gain_ns, 0) + most_ns))
    return gain_ns >= most_ns - doubt_ns


class _Replay:
    """The replay of an excerpt without some classes."""

    def __init__(self, cut: Excerpt, apart: intervals.Set) -> None:
        self._trace, self._steps = cut.trace, cut.steps
        self._graph: Graph = build_graph(cut.trace)
        self._base: Baseline = baseline.replay_baseline(
            cut.trace, self._graph, apart, only=prediction.CENTRAL
        )
        judged = intervals.subtract(cut.window, apart)
        self.step_ns = max(round(intervals.length(judged) / len(cut.steps)), 1)
        self.net_ns = self._base.net_ns(self.step_ns, cut.steps)
        error = float((self._base.bare - self._base.held)[cut.steps].mean())
        self.alike_ns = round(max(abs(error), LITTLE * self.step_ns))
        self.known = frozenset(scopes.has_time(cut.trace))
        self._scopes: dict[ClassName, Scope] = {}

    def most_without(self, names: list[ClassName]) -> int:
        """Return the gain without the device's work and without possible waits for it."""
        points, kernels = self._graph.points, self._trace.kernels
        start = points.at_ns - points.gap_ns
        calls = device_bound.find_waits(self._trace)
        submission = launches_and_waits.find_submissions(self._trace, calls)
        waits = launches_and_waits.may_drain(kernels, submission, start, points.at_ns)
        factors = self._factors(names)
        factors.host[waits] = factors.events[waits] = 0
        return self._mean([(factors.weights(), False)])[0]

    def gains(self, wanted: Mapping[Key, list[ClassName]]) -> dict[Key, int]:
        """Return the mean gain of a step without the classes of each entry."""
        weights = [(self._factors(each).weights(), each == ["input"]) for each in wanted.values()]
        return dict(zip(wanted, self._mean(weights), strict=True))

    def _mean(self, weights: list[tuple[Weights, bool]]) -> list[int]:
        found = prediction.likely_gains(self._trace, self._graph, self._base, weights)
        return [round(float(gain[self._steps].mean())) for gain in found]

    def _factors(self, names: list[ClassName]) -> Factors:
        for name in names:
            if name not in self._scopes:
                self._scopes[name] = scopes.class_scope(self._trace, name)
        factors = Factors(self._graph)
        factors.scale(scopes.join_scopes([self._scopes[name] for name in names]), 0)
        return factors
