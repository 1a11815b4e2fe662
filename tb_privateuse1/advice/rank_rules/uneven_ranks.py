"""Load imbalance: ranks wait for each other without a lasting culprit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rank_rules.rank_rule import (
    RankContext,
    RankEvidence,
    RankFinding,
    RankRule,
    milliseconds,
)
from tb_privateuse1.advice.rank_rules.straggler import SLOW
from tb_privateuse1.advice.rules.rule import exact_percent
from tb_privateuse1.advice.thresholds import ANY_PROGRAM
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import percent

_SPREAD = 0.05
"""Share of the step, as for the finding: less is the noise of real batches."""
_TOP = 3
"""Ranks that the sentence names."""
_MANY = 8
"""Collectives that tell who came last: with fewer, chance alone makes one rank the last of all."""


def check(case: RankContext) -> Iterator[RankFinding]:
    """Yield the waiting time that no culprit explains."""
    explained_ns = max((one.cost_ns or 0 for one in case.culprits if one.kind in SLOW), default=0)
    waiting = max(case.average(case.waiting) - explained_ns, 0.0)
    if case.share(waiting) < ANY_PROGRAM:
        return
    work = case.mean("computation_ns")
    computes = work > 0  # of the others it is not known
    middle = float(np.median(work[computes])) if computes.any() else 0.0
    busiest = [i for i in case.most(work)[:_TOP] if work[i] > middle]
    constant = bool(busiest) and case.share(work[busiest[0]] - middle) >= _SPREAD
    if constant:
        names = join_list(str(case.numbers[i]) for i in busiest)
        why = say("Work differs between ranks: most have ranks {names}.", names=names)
        examples = busiest
    else:
        why = (
            say("Too few collectives tell who came last to say whether it is always the same rank.")
            if case.blamed.telling < _MANY
            else say(
                "All have about the same work on average: who is late changes from step to step."
            )
        )
        examples = [i for i in case.most(case.waiting)[:_TOP] if case.waiting[i] > 0]
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
            for i in examples
        ),
        how=say(
            "The mean over the ranks of what matched collectives take longer than on the rank "
            "that comes last, as far as no computation hides it, less what culprits cost."
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
    threshold=say(
        "{least} of the step: batches of real data differ by some per cent.",
        least=exact_percent(ANY_PROGRAM),
    ),
    reference=say("msprof-analyze slow rank; HTA."),
    check=check,
)
