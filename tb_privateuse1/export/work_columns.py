"""Compute columns of exports and SQL that no table has: work, streams without times."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tb_privateuse1.analysis.roofs.operator_rates import own_work
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

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
    """Return FLOPs and bytes of the own work of each row of ``trace.ops``."""
    work = own_work(trace)
    return {"flops": work["flops"], "bytes_moved": work["bytes"]}


def lane_columns(trace: Trace) -> Columns:
    """Return for each row of ``trace.lanes`` whether its work has no times."""
    missing = np.isin(np.arange(len(trace.lanes)), trace.meta.missing_lanes)
    return {"missing": missing.astype(np.int64)}


BY_TABLE: Mapping[str, Callable[[Trace], Columns]] = {
    "kernels": kernel_columns,
    "ops": operator_columns,
    "lanes": lane_columns,
}
"""The tables with such columns."""
