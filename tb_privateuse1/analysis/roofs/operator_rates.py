"""Compute the FLOPS and bytes per second of operators, on a device or on the host that runs them.

On a host alone an operator works itself: its time is its own and that of what it calls, without
the calls inside that work themselves. No roof of a host is known.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.roofs.achieved import Figures, achieved, figures
from tb_privateuse1.analysis.roofs.rates import DTYPE_RATES, device_rates, group_figures
from tb_privateuse1.analysis.roofs.roofs import ceilings
from tb_privateuse1.analysis.roofs.work_rows import WorkRows
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.groupby import outermost_calls, sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools


@memoize
def host_rows(trace: Trace) -> WorkRows:
    """Return work and time of each row of ``trace.ops``, as if the host were a device."""
    work, ops = operator_work(trace), trace.ops
    working: Bools = work.known
    whole = (work.read_bytes != MISSING) & (work.written_bytes != MISSING)
    some = working & ((work.flops > 0) | (whole & (work.read_bytes + work.written_bytes > 0)))
    duration = ops.end_ns - ops.start_ns
    inside = np.flatnonzero(some & (ops.parent >= 0))
    around = call_tree.around(ops.parent, ops.parent[inside], some)
    own = duration - sums(around, duration[inside], len(ops))
    return WorkRows(
        flops=np.where(working, work.flops, MISSING),
        bytes=np.where(whole & working, work.read_bytes + work.written_bytes, MISSING),
        type=DTYPE_RATES[work.dtype],
        product=work.matrix,
        on_unit=work.matrix,
        duration_ns=np.maximum(own, 0),
        bound_ns=np.zeros(len(ops), np.int64),
        at_most=work.at_most,
    )


def operator_figures(
    trace: Trace, group: I64 | I32, count: int, parent: I32 | None = None
) -> list[Figures]:
    """Return the figures of groups of operators.

    ``group`` has the group of each row of ``trace.ops``, from 0 to ``count`` less 1; rows with
    ``NONE`` are in none. Work is that of their own device activities; on a host alone it is that of
    the operators. With the ``parent`` of each group, a group has those below it, too.
    """
    call = outermost_calls(trace.ops)
    if not is_on_host_alone(trace):
        of_kernel = lookup(group, lookup(call, trace.kernels.op, NONE), NONE).astype(np.int64)
        return group_figures(trace, of_kernel, count, parent)
    of_call = lookup(group, call, NONE).astype(np.int64)
    rows = host_rows(trace)
    some = np.flatnonzero((of_call != NONE) & ((rows.flops != MISSING) | (rows.bytes != MISSING)))
    chosen = rows.take(some)
    values = achieved(chosen, np.full(len(some), np.inf), ceilings((), None))
    return figures(chosen, values, of_call[some], count, parent)


def own_work(trace: Trace) -> dict[str, I64]:
    """Return ``flops`` and ``bytes`` of each row of ``trace.ops``; ``MISSING`` is unknown."""
    if is_on_host_alone(trace):
        rows = host_rows(trace)
        return {"flops": rows.flops, "bytes": rows.bytes}
    rows, op = device_rates(trace).rows, trace.kernels.op
    return {
        "flops": _known_sums(op, rows.flops, len(trace.ops)),
        "bytes": _known_sums(op, rows.bytes, len(trace.ops)),
    }


def _known_sums(owner: I32, values: I64, count: int) -> I64:
    """Return the sums of the known values by owner; ``MISSING`` without any."""
    known = (owner >= 0) & (values != MISSING)
    total = sums(owner[known], values[known], count)
    some = np.zeros(count, np.bool_)
    some[owner[known]] = True
    return np.where(some, total, MISSING)
