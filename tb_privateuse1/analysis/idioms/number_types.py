"""Find work in number types that are slow: in float64, and in 16 bits on a CPU without units.

The time in float32 is that by the rates of this device, or of products in this recording.

Scaled gradients belong here as well: float16 needs them, and bfloat16 does not.
"""

from __future__ import annotations

import json
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.fused_kernel_rates import printed_memory
from tb_privateuse1.analysis.idioms.slow_products import Slow
from tb_privateuse1.analysis.roofs.rate_types import FP32, FP64
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.analysis.work.arguments import DTYPES
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace.columns import following, previous
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.groupby import distinct_values, group_rows, named_rows
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import KERNEL, MISSING, NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import F64, I64, Bools

_BYTES = 0.5
"""Of the bytes of float64, float32 has half."""
_LANES = 0.5
"""A vector register of a processor holds twice as many float32: half of the instructions."""
_ALIKE = 4.0
"""Products of at most this many times the FLOPs, or of at least the inverse, are comparable."""
_MOST = 0.95
"""Of a product's time, at most: units for float32 are up to 64 times as many (data sheets)."""

Rates = Literal["measured", "data_sheet", "processor", "bytes"]
"""Where the time of arithmetic in float32 is from; ``bytes``: it is not known, so that only the
bytes are less."""


class DoubleWork(Struct, frozen=True, eq=False):
    """Activities in float64, the share of each that float32 saves, and the most that it may."""

    slow: Slow
    most: F64
    rates: Rates


def double_work(trace: Trace, *, on_host: bool) -> DoubleWork:
    """Return the activities of operators with a float64 tensor as input.

    ``on_host``: a processor computes them, which has vectors for both types.
    """
    rows = _rows(trace)
    rates = device_rates(trace).rows
    duration = np.maximum(rates.duration_ns[rows], 1)
    size, product = rates.bytes[rows], rates.product[rows]
    moved = np.where(size == MISSING, 0, size) / printed_memory(trace) * 1e9
    # Other work than products, whose bytes are not known, is taken to wait for them.
    waits = ~product & (size == MISSING)
    saved = np.where(waits, _BYTES, _BYTES * np.minimum(moved / duration, 1))
    single, source = _in_single(trace, rows)
    known = product & np.isfinite(single)
    exact = np.minimum(np.maximum(1 - single / duration, saved), _MOST)
    if on_host:
        shares = np.where(known, exact, _LANES)
        return DoubleWork(Slow(rows, shares), shares, source if known.any() else "processor")
    most = np.where(known, exact, np.where(product, _BYTES, saved))
    return DoubleWork(Slow(rows, np.where(known, exact, saved)), most,
                      source if known.any() else "bytes")  # fmt: skip


def _in_single(trace: Trace, rows: I64) -> tuple[F64, Rates]:
    """Return the time of each row's arithmetic in float32, infinite if it is not known.

    It is that of comparable products in this recording, else that of the data sheet's rates.
    """
    rates = device_rates(trace)
    work, given = rates.rows, rates.given
    flops = np.maximum(work.flops[rows], 0)
    others = np.flatnonzero(work.product & (work.type == FP32) & (work.flops > 0))
    if len(others):
        speed = work.flops[others] / np.maximum(work.duration_ns[others], 1)
        distinct, place = np.unique(flops, return_inverse=True)
        time = np.full(len(distinct), np.inf)
        for i, own in enumerate(distinct.tolist()):
            ratio = work.flops[others] / max(own, 1)
            alike = (ratio <= _ALIKE) & (ratio >= 1 / _ALIKE)
            if alike.any():
                time[i] = own / float(np.median(speed[alike]))
        if np.isfinite(time).any():
            return time[place], "measured"
    now = np.where(work.on_unit[rows], given.matrix[FP64], given.vector[FP64])
    single = max((one for one in (given.matrix[FP32], given.vector[FP32]) if np.isfinite(one)),
                 default=np.inf)  # fmt: skip
    known = np.isfinite(now) & np.isfinite(single)
    ratio = np.where(known, now, np.inf) / (single if np.isfinite(single) else 1.0)
    return np.maximum(work.duration_ns[rows], 1) * ratio, "data_sheet"


