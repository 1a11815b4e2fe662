"""Products, convolutions and attention far below the best call of their kind in a recording.

One rule for all kinds, on a device and on the host alone. A call counts only if a faster one of its
kind and type has no more work, and no more work for each byte: then neither its size nor its bytes
explain the difference.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.idioms.call_kinds import CallKind, Family, kind_of_call
from tb_privateuse1.analysis.idioms.products import INEXACT, NEAR_BEST, Slow, median_by
from tb_privateuse1.analysis.idioms.rates import printed_memory
from tb_privateuse1.analysis.roofs.best_rates import best_rate
from tb_privateuse1.analysis.roofs.rate_types import rate_type
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.analysis.roofs.undisturbed import undisturbed_on_host
from tb_privateuse1.analysis.work.arguments import DTYPES
from tb_privateuse1.analysis.work.kernel_work import kernel_work
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.analysis.work.relations import read_call
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import OpRow, SmallNumber
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I8, I64, Bools, Table

F64 = NDArray[np.float64]

FAR, FAR_APART = 0.8, 0.6
"""Products below the first share of the best rate are far from it. The second one is for
convolutions and attention, whose routines suit some shapes better, and for the host, where the
clock and what else runs change rates by a quarter."""
_SURELY = 2.0
"""A call whose arithmetic takes this multiple of the time of its bytes does not wait for them."""
LARGE_NS = 20_000
"""Shorter calls cannot fill a device, whatever their shape."""
_LARGE_BYTES = 1 << 20
"""Smaller tensors stay in a cache of the host."""

_CONVERTS = re.compile(r"(?i)nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw|transdata|transpose_?kernel")
"""Kernels of libraries that put a tensor into the other order of channels."""


class Calls(Table, frozen=True):
    """Calls of products, convolutions and attention with known work, type and time.

    ``alike`` numbers calls of one name with the same inputs, ``kind`` is an index into ``kinds`` of
    ``FarCalls``. ``longest_ns`` is the duration with its bounds. ``work`` is what limits the kind:
    FLOPs, or bytes.
    """

    op: OpRow
    kind: SmallNumber
    alike: I64
    type: I8
    at_most: Bools
    work: I64
    bytes: I64
    duration_ns: I64
    longest_ns: I64


class FarCalls(Struct, frozen=True, eq=False):
    """All calls with known work, and which of them are far from the best of their kind."""

    calls: Calls
    kinds: tuple[CallKind, ...]
    best: F64
    """By call, the best work per ns of its kind and type; infinite if nothing sustained one."""
    moved_ns: F64
    """By call, the least time for its bytes; 0 where bytes are the work."""
    far: Bools
    """By call: it is far from the best, and something comparable surpasses it."""
    on_host: bool

    def of(self, *families: Family) -> Bools:
        """Return a flag per call: it is of one of these families."""
        wanted = [kind.family in families for kind in self.kinds]
        flags: Bools = np.array([*wanted, False], np.bool_)[self.calls.kind]
        return flags

    def shares(self, rows: I64, level: float = NEAR_BEST) -> F64:
        """Return the share of some calls' time that goes at a part of the best rate, 0 to 1."""
        duration = np.maximum(self.calls.duration_ns[rows], 1)
        least = np.maximum(self.calls.work[rows] / self.best[rows] / level, self.moved_ns[rows])
        shares: F64 = 1 - np.minimum(least, duration) / duration
        return shares


