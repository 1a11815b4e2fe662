"""Many collectives too small to use the link's bandwidth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.advice import collectives_without_device
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent, with_unit
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import I64

_SMALL, _BUCKET = 1 << 20, 25 << 20
"""Bytes below which latency rules (msprof-analyze, advisor/rules/en/packet.yaml: min_rdma_size
1 MB; min_sdma_size, within a node, 16 MB); a bucket of DistributedDataParallel
(torch/nn/parallel/distributed.py, _DEFAULT_BUCKET_CAP_MB). Its first bucket has 1 MiB where no
size is given (torch.distributed._DEFAULT_FIRST_BUCKET_BYTES): one more a step, not counted."""
_MANY = 10
"""Collectives of a step: metrics and norms take a few."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield collectives below 1 MiB beyond the number that buckets of 25 MiB need."""
    yield from _on_device(case)
    yield from _on_host(case)


def _on_device(case: RuleContext) -> Iterator[RuleFinding]:
    calls, kernels = case.trace.collectives, case.trace.kernels
    rows = np.flatnonzero((calls.kernel >= 0) & (calls.bytes > 0) & (calls.bytes < _SMALL))
    rows = rows[case.judged_kernels[calls.kernel[rows]] & (calls.bytes[rows] != MISSING)]
    if not len(rows) or len(rows) < _MANY * len(case.steps):
        return
    kernel = calls.kernel[rows].astype(np.int64)
    communicating = case.time(kernel, "kernels")
    exposed = intervals.subtract(communicating, breakdown.busy(breakdown.compute_kernels(kernels)))
    needed = _needed(case, rows)
    claim = device_bound.shorten(case.of_device(exposed), 1 - needed / len(rows))
    if case.share(intervals.length(claim)) < ONE_PLACE:
        return
    yield replace(
        _finding(case, rows, claim),
        evidence=case.examples("kernels", kernel),
        how=say(
            "Their time without a kernel beside them, less what {needed:,} in buckets of 25 "
            "MiB would need at the same time each.",
            needed=needed,
        ),
        removes=case.without(kernels=kernel, share=1 - needed / len(rows)),
        source=case.source(kernels.op[kernel].astype(np.int64)),
    )


def _on_host(case: RuleContext) -> Iterator[RuleFinding]:
    rows = collectives_without_device.host_calls(case)
    rows = rows[case.trace.collectives.bytes[rows] < _SMALL]
    if not len(rows) or len(rows) < _MANY * len(case.steps):
        return
    needed = _needed(case, rows)
    share = collectives_without_device.bucketed_share(case, rows, needed)
    claim = device_bound.shorten(collectives_without_device.awaited(case, rows), share)
    if case.share(intervals.length(claim)) < ONE_PLACE:
        return
    yield replace(
        _finding(case, rows, claim),
        evidence=case.examples("ops", case.trace.collectives.op[rows].astype(np.int64)),
        how=say(
            "Their time without an operator beside them, less what {needed:,} in buckets of 25 "
            "MiB would need: each as long as the average, or by the latency of the shortest and "
            "the rate of the largest, whichever is more.",
            needed=needed,
        ),
        source=case.source(case.ops(r"^c10d::")),
    )


def _needed(case: RuleContext, rows: I64) -> int:
    """Return the number of buckets of all judged steps."""
    return max(len(case.steps), -(-int(case.trace.collectives.bytes[rows].sum()) // _BUCKET))


def _finding(case: RuleContext, rows: I64, claim: intervals.Set) -> RuleFinding:
    total_bytes = int(case.trace.collectives.bytes[rows].sum())
    return RuleFinding(
        title=say(
            "{count:,.0f} small collectives {per_step}: {share} of the time",
            count=len(rows) / len(case.steps),
            share=percent(case.share(intervals.length(claim))),
            per_step=case.per_step,
        ),
        explanation=say(
            "{collectives:,} collectives moved {whole} together, {each} each. So small ones "
            "take the time of their latency, not of their bytes.",
            collectives=len(rows),
            whole=with_unit("bytes", total_bytes),
            each=with_unit("bytes", total_bytes // len(rows)),
        ),
        events=len(rows),
        evidence=(),
        how="",
        claim=claim,
        confidence="medium",
    )


RULE = Rule(
    name="small_collectives",
    title=say("Small collectives"),
    cause="communication",
    looks_for=say(
        "{many} or more collectives of less than {small} MiB a step.",
        small=_SMALL >> 20,
        many=_MANY,
    ),
    why=say("Each costs tens of microseconds before the first byte."),
    fix=say(
        "Larger buckets (DDP bucket_cap_mb, FSDP wrapping of larger modules), one all_reduce of "
        "a concatenated tensor (all_reduce_coalesced), metrics gathered rarely."
    ),
    threshold=say(
        "{small} MiB: below it latency rules on links of today; msprof-analyze takes 1 MB for "
        "RDMA.",
        small=_SMALL >> 20,
    ),
    reference=say("msprof-analyze small packets."),
    code=Code(
        before=("for p in model.parameters():\n    dist.all_reduce(p.grad)"),
        after="model = DistributedDataParallel(model, bucket_cap_mb=25)",
    ),
    check=check,
    needs=("collectives",),
)
