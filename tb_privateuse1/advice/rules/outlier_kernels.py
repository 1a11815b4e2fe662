"""Kernel calls that take much longer than other calls of the same kernel and shapes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.base import Rule, RuleFinding, exact_percent, percent
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import with_unit
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import KERNEL, MEASURED

_FACTOR, _MANY, _LEAST = 3, 10, 0.01


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the excess over the median of calls that take three times the median.

    The median is per kernel and input shapes.
    """
    trace = case.trace
    kernels, ops = trace.kernels, trace.ops
    usable = (kernels.kind == KERNEL) & ~kernels.communication & (kernels.op >= 0)
    rows = np.flatnonzero(usable & case.judged_kernels & (kernels.evidence == MEASURED))
    rows = rows[ops.shapes[kernels.op[rows]] >= 0]
    if not len(rows):
        return
    duration = kernels.end_ns[rows] - kernels.start_ns[rows]
    _, group = group_rows(kernels.name[rows], ops.shapes[kernels.op[rows]])
    order = np.lexsort((duration, group))
    edges = np.searchsorted(group[order], np.arange(group.max() + 2))
    count = np.diff(edges)
    median = duration[order][(edges[:-1] + edges[1:] - 1) // 2]
    slow = (duration > _FACTOR * median[group]) & (count[group] >= _MANY)
    rows, usual = rows[slow], median[group][slow]
    excess = intervals.union(kernels.start_ns[rows] + usual, kernels.end_ns[rows])
    claim = case.of_device(excess)
    if not len(rows) or case.share(intervals.length(claim)) < _LEAST:
        return
    longest = np.argsort(kernels.start_ns[rows] - kernels.end_ns[rows], kind="stable")
    notes = [
        say(
            "{time} where {usual} is usual",
            time=with_unit("x_ns", int(kernels.end_ns[r] - kernels.start_ns[r])),
            usual=with_unit("x_ns", int(u)),
        )
        for r, u in zip(rows[longest][:_MANY].tolist(), usual[longest].tolist(), strict=False)
    ]
    yield RuleFinding(
        title=say(
            "{calls:,} calls of kernels take {factor} times as long as their like, or more: "
            "{share} of the time",
            calls=len(rows),
            factor=_FACTOR,
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "The same kernel with the same input shapes takes much longer now and then. Memory "
            "that others use at the same time, a lower clock (heat, power), or another process "
            "on the device look like this."
        ),
        events=len(rows),
        evidence=case.examples("kernels", rows[longest], notes),
        how=say(
            "What these calls took beyond the median of their like, while others waited for "
            "the device."
        ),
        claim=claim,
        removes=case.without(kernels=rows, share=1 - usual / duration[slow]),
        confidence="low",
        source=case.source(kernels.op[rows].astype(np.int64)),
        lacks=(say("clocks and temperatures of the device"),),
    )


RULE = Rule(
    name="outlier_kernels",
    title=say("Kernels of uneven length"),
    cause="device",
    looks_for=say(
        "A kernel with the same input shapes {many} times or more, and calls of {factor} times the"
        " median.",
        many=_MANY,
        factor=_FACTOR,
    ),
    why=say("The device can do it faster, as it shows itself."),
    fix=say(
        "Look at what else ran then (copies, communication, another process); watch clock and "
        "temperature; compare with another device of the kind."
    ),
    threshold=say(
        "{factor} times the median, {least} of the step: kernels that share memory vary by two.",
        least=exact_percent(_LEAST),
        factor=_FACTOR,
    ),
    reference=say("msprof-analyze frequency drop; TraceLens variation check."),
    check=check,
    needs=("device", "shapes", "links"),
)
