"""Bytes that collectives move over the links."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I64


def bus_factor(kind: str, size: int | None) -> float | None:
    """Return bus bytes per algorithm byte (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md)."""
    if kind in ("broadcast", "reduce", "send", "recv", "send_recv"):
        return 1.0
    if size is None:
        return None
    if kind == "all_reduce":
        return 2 * (size - 1) / size
    return (size - 1) / size if kind in ("all_gather", "reduce_scatter", "all_to_all") else None


def payload_bytes(trace: Trace) -> I64:
    """Return by row of ``trace.kernels`` the bytes of its collective, as the NCCL tests count."""
    return _of_kernels(trace, trace.collectives.bytes)


def bus_bytes(trace: Trace) -> I64:
    """Return by row of ``trace.kernels`` the bytes that its collective moves over the bus.

    ``MISSING`` for other activities, and if bytes, kind or size of the group are unknown.
    """
    calls = trace.collectives
    first, group = group_rows(calls.kind, calls.group_size)
    factors = [
        bus_factor(trace.text(calls.kind[i]), _size(calls.group_size[i])) for i in first.tolist()
    ]
    factor = np.array([np.nan if f is None else f for f in factors], np.float64)[group]
    known = (calls.bytes != MISSING) & ~np.isnan(factor)
    moved = np.full(len(calls), MISSING, np.int64)
    moved[known] = np.rint(calls.bytes[known] * factor[known]).astype(np.int64)
    return _of_kernels(trace, moved)


def _size(column: np.int64) -> int | None:
    return None if column == MISSING else int(column)


def _of_kernels(trace: Trace, column: I64) -> I64:
    result = np.full(len(trace.kernels), MISSING, np.int64)
    rows = trace.collectives.kernel
    result[rows[rows >= 0]] = column[rows >= 0]
    return result
