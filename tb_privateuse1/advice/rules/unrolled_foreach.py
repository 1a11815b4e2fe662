"""Foreach operators that the backend splits into one call per tensor."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.i18n import join_list, plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64

_NAMES = r"^aten::_(foreach|fused)_"
_MANY = 4
"""Tensors. Of 955 for-each calls in the shared recordings, 148 are fused and have no operator of
one tensor inside, ten have two, and the others have four to 160."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield foreach operators with one operator per tensor directly inside."""
    if case.limits.known == "host":
        return  # torch itself has no such kernels for the CPU
    ops = case.trace.ops
    candidates = case.ops(_NAMES)
    children = _calls_of_one(case, candidates)
    rows = candidates[children[candidates] >= _MANY]
    if not len(rows):
        return
    # A foreach kernel would still launch one operator, so one call of each remains.
    share = 1 - 1 / children[rows]
    order = np.argsort(ops.start_ns[rows], kind="stable")
    ranges = (ops.start_ns[rows][order], ops.end_ns[rows][order])
    claim = case.of_host(intervals.union(*device_bound.shorten(ranges, share[order])))
    if claim is not None and case.share(intervals.length(claim)) < NOISE:
        return
    names = sorted({case.trace.text(name) for name in ops.name[rows]})
    calls = int(children[rows].sum())
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
        removes=case.without(ops=rows, share=1 - 1 / children[rows]),
        confidence="high",
        source=case.source(rows),
        lacks=case.lacks("device"),
    )


def _calls_of_one(case: RuleContext, candidates: I64) -> I64:
    """Return the number of operators directly inside each that do the same for one tensor.

    ``add_`` counts inside ``_foreach_add_``. Others, such as ``result_type``, prepare all tensors.
    """
    ops, trace = case.trace.ops, case.trace
    single = np.full(len(trace.strings) + 1, NONE, np.int64)
    ids = {text: number for number, text in enumerate(trace.strings)}
    for name in np.unique(ops.name[candidates]):
        single_name = re.sub(r"_(foreach|fused)_", "", trace.text(name))
        single[name] = ids.get(single_name, ids.get(single_name.removesuffix("_"), NONE))
    parent_name = lookup(ops.name, ops.parent, NONE)
    same = (single[parent_name] == ops.name) & (ops.parent >= 0)
    return np.bincount(ops.parent[same], minlength=len(ops))


RULE = Rule(
    name="unrolled_foreach",
    title=say("For-each operators without a kernel"),
    cause="fallback",
    looks_for=say(
        "aten::_foreach_add_ and the like with {many} or more aten::add_ directly inside.",
        many=_MANY,
    ),
    why=say(
        "An optimizer that was asked to update all parameters at once launches each by itself."
    ),
    fix=say(
        "Register the _foreach_ operators that the optimizer uses in the backend (for SGD "
        "_foreach_add_ and _foreach_mul_, for Adam also lerp, addcmul, addcdiv, sqrt), or "
        "_fused_adam_; where it has them, keep the parameters of one type and layout."
    ),
    threshold=say(
        "{many} tensors and {least} of the step: real models have hundreds.",
        least=exact_percent(NOISE),
        many=_MANY,
    ),
    reference=say("torch's slow paths (aten/src/ATen/native/ForeachOpsKernels.cpp)."),
    code=Code(
        before="// nothing registered: torch calls add_ for each tensor",
        after=(
            'm.impl("_foreach_add_.List", TORCH_FN(foreach_add_list_));\n'
            'm.impl("_fused_adam_", TORCH_FN(fused_adam_));'
        ),
    ),
    check=check,
    needs=("operators",),
)