@memoize
def far_calls(trace: Trace) -> FarCalls:
    """Return the calls of a trace; none where device times are not known."""
    on_host = is_on_host_alone(trace)
    calls, kinds = _on_host(trace) if on_host else _on_device(trace)
    memory = host_memory(trace) if on_host else printed_memory(trace)
    best = _best(trace, calls, kinds, on_host=on_host)
    work, duration = calls.work, np.maximum(calls.duration_ns, 1)
    reads = np.array([*(kind.reads for kind in kinds), False], np.bool_)[calls.kind]
    moved = np.where(reads, 0, calls.bytes / (memory or np.inf) * 1e9)
    usual = median_by(calls.alike, duration)
    needed = np.where(np.isfinite(best), work / best, np.inf)
    plain = np.array([*(one.family == "products" for one in kinds), False], np.bool_)[calls.kind]
    limit = np.where(plain & (not on_host), FAR, FAR_APART)
    far = np.isfinite(needed) & (needed < limit * usual) & (needed > moved) & (needed > LARGE_NS)
    computes = (needed > _SURELY * moved) & (moved > 0) & (not on_host)
    far &= _surpassed(calls, needed >= NEAR_BEST * usual, far, computes)
    return FarCalls(calls, kinds, best, moved, far, on_host)


def _on_device(trace: Trace) -> tuple[Calls, tuple[CallKind, ...]]:
    """Return the calls with device time, less that of kernels that change a layout."""
    rows, owner = device_rates(trace).rows, kernel_work(trace).op
    own = np.flatnonzero((owner >= 0) & rows.product & ~converting(trace))
    op, place = np.unique(owner[own].astype(np.int64), return_inverse=True)
    duration = groupby.sums(place, rows.duration_ns[own], len(op))
    bound = groupby.sums(place, np.maximum(rows.bound_ns[own], 0), len(op))
    exact = np.ones(len(op), np.bool_)
    np.logical_and.at(exact, place, rows.bound_ns[own] != MISSING)
    exact &= bound <= INEXACT * duration
    resolution = device_rates(trace).resolution_ns
    longest = np.where(exact, duration + bound + resolution, MISSING)
    return _calls(trace, op, duration, longest, exact)


def _on_host(trace: Trace) -> tuple[Calls, tuple[CallKind, ...]]:
    """Return the calls of a program on the host alone that had it for themselves."""
    ops, work = trace.ops, operator_work(trace)
    op = np.flatnonzero(work.matrix & (work.flops > 0))
    op = op[undisturbed_on_host(trace, op)]
    duration = ops.end_ns[op] - ops.start_ns[op]
    return _calls(trace, op, duration, duration + 1, duration > 0)


@memoize
def converting(trace: Trace) -> Bools:
    """Return which activities only change a tensor's layout, by the names of libraries' kernels."""
    kernels = trace.kernels
    patterns = [_CONVERTS]
    if trace.vendor.conversion_names is not None:
        patterns.append(trace.vendor.conversion_names)
    found = np.zeros(len(trace.strings) + 1, np.bool_)
    for name in groupby.distinct_values(kernels.name[kernels.name >= 0]).tolist():
        found[name] = any(pattern.search(trace.text(name)) for pattern in patterns)
    flags: Bools = found[kernels.name]
    return flags


def _calls(
    trace: Trace, op: I64, duration: I64, longest: I64, usable: Bools
) -> tuple[Calls, tuple[CallKind, ...]]:
    """Return those of these operators whose kind, type, work and time are known, and the kinds."""
    ops, work = trace.ops, operator_work(trace)
    types = np.array([rate_type(name) for name in DTYPES], np.int8)[work.dtype[op]]
    usable = usable & (work.flops[op] > 0) & (types != NONE)
    op, duration, longest, types = op[usable], duration[usable], longest[usable], types[usable]
    columns = (ops.name, ops.shapes, ops.dtypes, ops.strides, ops.concrete)
    first, alike = groupby.group_rows(*(column[op] for column in columns))
    of_call = [_kind(trace, row, int(work.flops[row])) for row in op[first].tolist()]
    kinds = tuple(sorted({kind for kind in of_call if kind is not None}))
    number = {kind: i for i, kind in enumerate(kinds)}
    kind = np.array([NONE if k is None else number[k] for k in of_call], np.int32)[alike]
    whole = (work.read_bytes[op] != MISSING) & (work.written_bytes[op] != MISSING)
    size = np.where(whole, work.read_bytes[op] + work.written_bytes[op], 0)
    reads = np.array([*(one.reads for one in kinds), False], np.bool_)[kind]
    table = Calls(
        op=op.astype(np.int32),
        kind=kind,
        alike=alike,
        type=types,
        at_most=work.at_most[op],
        work=np.where(reads, size, work.flops[op]),
        bytes=size,
        duration_ns=duration,
        longest_ns=longest,
    )
    return table.take(np.flatnonzero((kind != NONE) & (table.work > 0))), kinds


