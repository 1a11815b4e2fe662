"""Compute what each finding's fix saves, by a replay of the step with it, else by an estimate.

A finding's fix is a change of the what-if. Its saving is the gain of that change alone. Behind the
findings above it, it saves what a replay of all their changes together gains by it. The profiler's
own time, as the what-if estimates it, is no saving.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.advice.next_limit import NextLimit, next_limit
from tb_privateuse1.advice.read_steps import ReadSteps
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.analysis.simulation import changes, prediction, profiler_time
from tb_privateuse1.analysis.simulation.changes import Change
from tb_privateuse1.analysis.simulation.prediction import GainRange
from tb_privateuse1.analysis.simulation.replay import Weights
from tb_privateuse1.analysis.simulation.replayed_account import ReplayedClass, replayed_account
from tb_privateuse1.analysis.simulation.replayed_part import Made, ReplayedPart
from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.isolation import Failure, isolate
from tb_privateuse1.trace.table import I64

_MOST_REPLAYS = 16
"""The greatest findings are replayed, at most this many: no recording at hand has more."""

_AGREES = 0.05
"""Share of the claim. A gain that differs by less is the claimed time."""


class Claim(Struct, frozen=True):
    """The time that a finding claims, and the change that saves it."""

    how: str
    """The rule's words."""
    time: intervals.Set
    change: Change | None


class Saving(Struct, frozen=True):
    """The saving of a finding alone, over all judged steps."""

    ns: int
    how: str
    """How it was computed: the rule's words and the replay's."""
    change: Change | None = None
    """The change whose gain it is; None without a replay."""
    low_ns: int | None = None
    high_ns: int | None = None
    next: NextLimit | None = None


