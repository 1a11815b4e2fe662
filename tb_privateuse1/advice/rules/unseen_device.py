"""A recording of host events alone: when the host waits for a device, and when it does not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.judged_trace import LACKS
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.host_bound import RULE as HOST_BOUND
from tb_privateuse1.advice.rules.rule import Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE, PROGRAM
from tb_privateuse1.analysis.idle.host_side import HostSide, host_side
from tb_privateuse1.analysis.operators.function_names import call_title
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent, with_unit
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.table import I64

_MOST = 0.5
"""Of the time: less is not what the steps are made of."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the host's own time, and its waits by the call that waits."""
    codes = {finding.code for finding in case.trace.meta.findings}
    if "no_device_activities" not in codes or len(case.operators) < PROGRAM:
        return
    found = host_side(case.trace, case.window)
    if found is None:
        return
    if case.share(intervals.length(found.own)) >= _MOST:
        yield _own(case, found)
    started = case.trace.ops.start_ns[case.operators]
    for _, rows in groupby.split_by_value(found.name):
        # At the ends of a recording the profiler waits, or the host waits for what is before it.
        at = found.start_ns[rows]
        inner = rows[(at <= started.max()) & (found.end_ns[rows] > started.min())]
        if len(inner) and case.share(int(found.spare_ns[inner].sum())) >= ONE_PLACE:
            yield _waits(case, found, inner)


def _own(case: RuleContext, found: HostSide) -> RuleFinding:
    """Return the finding that the host's own work takes most of the time."""
    ops, top = case.trace.ops, case.top
    loading = np.flatnonzero(call_tree.starts_with(case.trace, call_tree.LOADER)[ops.name])
    in_loader = intervals.intersect(found.own, case.time(loading))
    in_ops = intervals.subtract(intervals.intersect(found.own, case.time(top)), in_loader)
    waited = intervals.intersect(intervals.union(found.start_ns, found.end_ns), case.window)
    median = round(float(np.median(ops.end_ns[top] - ops.start_ns[top])))
    return RuleFinding(
        title=say(
            "No faster device shortens {share} of the time: the host is at work itself",
            share=percent(case.share(intervals.length(found.own))),
        ),
        explanation=say(
            "The device is not recorded. The host waits for it in {waited} of the time. By each "
            "wait the device had done all its work, so the time between waits is the host's: "
            "{operators} of the time in {count:,.0f} operators {per_step}, of {each} at the "
            "median, {loading} in data loaders, the rest in Python and the program's other code. "
            "Operators return before their work is done: their times say nothing of it.",
            waited=percent(case.share(intervals.length(waited))),
            operators=percent(case.share(intervals.length(in_ops))),
            count=len(top) / max(len(case.steps), 1),
            per_step=case.per_step,
            each=with_unit("median_ns", median),
            loading=percent(case.share(intervals.length(in_loader))),
        ),
        events=len(top),
        evidence=case.examples("ops", top),
        how=say(
            "No saving is known: how long the device works meanwhile is not recorded. With no work "
            "of the host at all, the steps would take as long as the device does."
        ),
        source=case.source(top),
        lacks=(LACKS["device"], *case.lacks("stacks")),
        urgent=True,
    )


def _waits(case: RuleContext, found: HostSide, rows: I64) -> RuleFinding:
    """Return the finding on the waits of one call."""
    length = intervals.length(
        intervals.intersect(intervals.union(found.start_ns[rows], found.end_ns[rows]), case.window)
    )
    name = call_title(case.trace, case.trace.text(found.name[rows[0]]))
    ops = found.op[rows][found.op[rows] >= 0]
    return RuleFinding(
        title=say(
            "The host waits for the device in {name}: {waited} of the time, {most} at most to save",
            name=name,
            waited=percent(case.share(length)),
            most=percent(case.share(int(found.spare_ns[rows].sum()))),
        ),
        explanation=say(
            "{calls} returned when the device had done what was launched before. Without a wait "
            "the host runs ahead: by no more than the wait took, and by no more than its own work "
            "up to the next one. If the device is the slower of the two, next to nothing is "
            "gained.",
            calls=plural(len(rows), "call"),
        ),
        events=len(rows),
        evidence=case.examples("ops", ops),
        how=say(
            "No saving is known, only its bound: the device's idle time behind each wait is not "
            "recorded."
        ),
        source=case.source(case.outermost(ops)),
        lacks=(LACKS["device"], *case.lacks("stacks")),
        fix=say(
            "Read results later, several at once, or from a copy that does not wait "
            "(non_blocking=True into pinned memory); keep sizes and conditions on the device "
            "(torch.where, masks). Remove synchronize() from the loop."
        ),
    )


RULE = Rule(
    name="unseen_device",
    title=say("What the host shows of a device that is not recorded"),
    cause="waiting",
    looks_for=say(
        "Work on a device without any activity of it in the recording: the host's waits by name, "
        "and its own time before each."
    ),
    why=say("Only waits tell when the device was done; operators return before their work is."),
    fix=HOST_BOUND.fix,
    threshold=say(
        "{most} of the step for the host's own time, {least} for what a wait costs at most. "
        "{many} operators: fewer are no program.",
        most=exact_percent(_MOST),
        least=exact_percent(ONE_PLACE),
        many=PROGRAM,
    ),
    reference=say("PyTorch performance tuning guide: avoid unnecessary synchronization."),
    check=check,
    needs=("operators",),
)
