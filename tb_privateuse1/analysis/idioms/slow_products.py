"""Find matrix products far from the device's peak: by their type, their shape, or their weights."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.fused_kernel_rates import printed_memory, reachable
from tb_privateuse1.analysis.idioms.nodes import PRODUCT, graph
from tb_privateuse1.analysis.roofs.rate_types import BF16, FP16, FP32, RATE_TYPES, TF32
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.analysis.roofs.work_rows import WorkRows
from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import group_rows, maxima
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import F64, I64, Bools

_BALANCE = 4.0
"""FLOPs for each byte of the memory's rate. Matrix units of all data sheets here reach 30 and more;
products below this run where element-wise work runs."""
_OF_MEMORY = 0.1
"""A product at more of the memory's rate may wait for its operands."""
_MOST_SAVED = 2 / 3
"""Mixed precision makes whole models at most three times as fast (vendors' reports):
matrix units reach a lesser share of their peak than other units do."""
INEXACT = 0.1
"""The largest error of a duration, as a share: rates of inferred durations may be of the error."""
_EVEN = 2.0
"""The ratio of the quartiles of rates that are those of the arithmetic."""
NEAR_BEST = 0.9
"""The share of the best rate that is promised to others."""
_OPERAND = 0.75
"""The share of a product's bytes that one operand has if its reading is the work."""

TILE = 128
"""Rows and columns of the result that a unit computes at once, in most libraries."""

PLAIN = ("mm", "addmm", "linear", "scaled_mm", "_scaled_mm", "_int_mm")
"""Products with weights; those of batches are attention's."""


class Slow(Struct, frozen=True, eq=False):
    """Rows of ``trace.kernels``, and the share of each one's time that goes."""

    rows: I64
    shares: F64

    def where(self, mask: Bools) -> Slow:
        """Return some of the rows."""
        return Slow(self.rows[mask], self.shares[mask])


@memoize
def full_precision(trace: Trace) -> Slow:
    """Return products in float32 that narrower types would make faster, by the data sheet.

    A product keeps its share of the roof, reads at least half of its bytes, and becomes at most
    three times as fast. The rows are empty if the rates of the device are unknown.
    """
    rates = device_rates(trace)
    rows, given = rates.rows, rates.given
    chosen = np.flatnonzero((rows.type == FP32) & rows.product & (rows.flops > 0))
    half = [given.matrix[kind] for kind in (BF16, FP16) if np.isfinite(given.matrix[kind])]
    if not half or not len(chosen):
        return Slow(chosen[:0], np.empty(0))
    unit = TF32 if rates.tf32 or not np.isfinite(given.matrix[FP32]) else FP32
    now = np.where(rows.on_unit[chosen], given.matrix[unit], given.vector[FP32])
    duration = np.maximum(rows.duration_ns[chosen], 1)
    scaled = np.where(np.isfinite(now), duration * now / max(half), duration)
    memory = printed_memory(trace)
    moved = np.where(rows.bytes[chosen] == MISSING, 0, rows.bytes[chosen]) / 2 / memory * 1e9
    shares = 1 - np.minimum(np.maximum(scaled, moved), duration) / duration
    return Slow(chosen, np.minimum(shares, _MOST_SAVED))


@memoize
def without_units(trace: Trace) -> Slow:
    """Return products that are as slow as element-wise work, on a device without a data sheet.

    Nothing is known of narrower types there, so no share goes. Rates must be about equal: if they
    grow with the size, products wait for their start-up instead.
    """
    rates = device_rates(trace)
    rows, memory = rates.rows, reachable(trace).memory
    chosen = np.flatnonzero((rows.type == FP32) & rows.product & (rows.flops > 0))
    best = reachable(trace).products.get("fp32")
    seen = all(roof.source == "best_seen" for roof in rates.roofs if roof.kind == "compute")
    measured = seen and memory is not None and best is not None
    if not measured or not len(chosen) or best >= _BALANCE * memory:  # type: ignore[operator]
        return Slow(chosen[:0], np.empty(0))
    duration = np.maximum(rows.duration_ns[chosen], 1)
    low, high = np.percentile(rows.flops[chosen] / duration, (25, 75))
    waits = rows.bytes[chosen] / duration * 1e9 >= _OF_MEMORY * (memory or 0.0)
    if high > _EVEN * low:
        return Slow(chosen[:0], np.empty(0))
    chosen = chosen[(rows.bytes[chosen] != MISSING) & ~waits]
    return Slow(chosen, np.zeros(len(chosen)))


