"""Operators of one's own that take far longer than a pass over their inputs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, Removed, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.idioms.batched_cost import pace_ns
from tb_privateuse1.analysis.idioms.own_operators import FAR, OwnOperators, own_operators
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.i18n import Text, join_list, join_sentences, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import groupby, intervals

_MUCH = 0.1
"""Of the judged time, as of ``kernel_roofs``: another kernel is a day's work."""
_NAMES = 3
"""Operators that a sentence names."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the operators of one's own, with a range where Python loops in their body."""
    if np.isfinite(device_rates(case.trace).given.memory):
        return  # ``kernel_roofs`` is asked of devices with a data sheet
    found = own_operators(case.trace, case.judged)
    beyond = (found.duration_ns - found.pass_ns) / np.maximum(found.duration_ns, 1)
    # A pass may be as much faster than the slowest one that nothing is left of it.
    most = remove(case, Needless(found.op, np.ones(len(found))))
    if not len(found) or case.share(intervals.length(most.claim)) < _MUCH:
        return
    called = found.looped * pace_ns(case.trace) / np.maximum(found.duration_ns, 1)
    loops = remove(case, Needless(found.op, np.minimum(called, beyond)))
    saves = case.share(intervals.length(loops.claim)) >= MANY_PLACES
    yield _finding(case, found, most, loops if saves else None)


def _finding(
    case: RuleContext, found: OwnOperators, most: Removed, loops: Removed | None
) -> RuleFinding:
    least = found.pass_ns.sum() / found.duration_ns.sum()
    upper = percent(case.share(intervals.length(most.claim)))
    return RuleFinding(
        title=say(
            "Operators of your own take {times:,.0f} times as long as a pass over their inputs",
            times=float(1 / least),
        ),
        explanation=join_sentences(_sentences(case, found)),
        events=len(found),
        evidence=case.examples("ops", found.op),
        how=say(
            "None is promised: their arithmetic is not recorded. If they only pass over their "
            "inputs, it is up to {most}.",
            most=upper,
        )
        if loops is None
        else say(
            "The calls of Python in their loops, at the pace of the shortest quarter of torch's "
            "operators. Upper end: all of their time. Nothing, if each round needs the one before "
            "and no compiler takes the loop."
        ),
        claim=None if loops is None else loops.claim,
        removes=None if loops is None else loops.removes,
        may_vanish=loops is not None,
        most=1.0 if loops is None else _most(most, loops),
        confidence="low",
        source=case.source(found.op),
        lacks=case.lacks("stacks"),
    )


def _most(most: Removed, loops: Removed) -> float:
    """Return how many times the saving it may be, which is half of what may vanish."""
    ratio = intervals.length(most.claim) / intervals.length(loops.claim)
    return 1 + 2 * max(ratio - 1, 0.0)


def _sentences(case: RuleContext, found: OwnOperators) -> Iterator[Text]:
    names = case.trace.ops.name[found.op]
    distinct = groupby.distinct_values(names)
    total = groupby.sums(names.astype(np.int64), found.duration_ns, len(case.trace.strings))
    distinct = distinct[np.argsort(-total[distinct], kind="stable")][:_NAMES]
    yield say(
        "{calls:,} calls of {names} take so long. A pass over as many bytes takes {pass_share} of "
        "it here, even a slow one.",
        calls=len(found),
        names=join_list(case.trace.text(name) for name in distinct.tolist()),
        pass_share=percent(float(found.pass_ns.sum() / found.duration_ns.sum())),
    )
    if found.looped.any():
        yield say(
            "A call makes {calls:,} calls of Python in loops.",
            calls=int(found.looped[found.looped > 0].mean()),
        )
    else:
        yield say("That is right if they compute much for each element.")


RULE = Rule(
    name="own_operators",
    title=say("Operators of one's own far from a pass over their inputs"),
    cause="device",
    looks_for=say(
        "Operators outside of torch and its libraries that take {far} times as long as the slowest "
        "pass over as many bytes in this recording, or longer than it in a loop of Python; on a "
        "host or a device without a data sheet.",
        far=FAR,
    ),
    why=say("Nobody tunes an operator of one's own but its author."),
    fix=say(
        "Compute for all elements at once: whole arrays instead of a loop over rows or columns, or "
        "a loop that numba or torch.compile compiles. In C++, loop over neighbors in memory "
        "innermost, and let the compiler use vectors (-O3, -march=native)."
    ),
    threshold=say("{much} of the step: another kernel is a day's work.", much=exact_percent(_MUCH)),
    reference=say("S. Williams et al.: Roofline, CACM 2009."),
    code=Code(
        before="for at in range(width):\n    out[:, at] = x[:, at : at + 4].mean(1)",
        after="out = sum(x[:, at : at + width] for at in range(4)) / 4",
    ),
    check=check,
    needs=("operators", "shapes"),
)
