"""Time the distinct calls of a recording, where nothing disturbed them."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.operators.groups import name_categories
from tb_privateuse1.analysis.operators.host_activities import with_host_activities
from tb_privateuse1.analysis.operators.kinds_of_work import KINDS, Kind
from tb_privateuse1.analysis.roofs.contained_calls import is_own
from tb_privateuse1.analysis.roofs.undisturbed import undisturbed
from tb_privateuse1.analysis.work.calls import group_calls
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.model import KERNEL, MISSING, OPERATOR, Trace
from tb_privateuse1.trace.statistics import sort_groups
from tb_privateuse1.trace.table import I64, Bools, Table

PRODUCTS: tuple[Kind, ...] = ("gemm", "convolution")
PASSES: tuple[Kind, ...] = (
    "elementwise", "normalization", "reduction", "softmax_loss", "pooling",
)  # fmt: skip
"""Kinds whose time the values of their inputs do not decide, unlike that of indices and sorts."""
_OVERLAP = 0.05
"""The share of a call in which another thread may run, as of ``undisturbed``."""


class Calls(Table, frozen=True):
    """Distinct calls with their least and usual time."""

    op: I64
    kind: I64
    """Index into ``KINDS`` of those that may be compared, else ``MISSING``."""
    calls: I64
    total_ns: I64
    least_ns: I64
    """Of the fastest call: nothing interrupted it."""
    median_ns: I64
    high_ns: I64
    """The upper quartile."""
    first_ns: I64
    """The start of the first call."""
    last_ns: I64


def working_time(trace: Trace, chosen: Bools) -> tuple[I64, I64, I64]:
    """Return the operators that work and were not disturbed, with their shortest and longest time.

    On a host alone an operator's time is its own; else it is that of its device activities.
    """
    ops, count = trace.ops, len(trace.ops)
    on_host = is_on_host_alone(trace)
    kernels = (with_host_activities(trace) if on_host else trace).kernels
    used = (kernels.op >= 0) & (kernels.kind == KERNEL) & ~kernels.communication
    works = mask_of(kernels.op[used], count) & chosen & (ops.kind == OPERATOR) & (ops.shapes >= 0)
    if on_host:
        rows = np.flatnonzero(works)
        rows = rows[~_beside_others(trace, rows)]
        duration = ops.end_ns[rows] - ops.start_ns[rows]
        return rows, duration, duration
    unfit = used & (~undisturbed(trace) | (kernels.duration_bound_ns == MISSING))
    rows = np.flatnonzero(works & ~mask_of(kernels.op[unfit], count))
    owner = np.where(used, kernels.op, MISSING)
    duration = groupby.sums(owner[used], (kernels.end_ns - kernels.start_ns)[used], count)[rows]
    bound = groupby.sums(owner[used], kernels.duration_bound_ns[used], count)[rows]
    return rows, np.maximum(duration - bound, 0), duration + bound


def _beside_others(trace: Trace, rows: I64) -> Bools:
    """Return which operators ran while an operator of another thread did."""
    ops = trace.ops
    outer = np.flatnonzero(groupby.outermost_operators(ops))
    start, end, thread = ops.start_ns[rows], ops.end_ns[rows], ops.thread[rows]
    found = np.zeros(len(rows), np.bool_)
    for one in groupby.distinct_values(thread).tolist():
        others = outer[ops.thread[outer] != one]
        busy = intervals.union(ops.start_ns[others], ops.end_ns[others])
        here = thread == one
        beside = intervals.covered_length(busy, start[here], end[here])
        found[here] = beside > _OVERLAP * (end - start)[here]
    return found


def distinct(trace: Trace, rows: I64, shortest_ns: I64, longest_ns: I64) -> tuple[Calls, I64]:
    """Return the distinct calls of these rows, and each row's."""
    first, member = group_calls(trace, rows)
    least = sort_groups(member, shortest_ns, len(first)).quantile(0.0, MISSING)
    high = sort_groups(member, longest_ns, len(first)).quantile(0.75, MISSING)
    middle = (shortest_ns + longest_ns) // 2
    start = trace.ops.start_ns[rows]
    ordered = sort_groups(member, start, len(first))
    return Calls(
        op=rows[first],
        kind=_kinds(trace, rows[first]),
        calls=np.bincount(member, minlength=len(first)).astype(np.int64),
        total_ns=groupby.sums(member, middle, len(first)),
        least_ns=least,
        median_ns=sort_groups(member, middle, len(first)).quantile(0.5, MISSING),
        high_ns=high,
        first_ns=ordered.quantile(0.0, MISSING),
        last_ns=ordered.quantile(1.0, MISSING),
    ), member


def _kinds(trace: Trace, op: I64) -> I64:
    """Return the kind of each call that may be compared, else ``MISSING``.

    On a device without a known cache only products and own operators: others may find their inputs
    in it.
    """
    compared = PRODUCTS + (PASSES if is_on_host_alone(trace) else ())
    kind = name_categories(trace)[trace.ops.name[op]].astype(np.int64)
    known = np.isin(kind, [KINDS.index(one) for one in compared]) & operator_work(trace).known[op]
    own = groupby.named_rows(trace.strings, trace.ops.name[op], is_own)
    return np.where(known | own, kind, MISSING)
