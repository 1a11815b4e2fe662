"""The figures of groups of operators: calls, host and device time, launches, backward passes."""

from __future__ import annotations

import numpy as np

from tb_privateuse1 import calltree, certainty
from tb_privateuse1.grouping import bound_sums, calls, sums, with_descendants
from tb_privateuse1.trace import I32, I64, MISSING, Trace


def figures(trace: Trace, rows: I64, member: I64, groups: int, forward: I32) -> dict[str, I64]:
    """The sums of each group of rows of ``trace.ops``, by the names of the table's columns.

    ``forward`` is ``calltree.forward_of`` of all rows.
    Bounds are ``MISSING`` where one is not known.
    """
    ops, kernels, launches = trace.ops, trace.kernels, trace.launches
    call = calls(ops)
    launcher = calltree.at(call, kernels.op)
    caller = calltree.at(call, launches.op)
    one = np.ones(max(len(kernels), len(launches)), np.int64)
    device_self = sums(launcher, kernels.end_ns - kernels.start_ns, len(ops))
    of_call = calltree.at(call, forward)
    only = np.where(certainty.bounded(kernels), kernels.end_ns - kernels.start_ns, 0)
    self_bound = bound_sums(launcher, kernels.duration_bound_ns, len(ops))

    def summed(column: I64) -> I64:
        return sums(member, column[rows], groups)

    longest = _longest(ops.end_ns[rows] - ops.start_ns[rows], member)
    return {
        "calls": np.bincount(member, minlength=groups).astype(np.int64),
        "host_self_ns": summed(sums(call, ops.self_ns, len(ops))),
        "host_total_ns": summed(ops.end_ns - ops.start_ns),
        "device_self_ns": summed(device_self),
        "device_total_ns": summed(with_descendants(ops.parent, device_self)),
        "bounded_ns": summed(sums(launcher, only, len(ops))),
        "device_bound_ns": _of_groups(self_bound, rows, member, groups),
        "device_total_bound_ns": _of_groups(
            _with_descendants(ops.parent, self_bound), rows, member, groups
        ),
        "kernels": summed(sums(launcher, one[: len(kernels)], len(ops))),
        "launches": summed(sums(caller, one[: len(launches)], len(ops))),
        "launch_ns": summed(sums(caller, launches.end_ns - launches.start_ns, len(ops))),
        "backward_device_ns": summed(sums(of_call, device_self, len(ops))),
        "backward_bound_ns": _of_groups(
            bound_sums(of_call, self_bound, len(ops)), rows, member, groups
        ),
        "longest_row": rows[longest],
    }


def _of_groups(bounds_ns: I64, rows: I64, member: I64, groups: int) -> I64:
    """The bound of each group's sum over some operators, given those of the operators."""
    return bound_sums(member, bounds_ns[rows], groups)


def _with_descendants(parent: I32, bounds_ns: I64) -> I64:
    """As ``with_descendants``; ``MISSING`` where a bound below is not known."""
    unknown = with_descendants(parent, (bounds_ns == MISSING).astype(np.int64))
    total = with_descendants(parent, np.where(bounds_ns == MISSING, 0, bounds_ns))
    return np.where(unknown > 0, MISSING, total)


def _longest(duration: I64, member: I64) -> I64:
    """The member of each group that took longest, the first of equals; by group."""
    most = np.full(int(member.max(initial=-1)) + 1, -1)
    np.maximum.at(most, member, duration)
    hits = np.flatnonzero(duration == most[member])[::-1]
    longest = np.zeros(len(most), np.int64)
    longest[member[hits]] = hits  # of several, the last one written is the first
    return longest
