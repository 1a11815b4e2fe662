"""Operators that this backend decomposes, although other backends have one kernel for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.fusion import COMPOSITES
from tb_privateuse1.advice.rules.base import Rule, RuleContext, RuleFinding, join_list, percent, say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE

_LEAST, _MANY = 0.01, 3


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield such operators with three or more launching operators inside."""
    ops, kernels = case.trace.ops, case.trace.kernels
    is_composite = case.named("ops", COMPOSITES)
    rows = case.launched_by(is_composite)
    if not len(rows):
        return
    launcher = kernels.op[rows].astype(np.int64)
    composite = case.around(launcher, is_composite)
    is_inner = composite != launcher
    # Count the launching operators inside each of them.
    pairs = np.unique(np.stack((composite[is_inner], launcher[is_inner])), axis=1)
    calls, count = np.unique(pairs[0], return_counts=True)
    affected = calls[count >= _MANY]
    activities = rows[np.isin(composite, affected)]
    device = case.time(activities, "kernels")
    host = case.of_host(case.time(affected))
    claim = intervals.merge(case.of_device(device), host or intervals.EMPTY)
    if not len(affected) or case.share(intervals.length(claim)) < _LEAST:
        return
    names = [case.trace.text(name) for name in np.unique(ops.name[affected])]
    share = percent(case.share(intervals.length(claim)))
    yield RuleFinding(
        title=(
            say(
                "{name} is built of other operators: {share} of the time",
                name=names[0],
                share=share,
            )
            if len(names) == 1
            else say(
                "{names} are built of other operators: {share} of the time",
                names=join_list(names[:4]),
                share=share,
            )
        ),
        explanation=say(
            "{calls:,} calls launched {activities:,} activities by way of the operators "
            "inside, each of which reads and writes memory again. Other backends have one "
            "kernel for each.",
            calls=len(affected),
            activities=len(activities),
        ),
        events=len(affected),
        evidence=case.examples("ops", affected),
        how=say(
            "Time of the calls while the device had nothing to do, and of their activities "
            "while others waited for the device. A kernel of its own will need some of it, so "
            "this is at most."
        ),
        claim=claim,
        removes=case.without(ops=affected, kernels=activities),
        confidence="medium",
        source=case.source(affected[affected != NONE]),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="decomposed",
    title=say("Operators built of others"),
    cause="fallback",
    looks_for=say(
        "Layer norm, softmax, GELU, loss, dropout and the like with three or more launching "
        "operators inside."
    ),
    why=say("Each part is a launch and a way through memory, where one kernel would do."),
    fix=say("Register a kernel for the operator in the backend, the costliest first."),
    threshold=say("Three parts and 1 % of the step: two is how some kernels are made everywhere."),
    reference=say("msprof-analyze's fusible operator sequences."),
    check=check,
    needs=("device", "operators", "links"),
)
