"""Collectives that are sometimes slow: this rank waits for other ranks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import USUAL
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.groupby import minima
from tb_privateuse1.trace.model import MISSING

_MANY = 3
"""Collectives of one kind: the fastest of two is as likely a late one."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the excess of collectives over the fastest of the same kind, group and bytes."""
    calls, kernels = case.trace.collectives, case.trace.kernels
    rows = np.flatnonzero((calls.kernel >= 0) & (calls.bytes != MISSING))
    rows = rows[case.judged_kernels[calls.kernel[rows]]]
    if not len(rows):
        return
    kernel = calls.kernel[rows].astype(np.int64)
    duration = kernels.end_ns[kernel] - kernels.start_ns[kernel]
    key = np.stack((calls.kind[rows], calls.group[rows], calls.bytes[rows]))
    _, group = np.unique(key, axis=1, return_inverse=True)
    least = minima(group, duration, int(group.max()) + 1)
    usable = np.bincount(group)[group] >= _MANY
    # The transfer is the end of the call: it starts when the last rank arrives.
    waiting = (kernels.start_ns[kernel], kernels.end_ns[kernel] - least[group])
    is_late = usable & (waiting[1] > waiting[0])
    waits = intervals.union(waiting[0][is_late], waiting[1][is_late])
    claim = intervals.intersect(waits, case.in_classes("exposed_communication"))
    if case.share(intervals.length(claim)) < USUAL:
        return
    yield RuleFinding(
        title=say(
            "This rank waits for others: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{collectives:,} collectives took longer than the fastest of the same kind, group "
            "and size. The bytes are the same: the rest is waiting for ranks that came later, "
            "or a link that others used.",
            collectives=int(is_late.sum()),
        ),
        events=int(is_late.sum()),
        evidence=case.examples("kernels", kernel[is_late]),
        how=say(
            "What each took beyond the fastest of its like, within the exposed communication of "
            "the account."
        ),
        claim=claim,
        change=case.change("rank_waits=0"),
        confidence="medium",
        lacks=(say("the other ranks: the page Ranks compares them"),),
    )


RULE = Rule(
    name="waiting_ranks",
    title=say("Waiting for other ranks"),
    cause="communication",
    looks_for=say(
        "{many} or more collectives of one kind, group and size with uneven durations.",
        many=_MANY,
    ),
    why=say("All ranks are as slow as the slowest."),
    fix=say(
        "Open the page Ranks for the rank that the others wait for, and its advice: uneven "
        "data, a slower host, a checkpoint written by one rank."
    ),
    threshold=say("{least} of the step: networks vary by that much.", least=exact_percent(USUAL)),
    reference=say("HTA and XProf stragglers; docs/reference/definitions.md, distributed."),
    check=check,
    needs=("device", "collectives"),
)
