"""Gradients that zero_grad fills with zeros instead of setting them to None."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.table import I64, Bools

_ZERO_GRAD = r"^Optimizer\.zero_grad#"
_FILLS = r"^aten::(zero_|_foreach_zero_)$"
_ADDITION = r"^aten::add_?$"
_ACCUMULATES = r"^torch::autograd::AccumulateGrad$"
_AUTOGRAD = r"^(autograd::|torch::autograd::)"


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the fills inside ``zero_grad``, by the optimizer's range or a Python frame."""
    ops, frames = case.trace.ops, case.trace.frames
    fills = case.ops(_FILLS)
    ranges = case.around(fills, case.named("ops", _ZERO_GRAD))
    is_zeroing = ranges >= 0
    if len(frames) and len(fills):
        frame = ops.frame[fills]
        zeroing = np.append(case.named("frames", r"torch/(nn|optim)/.*: zero_grad$"), False)
        up = np.append(frames.parent, -1)
        for _ in range(_NEAR):
            is_zeroing |= zeroing[frame]
            frame = up[frame]
    rows = fills[is_zeroing]
    additions = _first_additions(case, rows)
    if is_on_host_alone(case.trace):
        small = ~_is_returned(case, rows)
        ranges = ranges[: len(ranges) * bool(small.all())]  # what is around the rest stays
        rows, additions = rows[small], additions[~_is_returned(case, additions)]
    if not len(rows):
        return
    goes = np.zeros(len(ops), np.bool_)
    goes[rows] = goes[additions] = True
    kernels = case.launched_by(goes)
    device = case.of_device(case.time(kernels, "kernels"))
    host_ops = np.concatenate((rows, np.unique(ranges[ranges >= 0]), additions))
    host = case.of_host(case.time(host_ops))
    claim = None if host is None else intervals.merge(host, device)
    if claim is not None and case.share(intervals.length(claim)) < NOISE:
        return
    cost = (
        ""
        if claim is None
        else say(", {share} of the time", share=percent(case.share(intervals.length(claim))))
    )
    yield RuleFinding(
        title=say(
            "Gradients are filled with zeros{cost}",
            cost=cost,
        ),
        explanation=say(
            "zero_grad writes zeros in {calls}, and the backward pass reads them again in "
            "{additions}. Dropped gradients are simply written.",
            calls=plural(len(rows), "call"),
            additions=plural(len(additions), "addition"),
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=say(
            "Time of zero_grad and of the additions to zeros: the host's while the device had "
            "nothing to do, and the kernels' while others waited for the device."
        ),
        claim=claim,
        removes=case.without(ops=host_ops, kernels=kernels),
        confidence="high",
        source=case.source(rows),
        lacks=case.lacks("device"),
    )


def _is_returned(case: RuleContext, rows: I64) -> Bools:
    """Return which operators write tensors whose memory goes back to the system when dropped.

    Of a list, the mean size counts. Unknown sizes do not.
    """
    ops = case.trace.ops
    first, call = groupby.group_rows(ops.name[rows], ops.shapes[rows], ops.dtypes[rows])
    calls = [read_call(case.trace, row) for row in rows[first].tolist()]
    tensors = [() if one is None else tuple(one.tensors(1)) for one in calls]
    bytes_ = [sum(one.bytes for one in each) // max(len(each), 1) for each in tensors]
    return np.array([one >= _RETURNED_BYTES for one in bytes_], np.bool_)[call]


def _first_additions(case: RuleContext, fills: I64) -> I64:
    """Return the additions to gradients that are zeros: those of the first pass after a fill.

    A dropped gradient is taken as it is (torch/csrc/autograd/functions/accumulate_grad.h). A pass
    ends where operators outside of autograd follow; later passes add up batches.
    """
    ops = case.trace.ops
    if not len(fills):
        return fills
    additions = case.ops(_ADDITION)
    accumulates = np.append(case.named("ops", _ACCUMULATES), False)
    additions = additions[accumulates[ops.parent[additions]]]
    additions = additions[np.argsort(ops.start_ns[additions], kind="stable")]
    forward = case.top[~case.named("ops", _AUTOGRAD)[case.top]]
    passes = np.searchsorted(np.sort(ops.start_ns[forward]), ops.start_ns[additions])
    following = np.searchsorted(ops.start_ns[additions], ops.start_ns[fills])
    first = groupby.distinct_values(following[following < len(additions)])
    return np.sort(additions[np.isin(passes, passes[first])])


_RETURNED_BYTES = 128 * 1024
"""glibc's M_MMAP_THRESHOLD (mallopt(3)). On a processor, memory from here on goes back to the
system with the gradient: the next one is written into new pages, whose faults take as long as the
zeros (``benchmarks/tried/zeroed.py``: 1 MiB each, 1,000 faults a step, and no gain)."""

_NEAR = 4
"""Frames above the fill: zero_grad calls it directly or through a decorator."""

RULE = Rule(
    name="zeroed_gradients",
    title=say("Gradients zeroed instead of dropped"),
    cause="launching",
    looks_for=say(
        "aten::zero_ or _foreach_zero_ inside of zero_grad; on a processor, of gradients below "
        "{kib} KiB: larger ones that are dropped cost new pages.",
        kib=_RETURNED_BYTES // 1024,
    ),
    why=say("Each parameter's gradient is written once and read once more than needed."),
    fix=say("zero_grad(set_to_none=True), the default since torch 2.0."),
    threshold=say("{least} of the step: one argument fixes it.", least=exact_percent(NOISE)),
    reference=say("torch's GradNotSetToNonePattern."),
    code=Code(
        before="optimizer.zero_grad(set_to_none=False)",
        after="optimizer.zero_grad(set_to_none=True)",
    ),
    remedy="set_to_none",
    check=check,
    needs=("operators",),
)
