"""Many collectives too small to use the link's bandwidth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import Code, Rule, RuleContext, RuleFinding, percent, say
from tb_privateuse1.analysis.idle import bottleneck
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.i18n.units import with_unit
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING

_SMALL, _BUCKET = 1 << 20, 25 << 20
_MANY, _LEAST = 10, 0.01


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield collectives below 1 MiB beyond the number that buckets of 25 MiB need."""
    calls, kernels = case.trace.collectives, case.trace.kernels
    rows = np.flatnonzero((calls.kernel >= 0) & (calls.bytes > 0) & (calls.bytes < _SMALL))
    rows = rows[case.judged_kernels[calls.kernel[rows]] & (calls.bytes[rows] != MISSING)]
    steps = len(case.steps)
    if len(rows) < _MANY * steps:
        return
    kernel = calls.kernel[rows].astype(np.int64)
    communicating = case.time(kernel, "kernels")
    exposed = intervals.subtract(communicating, breakdown.busy(breakdown.compute_kernels(kernels)))
    total_bytes = int(calls.bytes[rows].sum())
    needed = max(steps, -(-total_bytes // _BUCKET))
    claim = bottleneck.shorten(case.of_device(exposed), 1 - needed / len(rows))
    if case.share(intervals.length(claim)) < _LEAST:
        return
    yield RuleFinding(
        title=say(
            "{count:,.0f} small collectives a step: {share} of the time",
            count=len(rows) / steps,
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "{collectives:,} collectives moved {whole} together, {each} each. So small ones "
            "take the time of their latency, not of their bytes.",
            collectives=len(rows),
            whole=with_unit("bytes", total_bytes),
            each=with_unit("bytes", total_bytes // len(rows)),
        ),
        events=len(rows),
        evidence=case.examples("kernels", kernel),
        how=say(
            "Their time without a kernel beside them, less what {needed:,} in buckets of 25 "
            "MiB would need at the same time each.",
            needed=needed,
        ),
        claim=claim,
        removes=case.without(kernels=kernel, share=1 - needed / len(rows)),
        confidence="medium",
        source=case.source(kernels.op[kernel].astype(np.int64)),
    )


RULE = Rule(
    name="small_collectives",
    title=say("Small collectives"),
    cause="communication",
    looks_for=say("Ten or more collectives of less than 1 MiB a step."),
    why=say("Each costs tens of microseconds before the first byte."),
    fix=say(
        "Larger buckets (DDP bucket_cap_mb, FSDP wrapping of larger modules), one all_reduce of "
        "a concatenated tensor (all_reduce_coalesced), metrics gathered rarely."
    ),
    threshold=say(
        "1 MiB: below it latency rules on links of today; msprof-analyze takes 1 MB for RDMA."
    ),
    reference=say("msprof-analyze small packets."),
    code=Code(
        before=("for p in model.parameters():\n    dist.all_reduce(p.grad)"),
        after="model = DistributedDataParallel(model, bucket_cap_mb=25)",
    ),
    check=check,
    needs=("device", "collectives"),
)
