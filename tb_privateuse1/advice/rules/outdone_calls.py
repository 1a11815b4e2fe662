"""Calls that take longer than a larger call of the same operator does in this recording."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.advice.removed_operators import Needless, Removed, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.roofs.outdone_calls import (
    LEAST_CALLS,
    MOST_FACTOR,
    OutdoneCalls,
    outdone_calls,
)
from tb_privateuse1.i18n import Text, say
from tb_privateuse1.i18n.units import shorten, with_unit
from tb_privateuse1.trace import intervals

_LONGEST = 120
"""Characters of shapes in a sentence."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the calls that surely do the same as a larger one, and those that may."""
    table, rows = outdone_calls(case.trace, case.judged)
    for is_sure in (True, False):
        chosen = rows.take(table.is_sure[rows.call] == is_sure)
        gone = remove(case, Needless(chosen.op, chosen.share))
        if case.share(intervals.length(gone.claim)) >= MANY_PLACES:
            yield _finding(case, table, int(chosen.call.min()), gone)


def _finding(
    case: RuleContext,
    table: OutdoneCalls,
    worst: int,
    gone: Removed,
) -> RuleFinding:
    is_sure = bool(table.is_sure[worst])
    return RuleFinding(
        title=say(
            "Calls take longer than larger ones of the same operator: {share} of the time", share=""
        ),
        explanation=_compared(case, table, worst),
        events=len(gone.rows),
        evidence=case.examples("ops", gone.rows),
        how=say(
            "The time of the fastest of them beyond the median of the larger call, whose inputs "
            "contain theirs. A pass over their bytes as slow as any here is not the reason."
        )
        if is_sure
        else say(
            "The time of the fastest of them beyond the median of the call with no smaller inputs. "
            "It is less if values decide what the operator does, or if the inputs cannot come in "
            "this order."
        ),
        claim=gone.claim,
        removes=gone.removes,
        may_vanish=not is_sure,
        confidence="medium" if is_sure else "low",
        source=case.source(gone.rows),
        lacks=case.lacks("stacks"),
    )


def _compared(case: RuleContext, table: OutdoneCalls, one: int) -> Text:
    trace, row, peer = case.trace, int(table.op[one]), int(table.peer[one])
    values = {
        "name": trace.text(trace.ops.name[row]),
        "own": _described(case, row, peer),
        "time": with_unit("_ns", int(table.least_ns[one])),
        "other": _described(case, peer, row),
        "peer": with_unit("_ns", int(table.peer_ns[one])),
    }
    return say(
        "{name} takes {time} for {own}, and only {peer} for {other}, which is no less work.",
        **values,
    )


def _described(case: RuleContext, row: int, other: int) -> str:
    """Return the shapes of a call, with what else differs from another one: strides or values."""
    ops, text = case.trace.ops, case.trace.text
    shapes = shorten(text(ops.shapes[row]), _LONGEST)
    if ops.strides[row] != ops.strides[other] and ops.shapes[row] == ops.shapes[other]:
        strides = shorten(text(ops.strides[row]), _LONGEST)
        return say("{shapes} with strides {strides}", shapes=shapes, strides=strides)
    if ops.concrete[row] != ops.concrete[other]:
        given = shorten(text(ops.concrete[row]), _LONGEST)
        return say("{shapes} with the arguments {given}", shapes=shapes, given=given)
    return shapes


RULE = Rule(
    name="outdone_calls",
    title=say("Calls slower than larger ones of the same operator"),
    cause="device",
    looks_for=say(
        "Products, convolutions, passes over tensors and operators of one's own, {calls} calls and "
        "more of 50 µs, that take {factor} times as long as calls whose inputs contain theirs.",
        calls=LEAST_CALLS,
        factor=MOST_FACTOR,
    ),
    why=say(
        "Libraries have a slow way for some sizes, groups and layouts, and a fast one for others."
    ),
    fix=say(
        "Bring the slow call to the form of the fast one: sizes padded with zeros, fewer groups of "
        "a convolution, inputs that lie in memory as the fast one's do, made once outside of the "
        "loop. In an operator of your own, look at the way that it takes for these inputs."
    ),
    threshold=say(
        "{least} of the step: the fix changes several places.", least=exact_percent(MANY_PLACES)
    ),
    reference=say("oneDNN: verbose mode names the implementation of each call."),
    code=Code(
        before="y = operator(x.t())  # in each step",
        after="x = x.t().contiguous()  # once\ny = operator(x)",
    ),
    check=check,
    needs=("operators", "shapes"),
)