class Savings:
    """Savings of a trace's findings in all judged steps, from one replay.

    Claims are of the steps that were read, which may stand for all.
    """

    def __init__(self, read: ReadSteps) -> None:
        self._read = read
        self._case = read.case
        self._steps = max(len(read.whole.steps), 1)
        self._left = _MOST_REPLAYS
        self._is_replayed = False

    @property
    def net_ns(self) -> int:
        """Return the judged time in ns without the profiler's own, the whole of a saving's share.

        It is the judged time itself where nothing was replayed.
        """
        whole = self._read.whole.window_ns
        if not self._is_replayed:
            return whole
        return round(self._steps * self._replay.net_ns(whole / self._steps))

    def share(self, ns: int) -> float:
        """Return a saving as a share of ``net_ns``; 0 if nothing is judged."""
        return prediction.share_of(ns, self.net_ns) if self.net_ns else 0.0

    def per_step_ns(self, ns: int) -> int:
        """Return a saving of all judged steps as that of one."""
        return round(ns / self._steps)

    def in_all(self, time: intervals.Set) -> int:
        """Return the length of time of the read steps in all judged ones, in ns."""
        return self._read.in_all_ns(intervals.length(time))

    @property
    def _replay(self) -> ReplayedPart:
        return self._read.replay

    def of(self, claims: Sequence[Claim]) -> list[Saving]:
        """Return the saving of each claim; no claim counts for another."""
        if self._case.limits.known == "none":
            return [self._net(claim) for claim in claims]
        wanted = [i for i, claim in enumerate(claims) if claim.change is not None]
        found = {i: self._net(one) for i, one in enumerate(claims) if one.change is None}
        for i in wanted[self._left :]:
            reason = say("Not replayed: there are greater findings.")
            found[i] = self._net(claims[i], reason)
        wanted = wanted[: self._left]
        self._left -= len(wanted)
        replayed = isolate(
            say("The replay of findings"), lambda: self._replayed([claims[i] for i in wanted])
        )
        for place, i in enumerate(wanted):
            if isinstance(replayed, Failure):
                reason = say("Not replayed: the replay failed ({reason}).", reason=replayed.reason)
                found[i] = self._net(claims[i], reason)
            elif isinstance(replayed, str):
                found[i] = self._net(claims[i], replayed)
            else:
                found[i] = replayed[place]
        most = self.net_ns
        each = (found[i] for i in range(len(claims)))
        return [one if one.change else replace(one, ns=min(one.ns, most)) for one in each]

    def behind(self, ordered: Sequence[Change]) -> list[int] | None:
        """Return what each change gains behind those before it, in all judged steps.

        The sum is the gain of all together. None if the replay fails.
        """
        wanted = [tuple(ordered[: i + 1]) for i in range(len(ordered))]
        gains = isolate(
            say("The replay of findings together"),
            lambda: self._replay.gains(wanted) if wanted else [],
        )
        if isinstance(gains, Failure):
            return None
        return [self._steps * (b - a) for a, b in itertools.pairwise((0, *gains))]

    def _replayed(self, claims: Sequence[Claim]) -> list[Saving] | str:
        """Return the savings by the what-if, or why there are none."""
        if not claims:
            return []
        kernels = self._case.trace.kernels
        if 2 * np.count_nonzero((kernels.launch < 0) & (kernels.op < 0)) > len(kernels):
            return say("Not replayed: the launches of most activities are not recorded.")
        if self._replay.is_long:
            return say("Not replayed: a step is too long for that.")
        made = [(claim.change,) for claim in claims if claim.change is not None]
        accounts: dict[int, Mapping[ReplayedClass, int]] = {}

        def look(place: int, weights: Weights, time_ns: I64) -> None:
            accounts[place] = self._account(weights, time_ns)

        found = list(self._replay.predict(made, look))
        self._is_replayed = True
        # Those of changes that change nothing are that of now.
        now, *rest = self._accounts([(), *(made[i] for i in range(len(made)) if i not in accounts)])
        others = iter(rest)
        after = [accounts[i] if i in accounts else next(others) for i in range(len(made))]
        return [
            self._saving(claim, one.mean(self._replay.steps), now, then)
            for claim, one, then in zip(claims, found, after, strict=True)
        ]

    def _saving(
        self,
        claim: Claim,
        gain: GainRange,
        now: Mapping[ReplayedClass, int],
        then: Mapping[ReplayedClass, int],
    ) -> Saving:
        """Return the saving; ``now`` and ``then`` are accounts without and with the change."""
        part, steps = self._replay, self._steps
        after = next_limit(self._case, claim.time, part.cut.window, now, then)
        ns, (low, high) = steps * gain.gain_ns, _times(steps, gain)
        return Saving(ns, self._words(claim, ns, low, high), claim.change, low, high, after)

    def _words(self, claim: Claim, ns: int, low: int | None, high: int | None) -> str:
        """Return the rule's words on the claim, and how the replay differs from it."""
        claimed, share = self.in_all(claim.time), self.share
        words = [claim.how]
        if low is None or high is None:
            words.append(say("The saving is what the steps gain in a replay without it."))
        else:
            words.append(
                say(
                    "The saving is what the steps gain in a replay without it: {low} to {high}.",
                    low=percent(share(low)),
                    high=percent(share(high)),
                )
            )
            if share(low) < NOISE and self._case.trace.meta.timeline == "inferred":
                words.append(say("The device times are inferred: it may also be nothing."))
        if ns > (1 + _AGREES) * claimed:
            words.append(say("What comes later is earlier as well."))
        elif ns < (1 - _AGREES) * claimed:
            words.append(say("For the rest of that time something else would be waited for."))
            if self._replay.base.assumptions.is_net:
                words.append(say("The profiler's own time is taken off."))
        few = len(self._replay.steps)
        if few < len(self._read.whole.steps):
            words.append(say("{few} of {all} steps were replayed.", few=few, all=self._steps))
        return join_sentences(words)

    def _accounts(self, wanted: Sequence[Made]) -> list[Mapping[ReplayedClass, int]]:
        """Return the time of all replayed steps by class, without the profiler's if it is known."""
        part, graph, assumed = self._replay, self._replay.graph, self._replay.base.assumptions
        weights = [
            assumed.net(
                assumed.judged(
                    graph.weights, changes.apply_changes(graph, part.trace, part.made(made))
                )
            )
            for made in wanted
        ]
        times = graph.network.replay_each(weights)
        return [self._account(one, time_ns) for one, time_ns in zip(weights, times, strict=True)]

    def _account(self, weights: Weights, time_ns: I64) -> Mapping[ReplayedClass, int]:
        part = self._replay
        return replayed_account(part.trace, part.graph, time_ns, weights.length, part.steps)

    def _net(self, claim: Claim, *words: str) -> Saving:
        """Return a claim less the time that the profiler takes in it on the host."""
        claimed = intervals.length(claim.time)
        by_host = intervals.intersect(claim.time, self._case.idle)
        taken = profiler_time.profiler_ns(self._case.trace, by_host)
        more = [say("The profiler's own time is taken off.")] if taken else []
        ns = self._read.in_all_ns(claimed - taken)
        return Saving(ns, join_sentences([claim.how, *more, *words]))


def _times(steps: int, gain: GainRange) -> tuple[int | None, int | None]:
    """Return the least and the greatest gain of several steps."""
    if gain.low_ns is None or gain.high_ns is None:
        return None, None
    return steps * gain.low_ns, steps * gain.high_ns
