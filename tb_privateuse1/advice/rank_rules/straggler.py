"""A rank for which the others wait, and what it does longer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rank_rules.base import (
    RankContext,
    RankEvidence,
    RankFinding,
    RankRule,
    milliseconds,
    say,
)
from tb_privateuse1.advice.rules.base import percent
from tb_privateuse1.analysis.ranks.stragglers import Straggler

_LEAST = 0.02
_PART = 0.2
"""Of the excess: what a kernel or a cause has to have of it to be named."""

IDLE = {
    "data_loader": say("waiting for its data loader"),
    "synchronisation": say("with its host in synchronising calls"),
    "communication_wait": say("in barriers and waits for communication"),
    "host_operator": say("with its host in operators"),
    "host_code": say("with its host in Python"),
    "launch_latency": say("between launches and their starts"),
    "unknown": say("for reasons that the trace does not tell"),
}


def check(case: RankContext) -> Iterator[RankFinding]:
    """What the others wait for it, per step."""
    for late in case.stragglers:
        at = case.numbers.index(late.rank)
        saving = min(late.caused_ns / max(case.count[at], 1), _waiting(case, at))
        if case.share(saving) < _LEAST:
            continue
        why, sure = _why(case, late, at)
        yield RankFinding(
            title=say(
                "Rank {rank} keeps the others waiting: {share} of their time",
                rank=late.rank,
                share=percent(case.share(saving)),
            ),
            explanation=say(
                "It came last to {last:,} of {collectives:,} collectives in which somebody waited. "
                "{why}",
                last=late.last,
                collectives=late.collectives,
                why=why,
            ),
            evidence=(RankEvidence(late.rank, why),),
            how=say(
                "What each other rank waits on average in the collectives to which this one comes "
                "last, per step, as far as no computation hides it."
            ),
            saving_ns=saving,
            confidence="high" if sure else "low",
        )


def _waiting(case: RankContext, at: int) -> float:
    others = np.arange(len(case.parts)) != at
    others &= case.count > 0
    return float(case.waiting[others].mean()) if others.any() else 0.0


def _why(case: RankContext, late: Straggler, at: int) -> tuple[str, bool]:
    """In words, and whether the trace tells."""
    excess, hosted = milliseconds(late.excess_ns), case.parts[at].on_host
    if late.cause == "computation":
        kernel = _kernel(case, late, at)
        if hosted:
            return say(
                "Its operators take {excess} a step longer than the median of the others{kernel}.",
                excess=excess,
                kernel=kernel,
            ), True
        return say(
            "It computes {excess} a step longer than the median of the others{kernel}.",
            excess=excess,
            kernel=kernel,
        ), True
    if late.cause == "copy":
        return say(
            "It copies {excess} a step longer than the median of the others.", excess=excess
        ), True
    if late.cause != "idle":
        return say("What it does longer cannot be told."), False
    name, beyond = _most_idle(case, at)
    sure = beyond >= _PART * late.excess_ns
    most = say(", {time} of it {cause}", time=milliseconds(beyond), cause=IDLE[name])
    cause = most if sure else ""
    if hosted:
        return say(
            "It does nothing for {excess} a step longer than the median of the others{cause}.",
            excess=excess,
            cause=cause,
        ), sure
    return say(
        "Its device has nothing to do for {excess} a step longer than the median of the "
        "others{cause}.",
        excess=excess,
        cause=cause,
    ), sure


def _most_idle(case: RankContext, at: int) -> tuple[str, float]:
    """The cause with most beyond the median of the others."""
    more = {}
    for cause in IDLE:
        own = case.idle(cause)
        more[cause] = float(own[at] - np.median(np.delete(own, at)))
    name = max(more, key=lambda cause: more[cause])
    return name, more[name]


def _kernel(case: RankContext, late: Straggler, at: int) -> str:
    """The kernel with most beyond the median of the others, if it has a part of the excess."""
    others = [part.host.kernels for i, part in enumerate(case.parts) if i != at]
    best, most = "", _PART * late.excess_ns
    for name, own in case.parts[at].host.kernels.items():
        more = own - float(np.median([kernels.get(name, 0) for kernels in others]))
        if more >= most:
            best, most = name, more
    return (
        say(", {time} of it in `{kernel}`", time=milliseconds(most), kernel=best[:120])
        if best
        else ""
    )


RULE = RankRule(
    name="straggler",
    title=say("A rank that the others wait for"),
    looks_for=say("A rank that is clearly more often the last at collectives than chance has it."),
    why=say("All ranks are as slow as the slowest."),
    fix=say(
        "Look at this rank's own page of advice. It computes longer: a slower or throttled "
        "device, or more work (longer samples, another model part). Its device idles: its host, "
        "its data loader, or what only one rank does (logging, checkpoints, evaluation)."
    ),
    threshold=say("2 % of the step: networks vary by that much."),
    reference=say("HTA and XProf stragglers; docs/reference/definitions.md, stragglers."),
    check=check,
)
