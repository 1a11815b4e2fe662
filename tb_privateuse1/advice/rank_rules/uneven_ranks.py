"""Ranks that wait for each other by turns, or because their work is not the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rank_rules.base import (
    RankContext,
    RankEvidence,
    RankFinding,
    RankRule,
    join_list,
    milliseconds,
    say,
)
from tb_privateuse1.advice.rules.base import percent

_LEAST, _SPREAD = 0.05, 0.05
_TOP = 3
_MANY = 8


def check(case: RankContext) -> Iterator[RankFinding]:
    """Waiting that no straggler explains."""
    told = sum(late.caused_ns / max(case.count.mean(), 1) for late in case.stragglers)
    waiting = max(case.average(case.waiting) - told, 0.0)
    if case.share(waiting) < _LEAST:
        return
    work = case.mean("computation_ns")
    has = case.count > 0
    middle = float(np.median(work[has]))
    most = [i for i in case.most(np.where(has, work, -1.0))[:_TOP] if work[i] > middle]
    constant = bool(most) and case.share(work[most[0]] - middle) >= _SPREAD
    if constant:
        names = join_list(str(case.numbers[i]) for i in most)
        why = say("Work differs between ranks: most have ranks {names}.", names=names)
        shown = most
    else:
        why = (
            say("Too few collectives tell who came last to say whether it is always the same rank.")
            if case.blamed.telling < _MANY
            else say(
                "All have about the same work on average: who is late changes from step to step."
            )
        )
        shown = [i for i in case.most(case.waiting)[:_TOP] if case.waiting[i] > 0]
    yield RankFinding(
        title=say(
            "Ranks wait for each other: {share} of the time", share=percent(case.share(waiting))
        ),
        explanation=say(
            "No single rank is always late, and yet in collectives a rank waits {time} of each "
            "step on average. {why}",
            time=milliseconds(waiting),
            why=why,
        ),
        evidence=tuple(
            RankEvidence(
                case.numbers[i],
                say(
                    "computes {work}, waits {wait} a step",
                    work=milliseconds(work[i]),
                    wait=milliseconds(case.waiting[i]),
                ),
            )
            for i in shown
        ),
        how=say(
            "The mean over the ranks of what matched collectives take longer than on the rank "
            "that comes last, as far as no computation hides it, less what stragglers cause."
        ),
        saving_ns=waiting,
        confidence="medium" if constant else "low",
    )


RULE = RankRule(
    name="uneven_ranks",
    title=say("Uneven ranks"),
    looks_for=say("Waiting in collectives without a rank that is always the last."),
    why=say("In each step all wait for whichever has most to do."),
    fix=say(
        "Give ranks batches of the same cost (bucket samples by length, sort and deal them out, "
        "pad less), balance pipeline stages and experts, and keep what is random (evaluation, "
        "logging, garbage collection) at the same step on all ranks."
    ),
    threshold=say("5 % of the step: batches of real data differ by some per cent."),
    reference=say("msprof-analyze slow rank; HTA."),
    check=check,
)
