"""Operators that this backend decomposes, although other backends have one kernel for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.nodes import graph
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup, positions
from tb_privateuse1.trace.groupby import maxima, sums
from tb_privateuse1.trace.model import NONE

_MANY = 3
"""Operators inside: some kernels are made of two everywhere."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield such operators with three or more launching operators inside.

    torch has a kernel of a processor for each: there the program wants others, as ``vmap`` does.
    """
    if case.is_host:
        return
    ops, nodes = case.trace.ops, graph(case.trace).nodes
    composite = case.around(nodes.op, case.named("ops", fusion.COMPOSITES))
    calls, count = np.unique(composite[composite != nodes.op], return_counts=True)
    built = calls[(count >= _MANY) & (calls != NONE)]
    group = lookup(positions(built, len(ops)), composite, NONE).astype(np.int64)
    longest = maxima(group, nodes.duration_ns, len(built))
    duration = sums(group, nodes.duration_ns, len(built))
    found = fusion.fuse(case, graph(case.trace), group, duration, longest)
    if found is None or case.share(intervals.length(found.claim)) < ONE_PLACE:
        return
    affected, claim = built[found.calls], found.claim
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
            activities=len(found.kernels),
        ),
        events=len(affected),
        evidence=case.examples("ops", affected),
        how=say(
            "Time of all activities of a call but the longest, while others waited for the device; "
            "and the host's time for all operators inside but one, while the device had nothing "
            "to do."
        ),
        claim=claim,
        removes=fusion.removal(case, found),
        confidence="medium",
        source=case.source(affected),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="decomposed",
    title=say("Operators built of others"),
    cause="fallback",
    looks_for=say(
        "Layer norm, softmax, GELU, loss, dropout and the like with {many} or more launching "
        "operators inside.",
        many=_MANY,
    ),
    why=say("Each part is a launch and a way through memory, where one kernel would do."),
    fix=say("Register a kernel for the operator in the backend, the costliest first."),
    threshold=say(
        "{many} parts and {least} of the step: two is how some kernels are made everywhere.",
        least=exact_percent(ONE_PLACE),
        many=_MANY,
    ),
    reference=say("msprof-analyze's fusible operator sequences."),
    code=Code(
        before="// nothing registered: torch builds it of mean, sub, mul, ...",
        after='m.impl("native_layer_norm", TORCH_FN(native_layer_norm));',
    ),
    check=check,
    needs=("work", "operators", "links"),
)
