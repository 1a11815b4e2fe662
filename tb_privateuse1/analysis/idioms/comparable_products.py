"""The rate of the products of a recording, to price a product that it does not have."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.operators.host_activities import with_host_activities
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64

_QUARTER = 0.75
"""The quantile of rates: other programs on a machine make products slower, and none faster."""


@memoize
def product_rate(trace: Trace) -> float | None:
    """Return the FLOPs per second that a quarter of products reach; None if no work is known.

    Of a host alone, it is that of the operators' own time.
    """
    with_work = with_host_activities(trace) if is_on_host_alone(trace) else trace
    kernels, work = with_work.kernels, operator_work(trace)
    duration = kernels.end_ns - kernels.start_ns
    time = groupby.sums(kernels.op.astype(np.int64), duration, len(trace.ops))
    known = work.matrix & (work.flops > 0) & (time > 0)
    if not known.any():
        return None
    return float(np.quantile(work.flops[known] / time[known] * 1e9, _QUARTER))


def time_of(trace: Trace, rows: I64) -> I64:
    """Return the ns that each of these rows of ``trace.ops`` works, with what it calls.

    Of a host alone, it is how long the operator runs.
    """
    ops, kernels = trace.ops, trace.kernels
    if is_on_host_alone(trace):
        return ops.end_ns[rows] - ops.start_ns[rows]
    around = intervals.nearest(ops.parent, mask_of(rows, len(ops)))
    around[rows] = rows
    owner = lookup(around, kernels.op, NONE)
    found: I64 = groupby.sums(owner, kernels.end_ns - kernels.start_ns, len(ops))[rows]
    return found
