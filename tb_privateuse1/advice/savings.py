"""Saving of each finding: the instants that it claims, within the range of the replay's gain.

The replay removes findings one after another, so no gain counts for two findings. The profiler's
own time, as the what-if estimates it, is no gain of a finding.
"""

from __future__ import annotations

import functools

from msgspec import Struct

from tb_privateuse1.advice.next_limit import NextLimit, next_limit
from tb_privateuse1.advice.removal_replay import Gains, Removal, RemovalReplay
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import percent
from tb_privateuse1.analysis.simulation import excerpt, profiler_time
from tb_privateuse1.analysis.simulation.dependency_graph import build_graph
from tb_privateuse1.analysis.simulation.replayed_account import ReplayedClass
from tb_privateuse1.i18n import say
from tb_privateuse1.storage import derived
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.isolation import isolate

_LEAST = 0.01
"""Share of the judged time. Smaller claims are not replayed; smaller errors are accepted."""

_MOST_EVENTS = 40_000
"""The most events of a replay, which then takes milliseconds; longer traces give an excerpt."""

_MOST_REPLAYS = 8
"""The greatest findings are replayed, at most this many."""

_AGREES = 0.95
"""From this share of the claim on, a replay confirms the claim."""

FAR = 1.25
"""A claim is too small if the least gain is more than this multiple of it. Gains are known no
better than a fifth (``prediction``), so a lesser difference is none."""


class Saving(Struct, frozen=True):
    """The saving of a finding."""

    ns: int
    how: str
    """How it was computed: the rule's words and the replay's."""
    next: NextLimit | None = None
    """None without a replay."""


class Savings:
    """Savings of a trace's findings, each after the previous ones."""

    def __init__(self, case: RuleContext) -> None:
        self._case = case
        self._replays = 0
        self._all_replayed = True

    @functools.cached_property
    def _part(self) -> excerpt.Excerpt | None:
        return excerpt.cut_excerpt(self._case.trace, self._case.steps, _MOST_EVENTS)

    @functools.cached_property
    def _replay(self) -> RemovalReplay | None:
        whole, part = self._case.trace, self._part
        if part is None:
            return None
        is_excerpt = part.trace is not whole
        graph = build_graph(part.trace) if is_excerpt else derived.DerivedData(whole).dependencies
        return RemovalReplay(whole, part, graph, self._case.apart)

    @functools.cached_property
    def _now(self) -> dict[ReplayedClass, int]:
        return {} if self._replay is None else self._replay.account()

    def of(self, how: str, claim: intervals.Set, removal: Removal | None) -> Saving:
        """Return the saving of a claim; ``how`` are the rule's words."""
        claimed = intervals.length(claim)
        is_small = self._case.share(claimed) < _LEAST
        # What is not replayed still takes time in it, which a later gain would count again.
        self._all_replayed &= removal is not None or is_small
        if is_small:
            return Saving(claimed, how)
        saving = isolate(
            say("The replay of a finding"), lambda: self._net_or_replayed(how, claim, removal)
        )
        if isinstance(saving, Saving):
            return saving
        self._replays += 1
        self._all_replayed = False
        how = say(
            "{how} Not replayed: the replay failed ({reason}).", how=how, reason=saving.reason
        )
        return Saving(claimed, how)

    def _net_or_replayed(self, how: str, claim: intervals.Set, removal: Removal | None) -> Saving:
        """Return the saving of a claim by the replay without it, or why there is none."""
        if removal is None or self._case.limits.known != "device":
            return self._net(claim, how)
        if self._replays >= _MOST_REPLAYS:
            return self._net(claim, say("{how} Not replayed: there are greater findings.", how=how))
        part, replay = self._part, self._replay
        if part is None or replay is None:
            how = say("{how} Not replayed: a step is too long for that.", how=how)
            return self._net(claim, how)
        claimed = intervals.length(claim)
        replayed = intervals.length(intervals.intersect(claim, part.window))
        if not replayed:
            return self._net(claim, how)
        removed = replay.without(removal)
        then = replay.account(removal)
        after = next_limit(self._case, claim, intervals.length(part.window), self._now, then)
        self._replays += 1
        # The other steps are assumed to gain in proportion to the replayed ones.
        scale = claimed / replayed
        gains = Gains(
            round(removed.gain_ns * scale),
            round(removed.low_ns * scale),
            round(removed.high_ns * scale),
            removed.bounded and self._all_replayed,
        )
        saving, words = weigh(how, claimed, gains, self._case.window_ns)
        if saving < claimed and replay.is_net:
            words = say("{how} The profiler's own time is taken off.", how=words)
        if len(part.steps) < len(self._case.steps):
            words = say(
                "{how} {few} of {all} steps were replayed.",
                how=words,
                few=len(part.steps),
                all=len(self._case.steps),
            )
        return Saving(saving, words, after)

    def _net(self, claim: intervals.Set, how: str) -> Saving:
        """Return a claim less the time that the profiler takes in it on the host."""
        claimed = intervals.length(claim)
        by_host = intervals.intersect(claim, self._case.idle)
        taken = profiler_time.profiler_ns(self._case.trace, by_host)
        if not taken:
            return Saving(claimed, how)
        how = say("{how} The profiler's own time is taken off.", how=how)
        return Saving(claimed - taken, how)


def weigh(how: str, claim: int, gains: Gains, window: int) -> tuple[int, str]:
    """Return the saving of a claim, given a replay's gain and its range, and the reason.

    All times are in ns; ``window`` is the judged time.
    """
    gain, low, high = gains.gain_ns, gains.low_ns, gains.high_ns
    least, most = percent(low / window), percent(high / window)
    if gains.bounded and low > FAR * claim:
        return low, say(
            "{how} Replayed without it, the steps are {low} to {high} shorter: what comes later is "
            "earlier as well.",
            how=how,
            low=least,
            high=most,
        )
    if gain >= _AGREES * claim:
        return min(gain, claim), say("{how} The trace replayed without it bears that out.", how=how)
    if max(high - gain, gain - low) <= max(gain, _LEAST * window):
        return gain, say(
            "{how} Replayed without it, the steps are {low} to {high} shorter: for the rest of "
            "that time something else would be waited for.",
            how=how,
            low=least,
            high=most,
        )
    return min(claim, high), say(
        "{how} Replayed without it, the steps are {low} to {high} shorter, which is too wide to "
        "tell: only what no replay gains was taken off.",
        how=how,
        low=least,
        high=most,
    )
