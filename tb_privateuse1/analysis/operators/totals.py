"""Sum the figures of operators by group: calls, host and device time, launches, backward."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace import sum_bounds, uncertainty
from tb_privateuse1.trace.columns import lookup, starts_run, zero_if_missing
from tb_privateuse1.trace.groupby import maxima, outermost_calls, sums, with_descendants
from tb_privateuse1.trace.model import MISSING, NONE, Ops, Trace
from tb_privateuse1.trace.table import I32, I64, Bools
from tb_privateuse1.vendors.device_types import CPU

SIDES = ("host", "device")
"""Whose memory an allocation is in: the host's, or any device's."""


class Own(Struct, frozen=True):
    """The own figures of each row of ``trace.ops``; a lone inner call of the same name is included.

    ``bounded_ns`` is the part of ``device_ns`` with limits only.
    """

    host_ns: I64
    device_ns: I64
    bounded_ns: I64


def own(trace: Trace) -> Own:
    """Return each operator's own host time, and the time of the activities that it launched."""
    ops, kernels = trace.ops, trace.kernels
    call, duration = outermost_calls(ops), kernels.end_ns - kernels.start_ns
    launcher = lookup(call, kernels.op, NONE)
    return Own(
        host_ns=sums(call, ops.self_ns, len(ops)),
        device_ns=sums(launcher, duration, len(ops)),
        bounded_ns=sums(
            launcher, np.where(uncertainty.bounded_only(kernels), duration, 0), len(ops)
        ),
    )


def operator_totals(
    trace: Trace, rows: I64, member: I64, groups: int, forward: I32, flops: I64
) -> dict[str, I64]:
    """Return the sums of each group of rows of ``trace.ops``, keyed by the table's columns.

    ``member`` is the group of each of ``rows``; ``forward`` is ``call_tree.forward_of`` all
    operators, ``flops`` each operator's own operations. Bounds are ``MISSING`` where one is not
    known.
    """
    ops, kernels, launches = trace.ops, trace.kernels, trace.launches
    call = outermost_calls(ops)
    launcher = lookup(call, kernels.op, NONE)
    caller = lookup(call, launches.op, NONE)
    one = np.ones(max(len(kernels), len(launches)), np.int64)
    each = own(trace)
    of_call = lookup(call, forward, NONE)
    row_of_kernel = lookup(_column(member, rows, len(ops)), launcher, NONE)
    ahead = lookup(_column(member, rows, len(ops)), lookup(of_call, kernels.op, NONE), NONE)

    def summed(column: I64) -> I64:
        return sums(member, column[rows], groups)

    once = ~nested_in_group(ops, rows, member)

    def outer(column: I64) -> I64:
        return sums(member[once], column[rows[once]], groups)

    longest = _longest(ops.end_ns[rows] - ops.start_ns[rows], member)
    calls = np.bincount(member, minlength=groups).astype(np.int64)
    host_total = outer(ops.end_ns - ops.start_ns)
    device_total = outer(with_descendants(ops.parent, each.device_ns))
    memory = {}
    for side, (own_bytes, all_bytes) in _memory(trace, call).items():
        memory[f"{side}_memory_self_bytes"] = summed(own_bytes)
        memory[f"{side}_memory_bytes"] = outer(all_bytes)
    return {
        "calls": calls,
        "host_self_ns": summed(each.host_ns),
        "host_total_ns": host_total,
        "host_mean_ns": _mean(host_total, calls),
        "device_self_ns": summed(each.device_ns),
        "device_total_ns": device_total,
        "device_mean_ns": _mean(device_total, calls),
        "bounded_ns": summed(each.bounded_ns),
        "device_bound_ns": sum_bounds.duration_sum_bounds(row_of_kernel, kernels, groups),
        "device_total_bound_ns": _total_bounds(
            trace, launcher, _column(member[once], rows[once], len(ops)), groups
        ),
        "kernels": summed(sums(launcher, one[: len(kernels)], len(ops))),
        "launches": summed(sums(caller, one[: len(launches)], len(ops))),
        "launch_ns": summed(sums(caller, launches.end_ns - launches.start_ns, len(ops))),
        "backward_device_ns": summed(sums(of_call, each.device_ns, len(ops))),
        "total_flops": _total_flops(trace, flops, call, member[once], rows[once]),
        "backward_bound_ns": sum_bounds.duration_sum_bounds(ahead, kernels, groups),
        **memory,
        "longest_row": rows[longest],
    }