def _rows(trace: Trace) -> I64:
    """Return the activities of operators with a float64 tensor that has dimensions."""
    ops, kernels = trace.ops, trace.kernels
    used = np.flatnonzero(np.bincount(ops.dtypes[ops.dtypes >= 0], minlength=1))
    double = np.zeros(len(trace.strings) + 1, np.bool_)
    double[[i for i in used if '"double"' in trace.text(i)]] = True
    usable = (kernels.kind == KERNEL) & ~kernels.communication & (kernels.op >= 0)
    rows = np.flatnonzero(usable)
    rows = rows[double[ops.dtypes[kernels.op[rows]]]]
    if not len(rows):
        return rows
    shapes, types = ops.shapes[kernels.op[rows]], ops.dtypes[kernels.op[rows]]
    first, group = group_rows(shapes, types)
    flags: Bools = np.array(
        [_has_double(trace.text(shapes[i]), trace.text(types[i])) for i in first], np.bool_
    )
    return rows[flags[group]]


def _has_double(shapes: str, dtypes: str) -> bool:
    """Return whether a tensor with a size is float64; a scalar may be a Python number."""
    try:
        pairs = zip(json.loads(shapes), json.loads(dtypes), strict=False)
        return any(kind == "double" and len(size) > 0 for size, kind in pairs)
    except (ValueError, TypeError):
        return False


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


_UNSCALES = "aten::_amp_foreach_non_finite_check_and_unscale_"
_UPDATES = "aten::_amp_update_scale_"
_OF_NUMBERS = ("aten::to", "aten::reciprocal", "aten::full", "aten::add_")
"""A GradScaler inverts the scale and makes a flag ahead of the one, and gathers flags ahead of the
other (torch/amp/grad_scaler.py)."""
_MOST_NUMBERS = 6
"""Of them ahead of one check, on one device."""
_NARROW = ("c10::Half", "c10::Float8")
"""In the types of a call: their exponents reach less far than those of float32."""
_READ, _OPTIMIZER = "aten::item", "Optimizer.step#"
"""``_maybe_opt_step`` asks whether a gradient was infinite, directly ahead of the update."""


class Scaling(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` that a GradScaler called, by thread and start."""

    rows: I64
    reads: I64
    """Those that wait for its answer, among ``rows``."""
    updates: int


def needless_scaling(trace: Trace, top: I64) -> Scaling | None:
    """Return a scaler's calls among outermost operators, which lie by thread and start.

    None without one, or where a tensor of a type that needs it is recorded. Its products are in
    bfloat16, whose exponents reach as far as those of float32: gradients become no zeros by it.
    """
    ops = trace.ops
    named = {
        name: named_rows(trace.strings, ops.name[top], name.__eq__)
        for name in (_UNSCALES, _UPDATES, _READ)
    }
    if not named[_UNSCALES].any() or not _is_wide(trace):
        return None
    small = named_rows(trace.strings, ops.name[top], _OF_NUMBERS.__contains__)
    goes = named[_UNSCALES] | named[_UPDATES]
    same = previous(ops.thread[top], NONE) == ops.thread[top]
    for _ in range(_MOST_NUMBERS):
        goes |= small & following(goes & same, False)
    reads = _reads(trace, top, named)
    goes[reads] = True
    return Scaling(top[goes], top[reads], int(named[_UPDATES].sum()))


def _is_wide(trace: Trace) -> bool:
    """Return whether products are in bfloat16, and no tensor of a narrower exponent is recorded."""
    used = distinct_values(trace.ops.dtypes)
    texts = [trace.text(i) for i in used[used >= 0].tolist()]
    if any(narrow in text for text in texts for narrow in _NARROW):
        return False
    work = operator_work(trace)
    return bool((work.matrix & (work.dtype == DTYPES.index("bfloat16"))).any())


def _reads(trace: Trace, top: I64, named: dict[str, Bools]) -> I64:
    """Return the places in ``top`` of reads between an unscaling and the update that they allow."""
    ops = trace.ops
    ranges = np.flatnonzero(
        named_rows(trace.strings, ops.name, lambda name: name.startswith(_OPTIMIZER))
    )
    found = []
    for one in distinct_values(ops.thread[top]).tolist():
        mine = np.flatnonzero(ops.thread[top] == one)
        start = ops.start_ns[ranges[ops.thread[ranges] == one]]
        last = np.searchsorted(ops.start_ns[top[mine]], start) - 1
        last = distinct_values(last[last >= 0])
        marks = np.flatnonzero((named[_UNSCALES] | named[_UPDATES])[mine])
        before = np.searchsorted(marks, last) - 1
        last, before = last[before >= 0], before[before >= 0]
        ready = named[_UNSCALES][mine[marks[before]]] & named[_READ][mine[last]]
        found.append(mine[last[ready]])
    return np.concatenate(found)
