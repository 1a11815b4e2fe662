"""Operators without a kernel of the backend: torch runs them on the CPU, with copies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.i18n import join_list, plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals

_TO_CPU = r"^aten::_to_cpu$"
_TOP = 8
"""Operators that the sentence names."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the operators around ``aten::_to_cpu``: only torch's fallback calls it."""
    ops = case.trace.ops
    moved = case.ops(_TO_CPU)
    callers = np.unique(ops.parent[moved])
    rows = callers[callers >= 0].astype(np.int64)
    if not len(rows):
        return
    names, index = np.unique(ops.name[rows], return_inverse=True)
    duration = ops.end_ns[rows] - ops.start_ns[rows]
    total = np.bincount(index, weights=duration, minlength=len(names))
    count = np.bincount(index, minlength=len(names))
    order = np.argsort(-total, kind="stable")
    costliest = join_list(
        say(
            "{name} ({calls}, {time:,.3g} ms)",
            name=case.trace.text(names[i]),
            calls=plural(int(count[i]), "call"),
            time=float(total[i]) / 1e6,
        )
        for i in order[:_TOP]
    )
    rest = say(" and {count} more", count=len(names) - _TOP) if len(names) > _TOP else ""
    claim = case.blocking(case.time(rows))
    yield RuleFinding(
        title=say(
            "{operators} that the backend lacks, run on the CPU: {share} of the time",
            operators=plural(len(names), "operator"),
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "The backend has no kernel for them. torch copies their inputs to the host, which "
            "waits for the device, computes there, and copies the results back: "
            "{costliest}{more}.",
            costliest=costliest,
            more=rest,
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=say(
            "The whole host time of these calls: the program stands still in each. The kernel "
            "that takes its place will need some of it, so this is at most."
        ),
        claim=claim,
        confidence="high",
        source=case.source(rows),
    )


RULE = Rule(
    name="cpu_fallback",
    title=say("Operators that fell back to the CPU"),
    cause="fallback",
    looks_for=say("aten::_to_cpu inside of an operator: torch's fallback for missing kernels."),
    why=say("Two copies and a synchronization surround each call, and the CPU is slower besides."),
    fix=say(
        "Register kernels for these operators in the backend, the costliest first; or express "
        "them by operators that it has. TORCH_LIBRARY_IMPL without the fallback finds all of "
        "them."
    ),
    threshold=say("Any call with {least} of the step.", least=exact_percent(NOISE)),
    reference=say("at::native::cpu_fallback (aten/src/ATen/native/CPUFallback.cpp)."),
    code=Code(
        before="m.fallback(torch::CppFunction::makeFromBoxedFunction<&cpu_fallback>());",
        after='m.impl("cumsum.out", TORCH_FN(cumsum_out));  // for aten on PrivateUse1',
    ),
    check=check,
    needs=("operators",),
)
