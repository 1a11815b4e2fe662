"""What mending a finding saves: the instants that it claims, or less where a replay gains less.

Findings are mended one after the other, so that what one gains is not promised again by the next.
"""

from __future__ import annotations

import functools
import logging

from tb_privateuse1.advice.removal_replay import Removal, RemovalReplay
from tb_privateuse1.advice.rules.base import RuleContext, percent
from tb_privateuse1.analysis.simulation import excerpt
from tb_privateuse1.analysis.simulation.dependency_graph import build_graph
from tb_privateuse1.i18n import say
from tb_privateuse1.storage import derived
from tb_privateuse1.trace import intervals

_log = logging.getLogger(__name__)

_LEAST = 0.01
"""Of the judged time: what claims less is not replayed, and a replay may be so far off."""

_MOST_EVENTS = 40_000
"""So many are replayed, of which each replay takes some milliseconds; of more, an excerpt."""

_MOST_REPLAYS = 8
"""Of the greatest findings."""

_AGREES = 0.95
"""From this share on, a replay says what the instants say."""


class Savings:
    """What a trace's findings save, each after those before it."""

    def __init__(self, case: RuleContext) -> None:
        self._case = case
        self._replays = 0

    @functools.cached_property
    def _part(self) -> excerpt.Excerpt | None:
        return excerpt.cut_excerpt(self._case.trace, self._case.steps, _MOST_EVENTS)

    @functools.cached_property
    def _mending(self) -> RemovalReplay | None:
        whole, part = self._case.trace, self._part
        if part is None:
            return None
        own = part.trace is not whole
        graph = build_graph(part.trace) if own else derived.of(whole).dependencies
        return RemovalReplay(whole, part, graph)

    def of(self, how: str, claim: intervals.Set, removal: Removal | None) -> tuple[int, str]:
        """What of a claim is saved, and how that was computed; ``how`` says it of the claim."""
        claimed = intervals.length(claim)
        known = self._case.limits.known == "device"
        if removal is None or not known or self._case.share(claimed) < _LEAST:
            return claimed, how
        if self._replays == _MOST_REPLAYS:
            return claimed, say("{how} Not replayed: there are greater findings.", how=how)
        part, mending = self._part, self._mending
        if part is None or mending is None:
            return claimed, say("{how} Not replayed: a step is too long for that.", how=how)
        here = intervals.length(intervals.intersect(claim, part.window))
        if not here:
            return claimed, how
        self._replays += 1
        try:
            told = mending.without(removal)
        except Exception:  # of a user's rule: its mistake must not cost the others' answers
            _log.exception("what a rule takes away cannot be replayed")
            return claimed, how
        # What holds for the replayed steps is taken to hold for the others.
        gain, off = (round(ns * claimed / here) for ns in (told.gain_ns, told.bound_ns))
        saving, words = weigh(how, claimed, gain, off, self._case.window_ns)
        if len(part.steps) < len(self._case.steps):
            words = say(
                "{how} {few} of {all} steps were replayed.",
                how=words,
                few=len(part.steps),
                all=len(self._case.steps),
            )
        return saving, words


def weigh(how: str, claim: int, gain: int, off: int, window: int) -> tuple[int, str]:
    """What of a claim is saved, where a replay gains so much and may be so far off, and why.

    All in ns; ``window`` is the judged time.
    """
    if gain >= _AGREES * claim:
        return min(gain, claim), say("{how} The trace replayed without it bears that out.", how=how)
    shorter, error = percent(gain / window), percent(off / window)
    if off <= max(gain, _LEAST * window):
        return gain, say(
            "{how} Replayed without it, the steps are {gain} shorter (± {error}): for the rest of "
            "that time something else would be waited for.",
            how=how,
            gain=shorter,
            error=error,
        )
    return min(claim, gain + off), say(
        "{how} Replayed without it, the steps are {gain} shorter, but ± {error} is too wide to "
        "tell: only what no replay gains was taken off.",
        how=how,
        gain=shorter,
        error=error,
    )
