"""Ranks or a node that the others wait for, and what takes them longer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rank_rules.rank_rule import (
    MOST_RANKS,
    RankContext,
    RankEvidence,
    RankFinding,
    RankRule,
    milliseconds,
)
from tb_privateuse1.advice.rules.rule import exact_percent
from tb_privateuse1.advice.thresholds import USUAL
from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.analysis.ranks.culprits import Culprit
from tb_privateuse1.analysis.ranks.notes import listed
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent

SLOW = ("rank", "node", "input", "throttled")
"""The kinds of culprits whose own work is longer."""

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
    """Yield each slow rank, set or node with the time per step that the others wait for it."""
    slow = [one for one in case.culprits if one.kind in SLOW]
    for place, culprit in enumerate(slow):
        rest = slow[place + 1].cost_ns or 0 if place + 1 < len(slow) else 0
        saving = min((culprit.cost_ns or 0) - rest, _waiting(case, culprit) - rest)
        if case.share(saving) < USUAL:
            continue
        yield RankFinding(
            title=_title(case, culprit, saving),
            explanation=say(
                "{why} This is so in {steps:,} of {of_steps:,} steps, which chance would give less "
                "than once in {times:,} jobs.",
                why=_why(case, culprit),
                steps=culprit.steps,
                of_steps=culprit.of_steps,
                times=_times(culprit.p_value),
            ),
            evidence=tuple(
                RankEvidence(rank, _evidence(case, rank)) for rank in culprit.ranks[:MOST_RANKS]
            ),
            how=say(
                "Work outside of exposed communication beyond the median of ranks that do the "
                "same, per step, as far as the others wait for it and no computation hides it. Of "
                "several culprits, each counts until the next one is the last."
            ),
            saving_ns=saving,
            confidence="low" if culprit.cause == "unknown" else "high",
        )


def _title(case: RankContext, culprit: Culprit, saving: float) -> str:
    share = percent(case.share(saving))
    if culprit.kind == "node":
        return say(
            "Host {host} (ranks {ranks}) keeps the others waiting: {share} of their time",
            host=culprit.host, ranks=listed(culprit.ranks), share=share,
        )  # fmt: skip
    if len(culprit.ranks) > 1:
        return say(
            "Ranks {ranks} keep the others waiting: {share} of their time",
            ranks=listed(culprit.ranks), share=share,
        )  # fmt: skip
    return say(
        "Rank {rank} keeps the others waiting: {share} of their time",
        rank=culprit.ranks[0], share=share,
    )  # fmt: skip


def _waiting(case: RankContext, culprit: Culprit) -> float:
    """Return the mean exposed waiting of the other ranks per step."""
    other = ~np.isin(case.numbers, culprit.ranks) & (case.count > 0)
    return float(case.waiting[other].mean()) if other.any() else 0.0


_RAREST = 1e-9
"""Once in a billion jobs: less often means the same to a reader."""


def _times(p_value: float) -> int:
    """Return how many jobs would show this once by chance, rounded down to a power of ten."""
    return int(10 ** max(np.floor(-np.log10(max(p_value, _RAREST))), 1))


def _why(case: RankContext, culprit: Culprit) -> str:
    """Return what takes the ranks longer, in words."""
    excess = milliseconds(culprit.cause_ns or culprit.excess_ns or 0)
    hosted = all(case.parts[case.numbers.index(rank)].on_host for rank in culprit.ranks)
    if culprit.cause == "computation":
        if culprit.kind == "throttled":
            return say(
                "Computation takes {excess} a step longer than on the median of the others. Nearly "
                "all kernels are slower, in as many calls: the device is slower or throttled.",
                excess=excess,
            )
        kernel = _kernel(culprit)
        if hosted:
            return say(
                "Operators take {excess} a step longer than on the median of the others{kernel}.",
                excess=excess, kernel=kernel,
            )  # fmt: skip
        return say(
            "Computation takes {excess} a step longer than on the median of the others{kernel}.",
            excess=excess, kernel=kernel,
        )  # fmt: skip
    if culprit.cause == "copy":
        return say(
            "Copies take {excess} a step longer than on the median of the others.", excess=excess
        )
    if culprit.cause == "unknown":
        return say(
            "Its own work takes {excess} a step longer than the median of the others; the "
            "recording does not show which.",
            excess=excess,
        )
    cause = (
        say(", most of it {cause}", cause=IDLE[culprit.idle_class]) if culprit.idle_class else ""
    )
    if hosted:
        return say(
            "The host does nothing for {excess} a step longer than on the median of the "
            "others{cause}.",
            excess=excess, cause=cause,
        )  # fmt: skip
    return say(
        "The device has nothing to do for {excess} a step longer than on the median of the "
        "others{cause}.",
        excess=excess, cause=cause,
    )  # fmt: skip


def _kernel(culprit: Culprit) -> str:
    if culprit.kernel is None:
        return ""
    time = milliseconds(culprit.kernel_ns or 0)
    return say(", {time} of it in {kernel}", time=time, kernel=culprit.kernel[:120])


def _evidence(case: RankContext, rank: int) -> str:
    at = case.numbers.index(rank)
    return say(
        "computes {work}, is idle for {idle}, waits {wait} a step",
        work=milliseconds(case.mean("computation_ns")[at]),
        idle=milliseconds(case.mean("idle_ns")[at]),
        wait=milliseconds(case.waiting[at]),
    )


RULE = RankRule(
    name="straggler",
    title=say("Ranks or a node that the others wait for"),
    looks_for=say(
        "Ranks, or most ranks of a host, whose work outside of communication is longer than that "
        "of ranks that do the same, in more steps or by more than chance allows."
    ),
    why=say("All ranks are as slow as the slowest."),
    fix=say(
        "Look at the rank's own page of advice. It computes longer: a slower or throttled device, "
        "or more work (longer samples, another model part). Its device idles: its host, its data "
        "loader, or what only one rank does (logging, checkpoints, evaluation). A whole node: its "
        "power limit, cooling, or what else runs there."
    ),
    threshold=say(
        "An error rate of 1 % of the jobs without a cause, and {least} of the step: devices and "
        "networks vary by that much.",
        least=exact_percent(USUAL),
    ),
    reference=say("HTA and XProf stragglers; docs/internals/blame.md."),
    check=check,
)
