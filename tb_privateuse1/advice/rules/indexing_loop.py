"""A Python loop that indexes a tensor element by element."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.fusion import Fusion
from tb_privateuse1.advice.removal_replay import Removal
from tb_privateuse1.advice.rules.base import Code, Rule, RuleContext, RuleFinding, percent, say
from tb_privateuse1.analysis.idioms import loops
from tb_privateuse1.analysis.idle import bottleneck
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.table import I32, I64

_NAMES = r"^aten::(select|slice|narrow)$"
_LOADER = r"^enumerate\(DataLoader\)"
_MANY, _NEAR, _LEAST = 20, 8, 0.01


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield runs of 20 or more top-level indices of equal shapes, close together."""
    ops = case.trace.ops
    top = case.top
    top = top[np.lexsort((ops.start_ns[top], ops.thread[top]))]
    # A data loader indexes samples: other rules report its time.
    loading = case.around(top, case.named("ops", _LOADER)) >= 0
    at = np.flatnonzero(case.named("ops", _NAMES)[top] & ~loading)
    if len(at) < _MANY:
        return
    # A loop may index several tensors in turn, so each shape is a separate series.
    at = at[np.lexsort((at, ops.shapes[top[at]]))]
    rows = top[at]
    new = np.append(
        True,
        (np.diff(at) > _NEAR)
        | (np.diff(ops.thread[rows]) != 0)
        | (np.diff(ops.step[rows]) != 0)
        | (np.diff(ops.shapes[rows]) != 0),
    )
    run = np.cumsum(new) - 1
    first, count = np.flatnonzero(new), np.bincount(run)
    last = np.append(first[1:], len(rows)) - 1
    long = count >= _MANY
    if not long.any():
        return
    ranges = (ops.start_ns[rows[first[long]]], ops.end_ns[rows[last[long]]])
    share = 1 - 1 / count[long]
    looping = intervals.union(*bottleneck.shorten(ranges, share))
    host = case.of_host(looping)
    work = _batched(case, ops.thread[rows[first[long]]], *ranges)
    claim = host if work is None or host is None else intervals.merge(host, work.claim)
    if claim is not None and case.share(intervals.length(claim)) < _LEAST:
        return
    chosen = rows[long[run]]
    cost = (
        ""
        if claim is None
        else say(": {share} of the time", share=percent(case.share(intervals.length(claim))))
    )
    yield RuleFinding(
        title=say("A loop over the elements of a tensor{cost}", cost=cost),
        explanation=say(
            "{loops:,} loops indexed a tensor {rounds:,} times each, one element after the "
            "other, with operators for each of them.",
            loops=int(long.sum()),
            rounds=int(count[long].mean()),
        ),
        events=len(chosen),
        evidence=case.examples("ops", chosen),
        how=say(
            "From the first to the last index of each loop, while the device had nothing to "
            "do, less one of the rounds; and the device's time beyond one operator for each kind "
            "of call, while others waited for it."
        ),
        claim=claim,
        removes=_removal(case, looping, work),
        confidence="medium",
        source=case.source(chosen),
        lacks=case.lacks("device", "stacks", "shapes"),
    )


def _batched(case: RuleContext, thread: I32, start_ns: I64, end_ns: I64) -> Fusion | None:
    """Return what one operator for each kind of call takes away; None if that is not known."""
    if not {"device", "links", "shapes"} <= case.has:
        return None
    threads, starts, ends = [], [], []
    for one in groupby.distinct_values(thread).tolist():
        own = thread == one
        begin, end = intervals.union(start_ns[own], end_ns[own])  # loops over two tensors are one
        threads.append(np.full(len(begin), one, np.int32))
        starts.append(begin)
        ends.append(end)
    found = loops.batched(
        case.trace, np.concatenate(threads), np.concatenate(starts), np.concatenate(ends)
    )
    return fusion.fuse(case, found.graph, found.loop, found.duration_ns, found.fused_ns)


def _removal(case: RuleContext, looping: intervals.Set, work: Fusion | None) -> Removal:
    host = case.without(instants=looping)
    if work is None:
        return host
    return dataclasses.replace(host, kernels=work.kernels, shares=work.shares)


RULE = Rule(
    name="indexing_loop",
    title=say("Loop over elements"),
    cause="launching",
    looks_for=say(
        "20 or more `aten::select`, `slice` or `narrow` of equal shapes in a row, at most seven "
        "operators apart."
    ),
    why=say(
        "Each round launches small work for what one operator does for all elements. It costs the "
        "host its launches, and the device a start-up for each."
    ),
    fix=say("Work on the whole tensor: broadcasting, torch.stack once, vmap, scatter and gather."),
    threshold=say("20 rounds and 1 % of the step: a loop over layers or heads is shorter."),
    reference=say("torch's ForLoopIndexingPattern (10 in a row)."),
    code=Code(
        before=("for i in range(len(x)):\n    y[i] = x[i] * scale[i]"),
        after="y = x * scale[:, None]",
    ),
    check=check,
    needs=("operators",),
)
