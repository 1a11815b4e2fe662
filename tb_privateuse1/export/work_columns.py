"""Compute columns of exports and SQL that no table has: work, streams without times."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I32, I64

Columns = Mapping[str, I64]
"""By name a value for each row of a table; ``MISSING`` is unknown."""


@memoize
def kernel_columns(trace: Trace) -> Columns:
    """Return FLOPs, bytes and the least time by the roofs of each row of ``trace.kernels``."""
    rates = device_rates(trace)
    return {
        "flops": rates.rows.flops,
        "bytes_moved": rates.rows.bytes,
        "attainable_ns": rates.values.attainable_ns,
    }


@memoize
def operator_columns(trace: Trace) -> Columns:
    """Return for each row of ``trace.ops`` the sums over the activities that it launched itself."""
    op, work = trace.kernels.op, kernel_columns(trace)
    return {name: _sums(op, work[name], len(trace.ops)) for name in ("flops", "bytes_moved")}


def lane_columns(trace: Trace) -> Columns:
    """Return for each row of ``trace.lanes`` whether its work has no times."""
    missing = np.isin(np.arange(len(trace.lanes)), trace.meta.missing_lanes)
    return {"missing": missing.astype(np.int64)}


def _sums(op: I32, values: I64, count: int) -> I64:
    known = (values != MISSING) & (op >= 0)
    total = np.full(count, MISSING, np.int64)
    some = sums(op[known], np.ones(int(known.sum()), np.int64), count) > 0
    total[some] = sums(op[known], values[known], count)[some]
    return total


BY_TABLE: Mapping[str, Callable[[Trace], Columns]] = {
    "kernels": kernel_columns,
    "ops": operator_columns,
    "lanes": lane_columns,
}
"""The tables with such columns."""
