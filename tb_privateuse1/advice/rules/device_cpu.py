"""Operators that run on the device's unit for scalar code instead of its main units."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.advice import device_time
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.analysis.work.arguments import typed_shapes
from tb_privateuse1.i18n import join_list, plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.table import I64

_NOTED = 0.03
"""Share of the device's work: the level of other notes on the device."""
_TOP = 4
"""Names in the sentence."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the activities on such a unit, by the vendor's names of units."""
    rows, unit = _rows(case)
    spent = case.time(rows, "kernels")
    work, claim = device_time.busy_share(case, spent), device_time.of_device(case, spent)
    if not len(rows):
        return
    note = RuleFinding(
        title=say(
            "{activities} on {unit}: {work} of the device's work",
            activities=plural(len(rows), "activity"),
            unit=unit,
            work=percent(work),
        ),
        explanation=say(
            "The main units have no kernel for {kernels}, so {unit} computes them, one element "
            "after the other: {work} of the device's work.{types}",
            kernels=_names(case, rows),
            unit=unit,
            work=percent(work),
            types=_types(case, rows),
        ),
        events=len(rows),
        evidence=case.examples("kernels", rows),
        how=say("Nothing waits for them now: they count once the host keeps ahead."),
        confidence="high",
        source=case.source(np.unique(case.trace.kernels.op[rows]).astype(np.int64)),
    )
    yield replace(
        note,
        title=say(
            "Operators run on {unit}: {share} of the time",
            unit=unit,
            share=percent(case.share(intervals.length(claim))),
        ),
        how=say(
            "Their time while others waited for the device. A kernel of the main units will need "
            "some of it, so this is at most."
        ),
        claim=claim,
        removes=case.without(kernels=rows),
        note=note if work >= _NOTED else None,
    )


def _rows(case: RuleContext) -> tuple[I64, str]:
    """Return the judged activities of the vendor's CPU units, and the unit of the first."""
    trace, pattern = case.trace, case.vendor.cpu_units
    if pattern is None or not len(trace.configs):
        return np.empty(0, np.int64), ""
    slow = [bool(pattern.search(trace.text(unit))) for unit in trace.configs.unit.tolist()]
    rows = np.flatnonzero(np.array([*slow, False])[trace.kernels.config] & case.judged_kernels)
    unit = trace.text(trace.configs.unit[trace.kernels.config[rows[0]]]) if len(rows) else ""
    return rows, unit


def _names(case: RuleContext, rows: I64) -> str:
    """Return the operators, or else the kernels, with most of the time."""
    kernels, trace = case.trace.kernels, case.trace
    op = kernels.op[rows]
    name = np.where(op >= 0, lookup(trace.ops.name, op, -1), kernels.name[rows])
    names, group = np.unique(name, return_inverse=True)
    total = groupby.sums(group, kernels.end_ns[rows] - kernels.start_ns[rows], len(names))
    order = np.argsort(-total, kind="stable")[:_TOP]
    return join_list(trace.text(names[i]) for i in order)


def _types(case: RuleContext, rows: I64) -> str:
    """Return the sentence on the element types that the operators read; empty without shapes."""
    ops = case.trace.ops
    found: dict[str, None] = {}
    for row in np.unique(case.trace.kernels.op[rows]).tolist():
        if row >= 0 and ops.shapes[row] >= 0:
            texts = case.trace.text(ops.shapes[row]), case.trace.text(ops.dtypes[row])
            found |= dict.fromkeys(dtype for _, dtype in typed_shapes(*texts))
    return say(" They read {types}.", types=join_list(found)) if found else ""


RULE = Rule(
    name="device_cpu",
    title=say("Operators on the device's CPU"),
    cause="fallback",
    looks_for=say(
        "Activities on a unit for scalar code, as the vendor's tool names it (AI_CPU on Ascend)."
    ),
    why=say("It is slower by orders of magnitude, and the main units wait for its result."),
    fix=say(
        "Register a kernel of the main units for these types in the backend; or let the program "
        "avoid the type: int32 or float32 instead of int64, float64 or bool."
    ),
    threshold=say(
        "{least} of the step. If nothing waits for them: a note from {noted} of the device's work.",
        least=exact_percent(NOISE),
        noted=exact_percent(_NOTED),
    ),
    reference=say("msprof-analyze's AICPU rule."),
    code=Code(
        before="hits = (prediction == target).sum()",
        after="hits = (prediction == target).to(torch.float32).sum()",
    ),
    check=check,
    needs=("device",),
)
