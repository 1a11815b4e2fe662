"""Find matrix products in 16 bits on a CPU that computes them more slowly than in float32."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.work.arguments import DTYPES
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, OPERATOR, Trace
from tb_privateuse1.trace.table import F64, I64

_HALF = [DTYPES.index(name) for name in ("float16", "bfloat16")]
_FULL = DTYPES.index("float32")
_LEAST_FLOPS = 1_000_000
"""Smaller products take as long as their call."""
_PER_BYTE = 8.0
"""Products with fewer FLOPs for each byte wait for memory, which has fewer bytes to read."""
_CORE = 40.0
"""FLOPs in a ns that a core reaches in float32: two thirds of two units of eight lanes at 2 GHz,
as all servers since 2013 have."""
FAR = 0.7
"""A product of more of the rate in float32 is not slow."""


class HalfProducts(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` with the share of their time that float32 saves.

    ``rate`` is theirs, ``full_rate`` that of float32, both in FLOPs for each ns;
    ``is_measured`` tells whether the recording has products in float32.
    """

    rows: I64
    shares: F64
    rate: float
    full_rate: float
    is_measured: bool


@memoize
def half_products(trace: Trace) -> HalfProducts:
    """Return products of 16 bits below the rate of float32, of a program without an accelerator.

    The rate of float32 is the median of its products here, or what one core surely reaches.
    """
    ops, work = trace.ops, operator_work(trace)
    if not is_on_host_alone(trace):
        return HalfProducts(np.empty(0, np.int64), np.empty(0), 0.0, _CORE, is_measured=False)
    duration = np.maximum(ops.end_ns - ops.start_ns, 1)
    rates = work.flops / duration
    size = work.read_bytes + work.written_bytes
    known = (work.read_bytes != MISSING) & (work.written_bytes != MISSING)
    large = work.matrix & known & (ops.kind == OPERATOR) & (work.flops >= _LEAST_FLOPS)
    large &= work.flops >= _PER_BYTE * size
    full = large & (work.dtype == _FULL)
    full_rate = float(np.median(rates[full])) if full.any() else _CORE
    rows = np.flatnonzero(large & np.isin(work.dtype, _HALF) & (rates < FAR * full_rate))
    if not len(rows):
        return HalfProducts(rows[:0], np.empty(0), 0.0, full_rate, bool(full.any()))
    rate = float(work.flops[rows].sum() / duration[rows].sum())
    return HalfProducts(rows, 1 - rates[rows] / full_rate, rate, full_rate, bool(full.any()))