def _kind(trace: Trace, row: int, flops: int) -> CallKind | None:
    call = read_call(trace, row)
    return None if call is None else kind_of_call(call, flops, trace.vendor)


def far_kernels(trace: Trace, *families: Family) -> Slow:
    """Return the device activities of calls of some families that are far from the best."""
    found = far_calls(trace)
    if found.on_host:
        return Slow(np.empty(0, np.int64), np.empty(0))
    return kernels_of(trace, found, np.flatnonzero(found.far & found.of(*families)))


def kernels_of(trace: Trace, found: FarCalls, calls: I64, level: float = NEAR_BEST) -> Slow:
    """Return the device activities of some calls, with what goes at a part of the best rate."""
    share = np.full(len(trace.ops) + 1, -1.0)
    share[found.calls.op[calls]] = found.shares(calls, level)
    shares = share[kernel_work(trace).op]
    rows = np.flatnonzero((shares >= 0) & device_rates(trace).rows.product & ~converting(trace))
    return Slow(rows, shares[rows])


@memoize
def host_memory(trace: Trace) -> float | None:
    """Return the best rate of bytes per second that operators of the host sustained, or None."""
    ops, work = trace.ops, operator_work(trace)
    known = (work.read_bytes != MISSING) & (work.written_bytes != MISSING)
    size = work.read_bytes + work.written_bytes
    rows = np.flatnonzero(known & ~work.matrix & (size >= _LARGE_BYTES) & ~work.at_most)
    duration = np.maximum(ops.end_ns - ops.start_ns, 1)[rows]
    return best_rate(size[rows], duration, duration)


def _best(trace: Trace, calls: Calls, kinds: tuple[CallKind, ...], *, on_host: bool) -> F64:
    """Return by call the best rate of its kind and type, never more than the data sheet's."""
    best = np.full(len(calls), np.inf)
    given = device_rates(trace).given
    first, group = groupby.group_rows(calls.kind, calls.type, calls.at_most)
    for i, one in enumerate(first.tolist()):
        rows = np.flatnonzero(group == i)
        rate = best_rate(calls.work[rows], calls.duration_ns[rows], calls.longest_ns[rows])
        if rate is None:
            continue
        if not on_host:
            reads = kinds[calls.kind[one]].reads
            limit = given.memory if reads else given.matrix[calls.type[one]]
            rate = min(rate, float(limit))
        best[rows] = rate / 1e9
    return best


def _surpassed(calls: Calls, fast: Bools, far: Bools, computes: Bools) -> Bools:
    """Return which far calls a fast one of the same kind and type surpasses with no more work.

    A tenth more counts as no more.

    Nor may it have more work for each byte, unless the call surely waits for no bytes
    (``computes``), or bytes are unknown. A host's rate of bytes is that of a cache as often as that
    of its memory, so it proves nothing.
    """
    found = np.zeros(len(calls), np.bool_)
    first, group = groupby.group_rows(calls.alike, calls.type, fast, far, computes)
    one = calls.take(first)
    per_byte = one.work / np.where(one.bytes > 0, one.bytes, 1)
    is_fast = fast[first]
    for i in np.flatnonzero(far[first]).tolist():
        alike = (one.kind == one.kind[i]) & (one.type == one.type[i]) & is_fast
        alike &= (one.at_most == one.at_most[i]) & (one.work <= one.work[i] / NEAR_BEST)
        known = (one.bytes > 0) & (one.bytes[i] > 0) & ~computes[first[i]]
        alike &= ~known | (per_byte <= per_byte[i] / NEAR_BEST)
        found[group == i] = alike.any()
    return found
