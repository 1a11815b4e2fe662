"""Operators by name, or by name and input shapes: calls, host and device time, self and total."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tb_privateuse1 import certainty
from tb_privateuse1.tables import Result
from tb_privateuse1.trace import I32, I64, MISSING, NONE, Trace
from tb_privateuse1.views.base import (
    Provenance,
    bound_sums,
    calls,
    counted,
    grouped,
    in_step,
    provenance,
    step_row,
    sums,
    with_descendants,
)


@dataclass(frozen=True)
class OperatorRow:
    """The calls of one operator. Device times are null where the trace has none."""

    name: str
    input_shapes: str | None
    """As the trace has them; null unless grouped by shapes, or not recorded."""
    calls: int
    host_self_ns: int
    host_total_ns: int
    device_self_ns: int | None
    device_total_ns: int | None
    device_bound_ns: int | None
    """How far off ``device_self_ns`` may be; 0 for measured times."""
    device_total_bound_ns: int | None
    """How far off ``device_total_ns`` may be."""
    bounded_share: float
    """The part of ``device_self_ns`` of which only limits are known (evidence ``bound``)."""
    kernels: int | None
    """Device activities launched by the operator itself."""
    longest_row: int
    """The row of the call that took longest on the host in the trace's table of ranges."""


@dataclass(frozen=True)
class Operators(Result):
    """The result of the view."""

    provenance: Provenance
    rows: tuple[OperatorRow, ...]
    host_self_ns: int
    """Sum over all rows; the operators' share of the host's time."""
    device_self_ns: int | None
    """Sum over all rows."""
    device_bound_ns: int | None
    """How far off it may be."""
    unlinked_device_ns: int | None
    """Device activities that no operator launched: in no row, so that sums close."""
    has_shapes: bool
    """Whether the trace was recorded with ``record_shapes``."""


def operators(
    trace: Trace, *, group: Literal["name", "shapes"] = "name", step: int | None = None
) -> Operators:
    """A row per operator, or per operator and input shapes, most device (or host) time first.

    Raises TraceError ``unknown_step``.
    """
    row = step_row(trace, step)
    ops, kernels = trace.ops, trace.kernels
    call = calls(ops)
    launcher = np.where(kernels.op >= 0, call[kernels.op], NONE) if len(ops) else kernels.op
    launched = sums(launcher, np.ones(len(kernels), np.int64), len(ops))
    device_self = sums(launcher, kernels.end_ns - kernels.start_ns, len(ops))
    rows = np.flatnonzero(counted(trace) & in_step(ops.step, row))
    by_shape = (ops.shapes[rows],) if group == "shapes" else ()
    first, member = grouped(ops.name[rows], *by_shape)

    def summed(column: I64) -> I64:
        return sums(member, column[rows], len(first))

    host_self = summed(sums(call, ops.self_ns, len(ops)))
    host_total = summed(ops.end_ns - ops.start_ns)
    own = summed(device_self)
    total = summed(with_descendants(ops.parent, device_self))
    activities = summed(launched)
    count = np.bincount(member, minlength=len(first))
    self_bound = bound_sums(launcher, kernels.duration_bound_ns, len(ops))
    own_bound = _of_groups(self_bound, rows, member, len(first))
    total_bound = _of_groups(_with_descendants(ops.parent, self_bound), rows, member, len(first))
    only = np.where(certainty.bounded(kernels), kernels.end_ns - kernels.start_ns, 0)
    bounded = summed(sums(launcher, only, len(ops))) / np.maximum(own, 1)
    longest = _longest(ops.end_ns[rows] - ops.start_ns[rows], member)
    names, shapes = ops.name[rows[first]], ops.shapes[rows[first]]
    order = np.lexsort((-host_self, -own))
    any_device = len(kernels) > 0
    return Operators(
        provenance=provenance(trace),
        rows=tuple(
            OperatorRow(
                name=trace.text(names[i]),
                input_shapes=(trace.text(shapes[i]) or None) if by_shape else None,
                calls=int(count[i]),
                host_self_ns=int(host_self[i]),
                host_total_ns=int(host_total[i]),
                device_self_ns=int(own[i]) if any_device else None,
                device_total_ns=int(total[i]) if any_device else None,
                device_bound_ns=certainty.known(own_bound[i]) if any_device else None,
                device_total_bound_ns=certainty.known(total_bound[i]) if any_device else None,
                bounded_share=float(bounded[i]),
                kernels=int(activities[i]) if any_device else None,
                longest_row=int(rows[longest[i]]),
            )
            for i in order
        ),
        host_self_ns=int(host_self.sum()),
        device_self_ns=int(own.sum()) if any_device else None,
        device_bound_ns=certainty.bound_sum(own_bound) if any_device else None,
        unlinked_device_ns=_unlinked(trace, row) if any_device else None,
        has_shapes=bool((ops.shapes >= 0).any()),
    )


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
    order = np.lexsort((np.arange(len(member), 0, -1), duration, member))
    last = np.append(member[order][1:] != member[order][:-1], True)[: len(order)]
    longest: I64 = order[last]
    return longest


def _unlinked(trace: Trace, row: int | None) -> int:
    kernels = trace.kernels
    lost = (kernels.op < 0) & in_step(kernels.step, row)
    return int((kernels.end_ns - kernels.start_ns)[lost].sum())
