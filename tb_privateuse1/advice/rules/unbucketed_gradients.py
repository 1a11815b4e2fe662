"""Gradients sent one by one: long runs of collectives with hardly any work between them.

No sizes are needed. The shortest collective of a run shows what each of them costs before its
bytes count, and buckets pay that less often. Collectives of tensor parallelism are in no such run:
a product waits for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import device_time
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.base import Code, Rule, RuleFinding, exact_percent, percent
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import with_unit
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import I64

_MANY = 20
"""Collectives of a run. Buckets of 25 MiB send a model of a billion parameters in 80."""
_BETWEEN = 0.5
"""Other work between two collectives of a run, as a share of the shorter one: an average."""
_BUCKET = 10
"""Gradients that a bucket takes at the least."""
_LEAST = 0.01


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield runs of collectives of unknown size."""
    kernels = case.trace.kernels
    rows, run = _runs(case)
    if not len(rows):
        return
    duration = np.maximum(kernels.end_ns[rows] - kernels.start_ns[rows], 1)
    least = np.full(int(run.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, run, duration)
    shares = least[run] / duration * (1 - 1 / _BUCKET)
    later = np.zeros(len(kernels), np.bool_)
    later[rows[1:]] = run[1:] == run[:-1]
    claim = intervals.merge(
        device_time.of_device(case, device_time.shortened(case, rows, shares)),
        device_time.gaps_before(case, later),
    )
    if case.share(intervals.length(claim)) < _LEAST:
        return
    yield RuleFinding(
        title=say(
            "Gradients are sent one by one, {count:,.0f} collectives a step: {share} of the time",
            count=len(rows) / max(len(case.steps), 1),
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{collectives:,} collectives follow one another with hardly any work between them. "
            "The shortest takes {least}, whatever its size: each of the others pays that, too.",
            collectives=len(rows),
            least=with_unit("idle_ns", int(least.min())),
        ),
        events=len(rows),
        evidence=case.examples("kernels", rows),
        how=say(
            "The time of the shortest collective of a run for nine in ten of its collectives, as "
            "buckets of ten gradients would need, and the pauses between them."
        ),
        claim=claim,
        removes=case.without(kernels=rows, share=shares),
        confidence="medium",
        source=case.source(kernels.op[rows].astype(np.int64)),
        lacks=case.lacks("stacks", "collectives"),
    )


def _runs(case: RuleContext) -> tuple[I64, I64]:
    """Return the judged collectives of unknown size in long runs, by start, and their runs."""
    kernels, calls = case.trace.kernels, case.trace.collectives
    sized = np.zeros(len(kernels) + 1, np.bool_)
    sized[calls.kernel[calls.bytes != MISSING]] = True
    rows = np.flatnonzero(case.judged_kernels & kernels.communication & ~sized[:-1])
    if len(rows) < _MANY:
        return rows[:0], rows[:0]
    start, end = kernels.start_ns[rows], kernels.end_ns[rows]
    others = np.flatnonzero(~kernels.communication)
    work = case.time(others, "kernels")
    between = intervals.covered_length(work, end[:-1], np.maximum(start[1:], end[:-1]))
    shorter = np.minimum(end - start, np.median(end - start))
    joined = between <= _BETWEEN * np.minimum(shorter[1:], shorter[:-1])
    joined &= (kernels.step[rows][1:] == kernels.step[rows][:-1]) & (
        kernels.lane[rows][1:] == kernels.lane[rows][:-1]
    )
    run = np.cumsum(np.append(True, ~joined)) - 1
    long = (np.bincount(run) >= _MANY)[run]
    return rows[long], groupby.group_rows(run[long])[1]


RULE = Rule(
    name="unbucketed_gradients",
    title=say("Gradients sent one by one"),
    cause="communication",
    looks_for=say(
        "{many} or more collectives of unknown size in a row, with less other work between two of "
        "them than half of the shorter one takes.",
        many=_MANY,
    ),
    why=say("Each costs its latency, and nothing of the backward pass hides it."),
    fix=say(
        "Send gradients in buckets, while the backward pass still runs: DistributedDataParallel or "
        "FSDP. By hand: one all_reduce of a concatenated tensor, or all_reduce_coalesced."
    ),
    threshold=say(
        "{many} in a row, and {least} of the step: a line changes it.",
        least=exact_percent(_LEAST),
        many=_MANY,
    ),
    reference=say("S. Li et al.: PyTorch Distributed, 2020: gradient bucketing."),
    code=Code(
        before=("loss.backward()\nfor p in model.parameters():\n    dist.all_reduce(p.grad)"),
        after="model = DistributedDataParallel(model)\nloss.backward()",
    ),
    check=check,
    needs=("device",),
)
