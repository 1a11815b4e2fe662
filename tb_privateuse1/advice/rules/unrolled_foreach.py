"""For-each operators that the backend takes apart into one call per tensor."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import (
    Rule,
    RuleContext,
    RuleFinding,
    join_list,
    percent,
    plural,
    say,
)
from tb_privateuse1.analysis.idle import bottleneck
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64

_NAMES = r"^aten::_(foreach|fused)_"
_LEAST, _MANY = 0.005, 4


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Operators for many tensors with as many operators directly inside."""
    if case.limits.known == "host":
        return  # torch itself has none for the CPU
    ops = case.trace.ops
    every = case.ops(_NAMES)
    inside = _calls_of_one(case, every)
    rows = every[inside[every] >= _MANY]
    if not len(rows):
        return
    # The operators inside differ where the operator itself does something first: one is left.
    share = 1 - 1 / inside[rows]
    order = np.argsort(ops.start_ns[rows], kind="stable")
    spent = (ops.start_ns[rows][order], ops.end_ns[rows][order])
    claim = case.of_host(intervals.union(*bottleneck.shorten(spent, share[order])))
    if claim is not None and case.share(intervals.length(claim)) < _LEAST:
        return
    names = sorted({case.trace.text(name) for name in ops.name[rows]})
    calls = int(inside[rows].sum())
    cost = (
        ""
        if claim is None
        else say(": {share} of the time", share=percent(case.share(intervals.length(claim))))
    )
    yield RuleFinding(
        title=say(
            "{operators} run tensor by tensor{cost}",
            operators=plural(len(names), "for-each operator"),
            cost=cost,
        ),
        explanation=say(
            "{names} were called {times:,} times and made {calls:,} calls of other operators, "
            "one per tensor. Either the backend has no kernel for lists of tensors, or these "
            "differ in type, layout or device, and torch falls back to a loop.",
            names=join_list(names[:6]),
            times=len(rows),
            calls=calls,
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=say(
            "The host time of these operators while the device had nothing to do, less one of "
            "the calls inside of each."
        ),
        claim=claim,
        removes=case.without(ops=rows, share=1 - 1 / inside[rows]),
        confidence="high",
        source=case.source(rows),
        lacks=case.lacks("device"),
    )


def _calls_of_one(case: RuleContext, every: I64) -> I64:
    """How many operators directly inside each do the same for one tensor (``add_`` for
    ``_foreach_add_``); others, such as ``result_type``, prepare the kernel for all.
    """
    ops, trace = case.trace.ops, case.trace
    single = np.full(len(trace.strings) + 1, NONE, np.int64)
    ids = {text: number for number, text in enumerate(trace.strings)}
    for name in np.unique(ops.name[every]):
        one = re.sub(r"_(foreach|fused)_", "", trace.text(name))
        single[name] = ids.get(one, ids.get(one.removesuffix("_"), NONE))
    around = np.append(ops.name, NONE)[ops.parent]
    same = (single[around] == ops.name) & (ops.parent >= 0)
    return np.bincount(ops.parent[same], minlength=len(ops))


RULE = Rule(
    name="unrolled_foreach",
    title=say("For-each operators without a kernel"),
    cause="fallback",
    looks_for=say(
        "`aten::_foreach_add_` and the like with four or more `aten::add_` directly inside."
    ),
    why=say(
        "An optimizer that was asked to update all parameters at once launches each by itself."
    ),
    fix=say(
        "Register the _foreach_ operators that the optimizer uses in the backend (for SGD "
        "`_foreach_add_` and `_foreach_mul_`, for Adam also lerp, addcmul, addcdiv, sqrt), or "
        "`_fused_adam_`; where it has them, keep the parameters of one type and layout."
    ),
    threshold=say("Four tensors and 0.5 % of the step: real models have hundreds."),
    reference=say("torch's slow paths (aten/src/ATen/native/ForeachOpsKernels.cpp)."),
    check=check,
    needs=("operators",),
)