def median_by(group: I64, duration: I64) -> I64:
    """Return the median duration of each row's group, by row."""
    order = np.lexsort((duration, group))
    first = np.flatnonzero(np.diff(group[order], prepend=-1))
    count = np.bincount(group)
    place = np.cumsum(count > 0) - 1
    median: I64 = duration[order][first + count[count > 0] // 2][place[group]]
    return median


@memoize
def weight_reads(trace: Trace) -> Slow:
    """Return products that surely wait for one operand, and what is known to go of their time.

    Reading takes twice as long as the arithmetic, at the rates of the data sheet, or at the best
    of other products. Where no rate of arithmetic is known, a product must read at the memory's
    rate. Of float32 weights half of the reading goes, as in bfloat16; of the other time only
    what a product of no more bytes shows. Products of a graph's replay have its capture's operands.
    """
    rows, found = device_rates(trace).rows, graph(trace)
    own = _product_rows(trace)
    own = own[lookup(found.named(*PLAIN), found.kernel_node[own], False)]
    largest = maxima(found.reads.node, found.reads.bytes, len(found.nodes))
    replayed, read = _replayed_products(trace)
    chosen = np.concatenate((own, replayed))
    operand = np.concatenate((largest[found.kernel_node[own]], read))
    duration = np.maximum(rows.duration_ns[chosen], 1)
    moved = np.minimum(_moved_ns(trace, chosen), duration)
    waits = (moved > 2 * _computed_ns(trace, chosen)) & (operand > _OPERAND * rows.bytes[chosen])
    is_read = (rows.type[chosen] == FP32) & (2 * moved > duration)
    halved = np.where(is_read, moved * operand / rows.bytes[chosen] / 2, 0)
    least = np.clip(rows.bytes[chosen] / _read_rate(trace, chosen), moved, duration) - halved
    slow = Slow(chosen, 1 - least / duration).where(waits)
    order = np.argsort(slow.rows, kind="stable")
    return Slow(slow.rows[order], slow.shares[order])


def _computed_ns(trace: Trace, chosen: I64) -> F64:
    """Return the most time that arithmetic alone takes: by the data sheet, or by what was seen.

    A product that reads at the memory's rate does nothing else for long: then it is 0. The best
    rate seen may be its own, which says nothing of its arithmetic.
    """
    rows, given = device_rates(trace).rows, device_rates(trace).given.matrix
    best = reachable(trace).products
    seen = np.array([best.get(name, np.inf) for name in RATE_TYPES])
    rates = np.where(np.isfinite(given), given, seen)[rows.type[chosen]]
    computed = np.where(np.isfinite(rates), rows.flops[chosen] / rates * 1e9, np.inf)
    duration = rows.duration_ns[chosen]
    at_rate = _moved_ns(trace, chosen) >= NEAR_BEST * duration
    at_rate &= ~np.isfinite(given[rows.type[chosen]])
    return np.where(at_rate, 0.0, computed)


def _read_rate(trace: Trace, chosen: I64) -> F64:
    """Return the bytes per ns at which products of no more bytes were read, by their median.

    They have the same type and about as many FLOPs for each byte, so that several of them are the
    same work. Those that a cache may hold say nothing. It is at least the rate of equal products.
    """
    rates = device_rates(trace)
    rows = rates.rows
    kind, size, work = rows.type[chosen], rows.bytes[chosen], rows.flops[chosen]
    first, group = group_rows(kind, size, work)
    usual = (size / np.maximum(median_by(group, rows.duration_ns[chosen]), 1))[first]
    per_byte = work[first] / size[first]
    shown = np.isinf(rates.given.cache_bytes) | (size[first] > rates.given.cache_bytes)
    reached = np.zeros(len(first))
    for i, row in enumerate(first.tolist()):
        alike = (kind[first] == kind[row]) & (size[first] <= size[row]) & shown
        alike &= per_byte >= NEAR_BEST * per_byte[i]
        reached[i] = max(usual[alike].max(initial=0.0), usual[i])
    return reached[group]


def _replayed_products(trace: Trace) -> tuple[I64, I64]:
    """Return the products of replays with known work, and the bytes of each one's largest input."""
    kernels, ops = trace.kernels, trace.captured_ops
    chosen = np.flatnonzero(
        (kernels.op < 0) & (kernels.captured_op >= 0) & _is_known(device_rates(trace).rows)
    )
    distinct, place = np.unique(kernels.captured_op[chosen], return_inverse=True)
    largest = np.zeros(len(distinct), np.int64)
    for i, row in enumerate(distinct.tolist()):
        name = trace.text(ops.name[row])
        if reduced_name(name) in PLAIN:
            largest[i] = _largest_input(read_call(trace, row, ops))
    operand = largest[place]
    return chosen[operand > 0], operand[operand > 0]


def _largest_input(call: Arguments | None) -> int:
    """Return the bytes of a call's largest tensor; 0 if they are unknown."""
    try:
        return max((one.bytes for one in call.tensors()), default=0) if call else 0
    except UnknownWork:
        return 0


def _is_known(rows: WorkRows) -> Bools:
    """Return which activities are products whose work and time are known."""
    known = (rows.flops > 0) & (rows.bytes != MISSING) & (rows.type != NONE) & rows.product
    exact = (rows.bound_ns != MISSING) & (rows.bound_ns <= INEXACT * rows.duration_ns)
    flags: Bools = known & exact
    return flags


def _product_rows(trace: Trace) -> I64:
    """Return the activities of products of two matrices whose work and time are known."""
    rates, found = device_rates(trace), graph(trace)
    is_product = lookup(found.nodes.role == PRODUCT, found.kernel_node, False)
    return np.flatnonzero(is_product & _is_known(rates.rows))


def _moved_ns(trace: Trace, chosen: I64) -> F64:
    size = device_rates(trace).rows.bytes[chosen]
    moved: F64 = size / printed_memory(trace) * 1e9
    return moved
