"""Launch-bound: kernels shorter than their launch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ANY_PROGRAM
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import distinct_values
from tb_privateuse1.trace.table import I64

_MANY, _MOSTLY = 100, 0.5
"""Kernels of a step, and their share: any model has short ones between the long ones."""
_REMOVED = 0.5
"""Share of the waits that a fusion saves. It makes two kernels one at the least."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the idle time before kernels shorter than the host's launch interval."""
    trace = case.trace
    kernels = trace.kernels
    compute = (breakdown.activity_kinds(kernels) == 0) & case.judged_kernels
    computing = np.flatnonzero(compute & (kernels.op >= 0))
    interval = _between_launches(case, computing)
    if interval is None:
        return
    duration = kernels.end_ns[computing] - kernels.start_ns[computing]
    tiny = computing[duration < interval]
    if len(tiny) < _MANY * len(case.steps) or len(tiny) < _MOSTLY * len(computing):
        return
    gaps = _before(case, tiny, 4 * interval)
    claim = device_bound.shorten(intervals.intersect(gaps, case.idle), _REMOVED)
    if case.share(intervals.length(claim)) < ANY_PROGRAM:
        return
    per_step = len(tiny) / len(case.steps)
    count = np.bincount(trace.ops.name[kernels.op[tiny]])
    names = [trace.text(i) for i in np.argsort(-count, kind="stable")[:3] if count[i]]
    ops = distinct_values(kernels.op[tiny])
    yield RuleFinding(
        title=say(
            "Launch-bound: {part} of the kernels are shorter than their launch",
            part=percent(len(tiny) / len(computing)),
        ),
        explanation=say(
            "{kernels:,.0f} kernels {per_step} run for less than the {interval:.3g} µs that the "
            "host needs from one launch to the next. Most come from {names}.",
            kernels=per_step,
            interval=interval / 1000,
            names=join_list(names),
            per_step=case.per_step,
        ),
        events=len(tiny),
        evidence=case.examples("kernels", tiny),
        how=say(
            "Half of the idle time directly before them: fused in pairs, half of the launches "
            "go. Graph replay or torch.compile may save more."
        ),
        claim=claim,
        removes=case.without(instants=claim),
        confidence="medium",
        source=case.source(ops),
        lacks=case.lacks("stacks"),
    )


def _between_launches(case: RuleContext, rows: I64) -> float | None:
    """Return the median launch interval of the host in ns; None with too few launches."""
    kernels, trace = case.trace.kernels, case.trace
    launch = kernels.launch[rows]
    by_launch = lookup(trace.launches.start_ns, launch, 0)
    at = np.where(launch >= 0, by_launch, trace.ops.start_ns[kernels.op[rows]])
    at = np.sort(at, kind="stable")  # fast: almost in order
    between = np.diff(at)
    between = between[between > 0]
    return float(np.median(between)) if len(between) >= _MANY else None


def _before(case: RuleContext, rows: I64, most_ns: float) -> intervals.Set:
    """Return the idle ranges of at most ``most_ns`` that end at one of these activities."""
    starts, ends = case.limits.all_idle
    kernels = case.trace.kernels
    at = np.searchsorted(ends, kernels.start_ns[rows] + 1) - 1
    at = distinct_values(at[at >= 0])
    begun = kernels.start_ns[rows]
    first = begun[np.minimum(np.searchsorted(begun, ends[at]), len(rows) - 1)]
    close = (first == ends[at]) & (ends[at] - starts[at] <= most_ns)
    return starts[at][close], ends[at][close]


RULE = Rule(
    name="tiny_kernels",
    title=say("Many tiny kernels"),
    cause="launching",
    looks_for=say("Kernels shorter than the median time from launch to launch of this trace."),
    why=say("However fast the device is, such a sequence runs at the pace of the host."),
    fix=say(
        "Fuse them: torch.compile, graph capture, fused or foreach operators, larger batches; "
        "replace loops over small tensors by one operation on a stacked tensor."
    ),
    threshold=say(
        "At least {many} a step and half of all kernels, with {least} of the step to gain; the "
        "line between short and long is measured in each trace, as hosts differ.",
        many=_MANY,
        least=exact_percent(ANY_PROGRAM),
    ),
    reference=say("TraceLens short kernels (10 µs), msprof-analyze small operators."),
    code=Code(
        before="total = sum(part.square().sum() for part in parts)",
        after="total = torch.cat([part.flatten() for part in parts]).square().sum()",
    ),
    remedy="compile",
    check=check,
    needs=("device", "operators", "links"),
    precedence="symptom",
)
