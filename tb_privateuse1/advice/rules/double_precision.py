"""Kernels in float64, which accelerators run slowly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.advice import device_time
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.number_types import Rates, double_work
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64

_FACTORS = (
    r"^aten::_?(linalg_(?!\w*norm|matmul|multi_dot|vecdot|cross|diagonal|vander)|cholesky|lu_|"
    r"triangular_solve|inverse$|svd|qr$|geqrf|ormqr|lstsq)"
)
"""Starts of torch's names (native_functions.yaml) for factorizations, and what solves with them."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the kernels of operators with a float64 tensor as input.

    Where a matrix in float64 is factorized, they are a note.
    """
    work = double_work(case.trace, on_host=case.is_host)
    judged = case.judged_kernels[work.slow.rows]
    slow, most = work.slow.where(judged), work.most[judged]
    claim = device_time.claim_of(case, slow)
    if case.share(intervals.length(claim)) < ONE_PLACE:
        return
    calls = np.unique(case.trace.kernels.op[slow.rows]).astype(np.int64)
    if _factorizes(case):
        yield _needed(case, claim, calls, len(slow.rows))
        return
    whole = intervals.length(device_time.claim_of(case, replace(slow, shares=most)))
    yield RuleFinding(
        title=say("Work in float64: {share} of the time", share=""),
        explanation=say(
            "{kernels:,} activities have a float64 tensor among their inputs, often by accident: "
            "a NumPy array, a Python float in a tensor. float64 takes twice the memory, and "
            "many times the arithmetic where units for it are few.",
            kernels=len(slow.rows),
        ),
        events=len(slow.rows),
        evidence=case.examples("ops", calls),
        how=_HOW[work.rates],
        claim=claim,
        removes=device_time.removal_of(case, slow),
        most=whole / max(intervals.length(claim), 1),
        confidence="medium" if work.rates == "bytes" else "high",
        source=case.source(calls),
        lacks=case.lacks("stacks"),
    )


def _factorizes(case: RuleContext) -> bool:
    """Return whether a judged operator factorizes a matrix in float64, or solves with one."""
    dtypes = np.unique(case.trace.ops.dtypes[case.ops(_FACTORS)])
    return any('"double"' in case.trace.text(i) for i in dtypes.tolist())


def _needed(case: RuleContext, claim: intervals.Set, calls: I64, activities: int) -> RuleFinding:
    """Return a note on float64 that a factorization may need."""
    return RuleFinding(
        title=say(
            "Work in float64, a factorization among it: float32 would save {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{kernels:,} activities have a float64 tensor among their inputs. Errors of a "
            "factorization grow with the condition of its matrix, which no recording has.",
            kernels=activities,
        ),
        events=activities,
        evidence=case.examples("ops", calls),
        how=say("None is promised: whether float32 gives the same results is not recorded."),
        once=claim,
        confidence="low",
        fix=say(
            "Compare the results in float32. Keep float64 where the factorization needs it, and "
            "work in float32 before and behind it."
        ),
        source=case.source(calls),
    )


_HOW: dict[Rates, str] = {
    "measured": say(
        "Their time beyond that of comparable products in float32 in this recording, and half of "
        "their bytes, while others waited for them."
    ),
    "data_sheet": say(
        "Their time beyond that in float32, by the rates of the data sheet, and half of their "
        "bytes, while others waited for them."
    ),
    "processor": say(
        "Half of their time: a vector of the processor holds twice as many numbers in float32, and "
        "half of the bytes are moved."
    ),
    "bytes": say(
        "Half of their bytes at the best rate of memory here. At which rate this device "
        "multiplies in float32 is not recorded: the upper end is half of all time in float64."
    ),
}


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
    remedy="single_precision",
    check=check,
    needs=("work", "shapes", "links"),
)
