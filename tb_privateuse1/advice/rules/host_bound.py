"""Host-bound: the device is idle, and no more specific rule explains it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import Rule, RuleContext, RuleFinding, join_list, percent, say
from tb_privateuse1.i18n.units import with_unit
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import Example
from tb_privateuse1.trace.table import I64

_LEAST, _MANY = 0.10, 50
_TOP = 5


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield all time in which the device was idle because nothing was launched."""
    limits, trace = case.limits, case.trace
    idle = intervals.length(limits.idle)
    if case.share(idle) < _LEAST or int(case.judged_kernels.sum()) < _MANY:
        return
    ops, launches = trace.ops, trace.launches
    calls = intervals.union(launches.start_ns, launches.end_ns)
    called = intervals.length(intervals.intersect(limits.idle, calls))
    working = intervals.subtract(case.time(case.top), calls)
    operating = intervals.length(intervals.intersect(limits.idle, working))
    rows = _starving(case)
    names = list(dict.fromkeys(trace.text(ops.name[row]) for row in rows))
    busiest = say(" Most of it went by in {names}.", names=join_list(names[:3])) if names else ""
    yield RuleFinding(
        title=say(
            "The host cannot feed the device: idle {share} of the time",
            share=percent(case.share(idle)),
        ),
        explanation=say(
            "The device had done all it was given and waited for the next launch. Of that time "
            "the host spent {operators} in operators, {calls} in runtime calls, and the rest "
            "outside of both (Python, the optimizer, the profiler itself).{most}",
            operators=percent(operating / idle),
            calls=percent(called / idle),
            most=busiest,
        ),
        events=len(limits.idle[0]),
        evidence=_gaps(case),
        how=say(
            "All time within the steps during which no device activity ran and none was "
            "queued, less what other findings explain. Removing the host's work entirely would "
            "save it."
        ),
        claim=limits.idle,
        removes=case.without(instants=limits.idle),
        confidence="medium",
        source=case.source(rows),
        lacks=case.lacks("stacks"),
    )


def _gaps(case: RuleContext) -> tuple[Example, ...]:
    """Return the activities after the longest idle times."""
    starts, ends = case.limits.idle
    longest = np.argsort(starts - ends, kind="stable")[:_TOP]
    kernels = case.trace.kernels
    next_ = np.searchsorted(kernels.start_ns, ends[longest])
    has_next = next_ < len(kernels)
    lengths = (ends - starts)[longest][has_next].tolist()
    notes = [
        say("after {time} without work", time=with_unit("idle_ns", length)) for length in lengths
    ]
    return case.examples("kernels", next_[has_next], notes) if notes else ()


def _starving(case: RuleContext) -> I64:
    """Return the operators with the most time while the device was idle, one per name."""
    ops, top = case.trace.ops, case.top
    idle_ns = intervals.covered_length(case.limits.idle, ops.start_ns[top], ops.end_ns[top])
    total = np.bincount(ops.name[top], weights=idle_ns)
    chosen = []
    for name in np.argsort(-total, kind="stable")[:_TOP].tolist():
        if total[name] > 0:
            calls = np.flatnonzero(ops.name[top] == name)
            chosen.append(top[calls[np.argmax(idle_ns[calls])]])
    return np.array(chosen, np.int64)


RULE = Rule(
    name="host_bound",
    title=say("The host is too slow for the device"),
    cause="launching",
    looks_for=say("Idle device time that ends with a launch which the host made too late."),
    why=say("The device could do more work in the same time, or the same work in less."),
    fix=say(
        "Compile or capture the step into a graph (torch.compile, graph replay), use fused and "
        "foreach operators, raise the batch size, and move Python work out of the loop."
    ),
    threshold=say(
        "10 % of the step: less is found in any program that is not replayed from a graph (XProf "
        "draws the line at 10 %, TraceLens at 15 %). 50 activities: fewer are no program."
    ),
    reference=say("XProf: device idle; torch-tb-profiler: GPU utilisation."),
    check=check,
    needs=("device", "operators"),
    precedence="rest",
)