def device_bound(trace: Trace, rows: I64) -> int | None:
    """Return the bound of the time of the activities that some operators launched themselves."""
    mine = np.zeros(len(trace.ops) + 1, np.bool_)  # the last entry is the one that NONE reads
    mine[rows] = True
    launcher = lookup(outermost_calls(trace.ops), trace.kernels.op, NONE)
    return uncertainty.duration_sum_bound(trace.kernels.take(mine[launcher]))


def _total_flops(trace: Trace, flops: I64, call: I32, member: I64, rows: I64) -> I64:
    """Return the operations of each group with those of the operators inside."""
    known, groups = flops != MISSING, int(member.max(initial=-1)) + 1

    def total(values: I64) -> I64:
        per_call = sums(call[known], values[known], len(call))
        return sums(member, with_descendants(trace.ops.parent, per_call)[rows], groups)

    return np.where(total(known.astype(np.int64)) > 0, total(flops), MISSING)


def _mean(total_ns: I64, calls: I64) -> I64:
    found: I64 = np.rint(total_ns / np.maximum(calls, 1)).astype(np.int64)
    return found


def _memory(trace: Trace, call: I32 | I64) -> dict[str, tuple[I64, I64]]:
    """Return by side the bytes that each operator allocates less those it releases.

    The first column is its own, the second has those of the operators inside. As in torch's tables
    (``torch/autograd/profiler_util.py``), a release counts where it happens.
    """
    ops, memory = trace.ops, trace.memory
    owner, size = lookup(call, memory.op, NONE), zero_if_missing(memory.bytes)
    on_host = memory.device_type == CPU
    found = {}
    for side, chosen in zip(SIDES, (on_host, ~on_host), strict=True):
        own_bytes = sums(owner[chosen], size[chosen], len(ops))
        found[side] = own_bytes, with_descendants(ops.parent, own_bytes)
    return found


def recorded_memory(trace: Trace) -> frozenset[str]:
    """Return the sides whose allocations were recorded."""
    on_host = trace.memory.device_type == CPU
    present = zip(SIDES, (on_host.any(), (~on_host).any()), strict=True)
    return frozenset(side for side, has in present if has)


def nested_in_group(ops: Ops, rows: I64, member: I64) -> Bools:
    """Return which rows of ``ops`` lie inside another row of their group, as in a recursion.

    Their time is in the total of that row already.
    """
    # Rows are by thread and start: each is inside the earlier one that ends last, or inside none.
    place = np.argsort(np.argsort(ops.end_ns[rows], kind="stable"), kind="stable")
    order = np.lexsort((-ops.end_ns[rows], ops.start_ns[rows], ops.thread[rows], member))
    starts = starts_run(member[order], ops.thread[rows][order])
    segment = np.cumsum(starts) - 1
    last = np.maximum.accumulate(segment * len(rows) + place[order]) - segment * len(rows)
    nested = np.zeros(len(rows), np.bool_)
    ends = ops.end_ns[rows][order]
    latest = np.sort(ops.end_ns[rows])[last]
    nested[order[1:]] = (latest[:-1] >= ends[1:]) & ~starts[1:]
    return nested


def _column(member: I64, rows: I64, count: int) -> I32:
    """Return the group of each operator; ``NONE`` for those that are not among the rows."""
    column = np.full(count, NONE, np.int32)
    column[rows] = member
    return column


def _total_bounds(trace: Trace, launcher: I32, group: I32, groups: int) -> I64:
    """Return the bound of each group's device time, with that of the operators inside.

    ``launcher`` is each activity's operator, ``group`` each operator's group.
    """
    kernels, found = trace.kernels, []
    if uncertainty.all_measured(kernels):
        return np.zeros(groups, np.int64)
    row, at = np.arange(len(kernels)), launcher
    while len(row):
        inside = at >= 0
        row, at = row[inside], at[inside]
        some = group[at] >= 0
        found.append((group[at[some]], row[some]))
        at = trace.ops.parent[at]
    place, rows = (np.concatenate(one) for one in zip(*found, strict=True))
    bounds, alike = kernels.duration_bound_ns[rows], kernels.error_group[rows]
    return sum_bounds.sum_bounds(place, bounds, alike, groups)


def _longest(duration: I64, member: I64) -> I64:
    """Return by group the index of the longest member, the first of equal ones."""
    most = maxima(member, duration, int(member.max(initial=-1)) + 1, -1)
    hits = np.flatnonzero(duration == most[member])[::-1]
    longest = np.zeros(len(most), np.int64)
    longest[member[hits]] = hits  # reversed, so that the first of equal ones is written last
    return longest
