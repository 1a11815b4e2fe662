"""Name the classes of time that no finding explains, with what is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from tb_privateuse1.advice.reported_findings import Reported
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Cause
from tb_privateuse1.advice.thresholds import ANY_PROGRAM
from tb_privateuse1.analysis.account.classes import CLASSES, ClassName, Group
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals

_SOME = 0.1
"""Share of a class from which on a finding is about it: less may be there by chance."""


class OpenClass(Struct, frozen=True):
    """A class of the account that no finding is about."""

    name: ClassName
    statement: str
    share: float
    """Of the judged time, 0 to 1."""


ADVICE: Mapping[Group, str] = {
    "device": say("No rule has a remedy for most of it: look at the kernels with most time."),
    "blocked": say("No rule has a remedy for most of it: look at the runtime calls."),
    "host": say("No rule has a remedy for most of it: look at the operators and functions."),
    "queue": say("No rule has a remedy for most of it: fewer and larger activities help."),
    "outside": say("No rule has a remedy: it is of the recording, and not of the program."),
}
"""What is left to say of a class, by its group."""

NOTES: Mapping[Cause, tuple[Group, ...]] = {
    "device": ("device",),
    "communication": ("device",),
    "fallback": ("host",),
    "waiting": ("blocked",),
    "recording": ("outside", "host", "blocked"),
}
"""The groups of classes that a finding without a claim is about, by its cause."""


def open_classes(case: RuleContext, kept: Sequence[Reported]) -> tuple[OpenClass, ...]:
    """Return the classes with a large part of the judged time that no finding is about."""
    return tuple(sorted(_open(case, kept), key=lambda one: -one.share)) if case.is_steady else ()


def _open(case: RuleContext, kept: Sequence[Reported]) -> Iterator[OpenClass]:
    claimed = intervals.EMPTY
    for row in kept:
        claimed = intervals.merge(claimed, intervals.merge(row.claim, row.finding.once))
    noted = {group for row in kept if row.saving is None for group in NOTES.get(row.rule.cause, ())}
    shares = {one.name: case.share_of(one.name) for one in CLASSES}
    largest = max(shares, key=lambda name: shares[name])
    for one in CLASSES:
        share = shares[one.name]
        if (share < ANY_PROGRAM and (one.name != largest or not share)) or one.group in noted:
            continue
        time = case.class_time(one.name)
        if intervals.length(intervals.intersect(time, claimed)) < _SOME * intervals.length(time):
            statement = say(
                "{label}: {share} of the time. {meaning} {advice}",
                label=one.label,
                share=percent(share),
                meaning=one.meaning,
                advice=ADVICE[one.group],
            )
            yield OpenClass(one.name, statement, share)
