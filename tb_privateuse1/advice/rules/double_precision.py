"""Kernels in float64, which accelerators run slowly."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent, percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import KERNEL

_SAVED = 0.5
"""float32 has half of the bytes: the least that any device saves."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the kernels of operators with a float64 tensor as input."""
    trace = case.trace
    ops, kernels = trace.ops, trace.kernels
    used = np.flatnonzero(np.bincount(ops.dtypes[ops.dtypes >= 0], minlength=1))
    double = np.zeros(len(trace.strings) + 1, np.bool_)
    double[[i for i in used if '"double"' in trace.text(i)]] = True
    usable = case.judged_kernels & (kernels.kind == KERNEL) & ~kernels.communication
    rows = np.flatnonzero(usable & (kernels.op >= 0))
    rows = rows[double[ops.dtypes[kernels.op[rows]]]]
    if not len(rows):
        return
    shapes, types = ops.shapes[kernels.op[rows]], ops.dtypes[kernels.op[rows]]
    first, group = group_rows(shapes, types)
    is_double = [_is_double(trace.text(shapes[i]), trace.text(types[i])) for i in first]
    rows = rows[np.array(is_double, np.bool_)[group]]
    claim = device_bound.shorten(case.of_device(case.time(rows, "kernels")), _SAVED)
    if case.share(intervals.length(claim)) < ONE_PLACE:
        return
    calls = np.unique(kernels.op[rows]).astype(np.int64)
    yield RuleFinding(
        title=say(
            "Work in float64: {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{kernels:,} kernels have a float64 tensor among their inputs, often by accident: "
            "a NumPy array, a Python float in a tensor. float64 takes twice the memory, and "
            "many times the arithmetic where units for it are few.",
            kernels=len(rows),
        ),
        events=len(rows),
        evidence=case.examples("ops", calls),
        how=say("Half of their time while others waited for the device: half the bytes, at least."),
        claim=claim,
        removes=case.without(kernels=rows, share=_SAVED),
        confidence="high",
        source=case.source(calls),
        lacks=case.lacks("stacks"),
    )


def _is_double(shapes: str, dtypes: str) -> bool:
    """Return whether a tensor with a size is float64; a scalar may be a Python number."""
    try:
        pairs = zip(json.loads(shapes), json.loads(dtypes), strict=False)
        return any(kind == "double" and len(size) > 0 for size, kind in pairs)
    except (ValueError, TypeError):
        return False


RULE = Rule(
    name="double_precision",
    title=say("Work in float64"),
    cause="device",
    looks_for=say("Kernels of operators with double among their input types."),
    why=say("Accelerators have few units for it, or none."),
    fix=say(
        "Make tensors float32 where they come from: torch.tensor(x, dtype=torch.float32), "
        "array.astype(numpy.float32)."
    ),
    threshold=say(
        "{least} of the step; computations that need float64 are not rare in science.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("msprof-analyze's data type tables for AICPU operators."),
    code=Code(
        before="x = torch.from_numpy(array)  # float64",
        after="x = torch.from_numpy(array.astype(numpy.float32))",
    ),
    check=check,
    needs=("work", "shapes", "links"),
)
