"""Gradients that zero_grad fills with zeros instead of setting them to None."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.analysis.recording.capture_notes import (
    KEPT_BYTES,
    recorded_pages,
    recorded_threads,
)
from tb_privateuse1.analysis.work.arguments import ITEM_BYTES, UnknownWork
from tb_privateuse1.analysis.work.calls import known_call
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.table import I64

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
    if not len(rows):
        return
    additions = _first_additions(case, rows)
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
    own_bytes, whole_bytes = (0, 0) if len(kernels) else _gradient_bytes(case, rows)
    pages = not len(kernels) and (2 * own_bytes > whole_bytes or not whole_bytes)
    if claim is not None and _pages_ns(case, own_bytes) >= intervals.length(claim):
        return
    yield RuleFinding(
        title=say(
            "Gradients are filled with zeros{cost}",
            cost=cost,
        ),
        explanation=say(
            "zero_grad writes zeros in {calls}, and the backward pass reads them again in "
            "{additions}. Dropped gradients are simply written.{pages}",
            calls=plural(len(rows), "call"),
            additions=plural(len(additions), "addition"),
            pages=_PAGES if pages else "",
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=say(
            "Time of zero_grad and of the additions to zeros: the host's while the device had "
            "nothing to do, and the kernels' while others waited for the device."
        ),
        claim=claim,
        removes=case.without(ops=host_ops, kernels=kernels),
        may_vanish=pages,
        confidence="low" if pages else "high",
        source=case.source(rows),
        lacks=case.lacks("device"),
    )


def _pages_ns(case: RuleContext, own_bytes: int) -> float:
    """Return what new pages for dropped gradients take, as the capture measured; 0 if unknown.

    Threads of an operator map them beside each other. What keeps freed memory takes none.
    """
    pages, threads = recorded_pages(case.trace), recorded_threads(case.trace)
    if pages is None or not pages.gives_back:
        return 0.0
    beside = 1 if threads is None else threads.intra_op
    return own_bytes / pages.page_bytes * pages.page_ns / beside


def _gradient_bytes(case: RuleContext, fills: I64) -> tuple[int, int]:
    """Return the bytes of gradients that may have pages of their own, and of all; 0 if unknown.

    The system may have to fill new pages for those of a host, once they are dropped.
    """
    ops = case.trace.ops
    first, kind = groupby.group_rows(ops.name[fills], ops.shapes[fills], ops.dtypes[fills])
    own = whole = 0
    for row, calls in zip(fills[first].tolist(), np.bincount(kind).tolist(), strict=True):
        try:
            given = known_call(case.trace, row).inputs[0]
        except (UnknownWork, IndexError):
            return 0, 0
        tensors = given if isinstance(given, tuple) else (given,)
        sizes = [one.stored * (ITEM_BYTES.get(one.dtype) or _FLOAT) for one in tensors if one]
        own += calls * sum(size for size in sizes if size >= KEPT_BYTES)
        whole += calls * sum(sizes)
    return own, whole


def _first_additions(case: RuleContext, fills: I64) -> I64:
    """Return the additions to gradients that are zeros: those of the first pass after a fill.

    A dropped gradient is taken as it is (torch/csrc/autograd/functions/accumulate_grad.h). A pass
    ends where operators outside of autograd follow; later passes add up batches.
    """
    ops = case.trace.ops
    additions = case.ops(_ADDITION)
    accumulates = np.append(case.named("ops", _ACCUMULATES), False)
    additions = additions[accumulates[ops.parent[additions]]]
    additions = additions[np.argsort(ops.start_ns[additions], kind="stable")]
    forward = case.top[~case.named("ops", _AUTOGRAD)[case.top]]
    passes = np.searchsorted(np.sort(ops.start_ns[forward]), ops.start_ns[additions])
    following = np.searchsorted(ops.start_ns[additions], ops.start_ns[fills])
    first = groupby.distinct_values(following[following < len(additions)])
    return np.sort(additions[np.isin(passes, passes[first])])


_FLOAT = 4
"""Bytes of an element of a list of tensors: torch records no types of these."""
_PAGES = say(
    " But tensors of the host from 128 KiB on may give their memory back when they are dropped. "
    "The system fills new pages, too, and that may take as long: try it."
)
_NEAR = 4
"""Frames above the fill: zero_grad calls it directly or through a decorator."""

RULE = Rule(
    name="zeroed_gradients",
    title=say("Gradients zeroed instead of dropped"),
    cause="launching",
    looks_for=say("aten::zero_ or _foreach_zero_ inside of zero_grad."),
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
