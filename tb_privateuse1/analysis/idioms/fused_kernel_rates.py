"""Estimate the rates that a fused kernel would reach: the best that this recording has reached."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.nodes import CAST, COPY, ELEMENTWISE, FUSIBLE, Graph, graph
from tb_privateuse1.analysis.operators.host_activities import with_host_activities
from tb_privateuse1.analysis.roofs.best_rates import best_rate, best_roofs
from tb_privateuse1.analysis.roofs.rate_types import RATE_TYPES
from tb_privateuse1.analysis.roofs.rates import DeviceRates, device_rates
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.groupby import group_rows, sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import F64, I64, Bools

_OF_DATA_SHEET = 0.9
"""The share of the printed bandwidth that copies reach on most devices (BabelStream)."""
_OF_COPIES = 0.85
"""The share of a copy's rate that kernels with arithmetic and reductions reach."""
_MUCH_BYTES = 64 << 10
"""Bytes of a call whose rate is that of memory: at 10 GB/s they take 6 µs, more than its start."""
_ALIKE = 1.05
"""Durations within a twentieth are equal: kernels take some µs, and clocks tick in 0.03 to 1 µs."""


class Reachable(Struct, frozen=True):
    """Rates per second that this recording, or else the data sheet, promises; None if unknown."""

    memory: float | None
    """Bytes, of a kernel that computes on its way."""
    products: dict[str, float]
    """FLOPs of products by type (``RATE_TYPES``)."""


@memoize
def reachable(trace: Trace) -> Reachable:
    """Return the rates that the device sustained, never more than its data sheet's."""
    rates = device_rates(trace)
    seen = best_roofs(rates.rows, rates.resolution_ns, rates.given.cache_bytes, fastest_share=1.0)
    best = {roof.key: roof.rate for roof in seen}
    products: dict[str, float] = {}
    for (kind, dtype, matrix), rate in best.items():
        if kind == "compute":
            limit = rates.given.matrix if matrix else rates.given.vector
            held = min(rate, float(limit[RATE_TYPES.index(dtype)]))
            products[dtype] = max(products.get(dtype, 0.0), held)
    return Reachable(_memory(trace, rates), products)


def printed_memory(trace: Trace) -> float:
    """Return the bandwidth that copies reach by the data sheet, or did here; infinite if unknown.

    A product reads its operands at the rate of a copy.
    """
    printed = device_rates(trace).given.memory
    if np.isfinite(printed):
        return _OF_DATA_SHEET * printed
    found = reachable(trace).memory
    return np.inf if found is None else found / _OF_COPIES


@memoize
def moves_much(trace: Trace) -> bool:
    """Return whether a fusible kernel moves so much that its rate is one of memory."""
    found = graph(trace)
    usable = np.isin(found.nodes.role, FUSIBLE) & found.nodes.known
    moved = sums(found.reads.node, found.reads.bytes, len(usable)) + found.nodes.written_bytes
    return bool((moved[usable] >= _MUCH_BYTES).any())


@memoize
def start_up_ns(trace: Trace) -> int:
    """Return the time that a kernel takes at least: of the shortest, what its bytes do not need.

    It is 0 if no rate is known. Where all kernels are alike, it is about 0 as well.
    """
    nodes, reads, rate = graph(trace).nodes, graph(trace).reads, reachable(trace).memory
    usable = np.isin(nodes.role, FUSIBLE) & nodes.known
    if rate is None or not usable.any():
        return 0
    shortest = int(nodes.duration_ns[usable].min())
    # Several are as short, up to the clock's resolution: the one with the fewest bytes is closest.
    alike = np.flatnonzero(usable & (nodes.duration_ns <= _ALIKE * shortest))
    moved = sums(reads.node, reads.bytes, len(nodes)) + nodes.written_bytes
    return max(round(shortest - 1e9 * int(moved[alike].min()) / rate), 0)


