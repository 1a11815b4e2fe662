"""A rank that the others wait for, and the work that takes it longer."""

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
from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.analysis.ranks.stragglers import Straggler

_LEAST = 0.02
_PART = 0.2
"""The least share of the excess for which a kernel or cause is named."""

IDLE: dict[ClassName, str] = {
    "input": say("waiting for its data loader"),
    "synchronization": say("with its host in synchronizing calls"),
    "blocking_copy": say("with its host in blocking copies"),
    "device_memory": say("while its host allocates or frees device memory"),
    "file_or_lock": say("with its host waiting for files or locks"),
    "other_rank": say("in barriers and waits for communication"),
    "dispatch": say("with its host in operators"),
    "launch_call": say("with its host in launch calls"),
    "python": say("with its host in Python"),
    "garbage_collection": say("while Python collects garbage"),
    "launch_latency": say("between launches and their starts"),
    "queued_gap": say("with work in its queue"),
    "unattributed": say("for reasons that are not in the trace"),
}
"""The classes of idle time that are named, in words."""


def check(case: RankContext) -> Iterator[RankFinding]:
    """Yield each straggler with the time per step that the others wait for it."""
    for straggler in case.stragglers:
        at = case.numbers.index(straggler.rank)
        saving = min(straggler.caused_ns / max(case.count[at], 1), _waiting(case, at))
        if case.share(saving) < _LEAST:
            continue
        why, sure = _why(case, straggler, at)
        yield RankFinding(
            title=say(
                "Rank {rank} keeps the others waiting: {share} of their time",
                rank=straggler.rank,
                share=percent(case.share(saving)),
            ),
            explanation=say(
                "It came last to {last:,} of {collectives:,} collectives in which somebody waited. "
                "{why}",
                last=straggler.last,
                collectives=straggler.collectives,
                why=why,
            ),
            evidence=(RankEvidence(straggler.rank, why),),
            how=say(
                "What each other rank waits on average in the collectives to which this one comes "
                "last, per step, as far as no computation hides it."
            ),
            saving_ns=saving,
            confidence="high" if sure else "low",
        )


def _waiting(case: RankContext, at: int) -> float:
    other = np.arange(len(case.parts)) != at
    other &= case.count > 0
    return float(case.waiting[other].mean()) if other.any() else 0.0


def _why(case: RankContext, straggler: Straggler, at: int) -> tuple[str, bool]:
    """Return the reason in words, and whether the trace proves it."""
    excess, hosted = milliseconds(straggler.excess_ns), case.parts[at].on_host
    if straggler.cause == "computation":
        kernel = _kernel(case, straggler, at)
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
    if straggler.cause == "copy":
        return say(
            "It copies {excess} a step longer than the median of the others.", excess=excess
        ), True
    if straggler.cause != "idle":
        return say("What it does longer cannot be told."), False
    name, extra_ns = _most_idle(case, at)
    sure = extra_ns >= _PART * straggler.excess_ns
    detail = say(", {time} of it {cause}", time=milliseconds(extra_ns), cause=IDLE[name])
    cause = detail if sure else ""
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


def _most_idle(case: RankContext, at: int) -> tuple[ClassName, float]:
    """Return the idle cause with the largest excess over the others' median, and the excess."""
    extra_ns = {}
    for cause in IDLE:
        values = case.idle(cause)
        extra_ns[cause] = float(values[at] - np.median(np.delete(values, at)))
    name = max(extra_ns, key=lambda cause: extra_ns[cause])
    return name, extra_ns[name]


def _kernel(case: RankContext, straggler: Straggler, at: int) -> str:
    """Return words on the kernel with the largest excess over the others' median, or ``""``."""
    other = [part.host.kernels for i, part in enumerate(case.parts) if i != at]
    best, longest_ns = "", _PART * straggler.excess_ns
    for name, values in case.parts[at].host.kernels.items():
        extra_ns = values - float(np.median([kernels.get(name, 0) for kernels in other]))
        if extra_ns >= longest_ns:
            best, longest_ns = name, extra_ns
    return (
        say(", {time} of it in `{kernel}`", time=milliseconds(longest_ns), kernel=best[:120])
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
