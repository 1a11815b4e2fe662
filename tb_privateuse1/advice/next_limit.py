"""Find what limits the step next, once a finding's fix is applied: by the replay of its saving."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.analysis.account.classes import CLASSES, IDLE, NUMBER
from tb_privateuse1.analysis.simulation.replayed_account import ReplayedClass
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.uncertainty import all_measured

_DIFFERS = 0.05
"""Steps that are longer by a greater share have time that is not judged, such as start-up."""


class NextLimit(Struct, frozen=True):
    """The class of time with the greatest part of the steps without a finding."""

    limit: ReplayedClass
    share: float
    """Of the replayed steps without the finding, 0 to 1."""
    share_now: float
    """Of the same steps as recorded."""
    statement: str


def next_limit(
    case: RuleContext,
    claim: intervals.Set,
    window: intervals.Set,
    now: Mapping[ReplayedClass, int],
    then: Mapping[ReplayedClass, int],
) -> NextLimit | None:
    """Return what limits the steps then; None if nothing is left, or the figures are not sure.

    On a host alone it is the host, before and behind.

    ``now`` and ``then`` are accounts of the replayed steps; ``window`` of them is judged.
    Without measured times, each figure would need a bound.
    """
    whole, left, window_ns = sum(now.values()), sum(then.values()), intervals.length(window)
    is_judged = abs(whole - window_ns) <= _DIFFERS * window_ns
    kernels = case.trace.kernels
    if not left or not is_judged or not len(kernels) or not all_measured(kernels):
        return None
    limit = max(then, key=lambda name: then[name])
    share, share_now = then[limit] / left, now[limit] / whole
    shares = {"share": percent(share), "now": percent(share_now)}
    if limit != "idle":
        statement = say(
            "{label}: {share} of the time that is left; now {now}.",
            label=CLASSES[NUMBER[limit]].label,
            **shares,
        )
    elif (reason := _reason(case, claim, window)) is None:
        statement = say("An idle device: {share} of the time that is left; now {now}.", **shares)
    else:
        statement = say(
            "An idle device: {share} of the time that is left; now {now}. Most of that is: "
            "{reason}.",
            reason=reason,
            **shares,
        )
    return NextLimit(limit, share, share_now, statement)


def _reason(case: RuleContext, claim: intervals.Set, window: intervals.Set) -> str | None:
    """Return the label of the class of idle time that most of it belongs to beside the claim."""
    left = intervals.subtract(window, claim)
    ns = {name: intervals.length(intervals.intersect(case.in_classes(name), left)) for name in IDLE}
    most = max(ns, key=lambda name: ns[name])
    return CLASSES[NUMBER[most]].label if ns[most] else None