def _memory(trace: Trace, rates: DeviceRates) -> float | None:
    """Return the rate of a fused kernel, from those of the fusible kernels: its own kind."""
    rows, printed = rates.rows, rates.given.memory
    found = graph(trace)
    fusible = lookup(np.isin(found.nodes.role, FUSIBLE), found.kernel_node, False)
    least = rates.given.cache_bytes if np.isfinite(rates.given.cache_bytes) else 0
    chosen = fusible & (rows.bytes > least)
    longest = rows.longest_ns(rates.resolution_ns)[chosen]
    best = best_rate(rows.bytes[chosen], rows.duration_ns[chosen], longest)
    if best is not None:
        return _OF_COPIES * min(best, printed)
    return _OF_COPIES * _OF_DATA_SHEET * printed if np.isfinite(printed) else None


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


_BY_VECTORS = (
    "__and__", "__or__", "__xor__", "abs", "add", "addcdiv", "addcmul", "bitwise_and",
    "bitwise_not", "bitwise_or", "bitwise_xor", "clamp", "clamp_max", "clamp_min", "div", "eq",
    "ge", "gt", "le", "lerp", "logical_and", "logical_not", "logical_or", "lt", "masked_fill",
    "maximum", "minimum", "mul", "ne", "neg", "reciprocal", "relu", "rsqrt", "rsub",
    "sigmoid_backward", "sign", "sqrt", "square", "sub", "tanh_backward", "threshold",
    "threshold_backward", "where",
)  # fmt: skip
"""Reduced names of operators that a processor's vector units do faster than memory delivers."""


_POWER = 32
"""Exponents below it are products in torch's compiler (torch/_inductor/lowering.py)."""


class HostPasses(Struct, frozen=True, eq=False):
    """The time of a pass through a host's memory by the bytes of its result, which caches limit."""

    written: F64
    """The logarithms of the sizes of results, in order."""
    usual: F64
    """The logarithm of the ns of each moved byte, by size: the median of calls."""
    fast: F64
    """That of the fastest quarter of calls."""

    def time_ns(self, written_bytes: I64, moved_bytes: I64, pace: F64) -> I64:
        """Return the time of passes that write results of a size and move bytes in all."""
        at = np.log(np.maximum(written_bytes, 1))
        each = np.exp(np.interp(at, self.written, pace))
        time: I64 = np.rint(each * np.maximum(moved_bytes, 0)).astype(np.int64)
        return time


@memoize
def host_passes(trace: Trace) -> HostPasses | None:
    """Return the pace of the operators whose arithmetic memory hides; None without any.

    It is that of the calls with results of a size. A first touch of memory is part of it: a fused
    operator's result is new as well.
    """
    found = graph(trace)
    nodes = found.nodes
    rows = np.flatnonzero(by_vectors(trace) & nodes.known & (nodes.written_bytes > 0))
    moved = moved_bytes(found)[rows]
    if not len(rows):
        return None
    pace = np.log(np.maximum(nodes.duration_ns[rows], 1) / moved)
    size = nodes.written_bytes[rows]
    order = np.lexsort((pace, size))
    sizes, count = np.unique(size, return_counts=True)
    first, pace = np.cumsum(count) - count, pace[order]
    return HostPasses(np.log(sizes), pace[first + (count - 1) // 2], pace[first + (count - 1) // 4])


@memoize
def by_vectors(trace: Trace) -> Bools:
    """Return by node whether memory hides its arithmetic on a host.

    Powers of few whole numbers are products in compiled code.
    """
    found = graph(trace)
    role = found.nodes.role
    cheap: Bools = (role == ELEMENTWISE) & found.named(*_BY_VECTORS)
    powers = np.flatnonzero((role == ELEMENTWISE) & found.named("pow"))
    first, kind = group_rows(found.nodes.call[powers])
    whole = [_is_whole_power(trace, row) for row in found.nodes.op[powers[first]].tolist()]
    cheap[powers] = np.array(whole, np.bool_)[kind]
    cheap |= (role == COPY) | (role == CAST)
    return cheap


def _is_whole_power(trace: Trace, row: int) -> bool:
    call = read_call(trace, row)
    exponent = "" if call is None else call.value(1)
    return re.fullmatch(r"-?\d{1,2}(\.0*)?", exponent) is not None and abs(float(exponent)) < _POWER


def moved_bytes(found: Graph) -> I64:
    """Return by node the bytes that it reads and writes."""
    nodes, reads = found.nodes, found.reads
    moved: I64 = sums(reads.node, reads.bytes, len(nodes)) + np.maximum(nodes.written_bytes, 0)
    return moved
