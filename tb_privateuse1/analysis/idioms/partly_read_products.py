"""Find results that are read in part only: the logits of a whole prompt, a product's diagonal.

A tensor is known by its number of elements. Behind an operator that makes one, those who read as
many elements before another one is made read its result. The makers are products, convolutions,
and what pairs all elements of one tensor with all of another. What a reader takes is known by
the view that it makes.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.accumulations import ENGINE
from tb_privateuse1.analysis.idioms.fused_kernel_rates import moves_much, printed_memory, time_of
from tb_privateuse1.analysis.idioms.needed_inputs import CASTS, VIEWS
from tb_privateuse1.analysis.idioms.needed_rows import LITTLE, needed_rows
from tb_privateuse1.analysis.idioms.result_tensors import result_of, writes_first
from tb_privateuse1.analysis.idioms.taken_parts import DIAGONALS, strided_calls, taken_part
from tb_privateuse1.analysis.operators.host_activities import with_host_activities
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.work.arguments import (
    ITEM_BYTES,
    Arguments,
    UnknownWork,
)
from tb_privateuse1.analysis.work.calls import group_calls, read_call, read_calls
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.columns import lookup, mask_of, range_rows, starts_run, sums_before
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I64, Bools

_MAKES, _PASS, _ALONG, _ROWWISE, _PART, _WHOLE, _WEIGHT = range(-1, 6)
"""What an operator does with a tensor: make it, nothing, one element after the other, one row after
the other, take a part of it, read all of it, or read all of it as the weight of a layer."""
_WEIGHTS = {"linear": 1, "embedding": 0}
"""The input of such operators that is a layer's weight."""
_APART, _DIAGONAL = -2, -1
"""In place of such a length: elements are chosen one by one, or are those of a diagonal."""
_PASSES, _PASSES_OF_DIAGONAL = 8, 4
"""Ways through memory for each element of both operands, where a product's elements are computed
one by one. Both are read, their product is written, and read for its sum; rows that are chosen are
copied before, which reads and writes each."""


class UnreadRows(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` with the share of their work that nobody reads.

    ``makers`` are those that make the tensor which is read in part: rows of it, or ``scattered``
    elements (columns, a diagonal).
    """

    rows: I64
    shares: F64
    makers: I64
    scattered: Bools


class _Reads(Struct, frozen=True, eq=False):
    """Tensors that operators read or make, by thread, elements and time."""

    op: I64
    thread: I64
    elements: I64
    what: I64
    """One of the constants above."""
    part: F64
    """The share that is taken."""
    of_rows: Bools
    """The part is not one of the last dimension."""
    columns: I64
    """The length of rows whose columns are chosen by number, 0 for others, or one of the above."""


@memoize
def unread_rows(trace: Trace) -> UnreadRows:
    """Return makers, and what works on their results, where only a part is read later.

    The gradients of both go with them: those of what nobody reads are zeros. Parts that together
    are more than half of the result count as all of it. Without any reader nothing is known.
    """
    reads = _reads(trace)
    writes = reads.what == _MAKES
    segment = np.cumsum(writes | starts_run(reads.thread, reads.elements)) - 1
    count = int(segment[-1]) + 1 if len(segment) else 0
    written = mask_of(segment[writes], count)
    needs_all = (reads.what == _WHOLE) | _is_computed_weight(reads, written[segment])
    part = np.bincount(segment, weights=reads.part, minlength=count).astype(np.float64)
    takes = reads.what == _PART
    first_part = groupby.minima(segment[takes], np.flatnonzero(takes), count, len(segment))
    late = np.arange(len(segment)) > first_part[segment]
    columns, rowwise = np.zeros((2, count), np.bool_)
    columns[segment[takes & ~reads.of_rows]] = True
    rowwise[segment[reads.what == _ROWWISE]] = True
    needs_all |= late & np.isin(reads.what, (_ALONG, _ROWWISE))
    whole = mask_of(segment[needs_all], count)
    good = written & (part > 0) & (part <= LITTLE) & ~whole & ~(columns & rowwise)
    makers = np.flatnonzero(writes & good[segment])
    saved = np.ones(count)
    saved[segment[makers]] = _beyond_elements(trace, reads, segment, makers, part)
    good &= saved > 0
    chosen = good[segment] & (writes | np.isin(reads.what, (_ALONG, _ROWWISE)))
    # Made, and more than its elements are needed: what the rows of its inputs come from.
    through = needed_rows(trace)
    rows = np.append(reads.op[chosen], through.rows)
    unread = np.where(writes, np.minimum(1 - part[segment], saved[segment]), 1 - part[segment])
    shares = np.append(unread[chosen], through.shares)
    made = np.append(writes[chosen], np.ones(len(through.rows), np.bool_))
    apart = np.append(columns[segment[chosen]], np.zeros(len(through.rows), np.bool_))
    read = np.append(_read_bytes(trace, reads.op[chosen]), through.read_bytes)
    shares[made] = np.minimum(shares[made], beyond_reading(trace, rows[made], read[made]))
    order = np.lexsort((-shares, rows))
    order = order[starts_run(rows[order])]
    rows, shares, made, apart = rows[order], shares[order], made[order], apart[order]
    gradients, of = gradients_of(trace, rows)
    return UnreadRows(
        np.append(rows, gradients),
        np.append(shares, shares[of]),
        rows[made],
        apart[made],
    )


def _is_computed_weight(reads: _Reads, behind_maker: Bools) -> Bools:
    """Return which reads are of a weight that may have been made.

    One of this size that a layer reads before anything of that size is made is a parameter.
    """
    weight = reads.what == _WEIGHT
    size = np.cumsum(starts_run(reads.thread, reads.elements)) - 1
    found: Bools = weight & ~np.isin(size, size[weight & ~behind_maker])
    return found


def gradients_of(trace: Trace, rows: I64) -> tuple[I64, I64]:
    """Return the outermost operators that compute gradients of some rows, and whose they are.

    The engine adds up the gradients of a tensor's readers around the last one's formula: these
    sums are of the tensor, and stay where a reader takes another form.
    """
    ops, forward = trace.ops, call_tree.linked_forward(trace)
    nodes = np.flatnonzero(forward >= 0)
    nodes = nodes[groupby.outermost_operators(ops)[nodes]]
    of = call_tree.around(ops.parent, forward[nodes], mask_of(rows, len(ops)))
    nodes, of = nodes[of >= 0], np.searchsorted(rows, of[of >= 0])
    engine = nodes[call_tree.starts_with(trace, ENGINE)[ops.name[nodes]]]
    adds = call_tree.starts_with(trace, "aten::add")[ops.name]
    inside = lookup(mask_of(engine, len(ops)), ops.parent, False)
    summing = mask_of(ops.parent[inside & adds], len(ops))
    formulas = np.flatnonzero(lookup(summing, ops.parent, False) & ~adds)
    node = np.searchsorted(nodes, ops.parent[formulas])
    kept = ~summing[nodes]
    return np.append(nodes[kept], formulas), np.append(of[kept], of[node])


def _reads(trace: Trace) -> _Reads:
    """Return who reads and writes tensors of each size, among the outermost operators."""
    ops = trace.ops
    rows = np.flatnonzero(groupby.outermost_operators(ops) & (ops.shapes >= 0))
    first, call = group_calls(trace, rows, ("name", "shapes", "dtypes", "concrete"))
    strided = strided_calls(trace, rows[first])
    pairs = zip(read_calls(trace, rows[first]), strided, strict=True)
    calls = [[] if call is None else _reads_of(trace, call, view) for call, view in pairs]
    count = np.array([len(one) for one in calls], np.int64)
    flat = np.array([read for one in calls for read in one], np.float64).reshape(-1, 5)
    own, read = range_rows(sums_before(count)[call], count[call])
    table = flat[read]
    product, elements = _results(trace, rows)
    op = np.concatenate((rows[own], product))
    size = np.concatenate((table[:, 0].astype(np.int64), elements))
    what = np.concatenate((table[:, 1].astype(np.int64), np.full(len(product), _MAKES)))
    part = np.concatenate((table[:, 2], np.zeros(len(product))))
    of_rows = np.concatenate((table[:, 3] > 0, np.zeros(len(product), np.bool_)))
    columns = np.concatenate((table[:, 4].astype(np.int64), np.zeros(len(product), np.int64)))
    written = np.flatnonzero(np.isin(size, size[what == _MAKES]))
    # A product that reads as many elements as it writes reads the result before.
    keys = (what == _MAKES, ops.start_ns[op], size, ops.thread[op])
    order = written[np.lexsort(tuple(key[written] for key in keys))]
    return _Reads(
        op=op[order],
        thread=ops.thread[op[order]].astype(np.int64),
        elements=size[order],
        what=what[order],
        part=part[order],
        of_rows=of_rows[order],
        columns=columns[order],
    )


def _results(trace: Trace, rows: I64) -> tuple[I64, I64]:
    """Return the outermost operators with a single product, and the elements of its result."""
    ops, work = trace.ops, operator_work(trace)
    products = np.flatnonzero(work.matrix & (work.written_bytes > 0))
    top = call_tree.around(ops.parent, products, mask_of(rows, len(ops)))
    products, top = products[top >= 0], top[top >= 0]
    single = np.bincount(top, minlength=len(ops))[top] == 1
    item = np.array([max(size, 1) for size in ITEM_BYTES.values()], np.int64)
    return top[single].astype(np.int64), (work.written_bytes // item[work.dtype])[products[single]]


def _reads_of(
    trace: Trace, call: Arguments, strided: Arguments | None
) -> list[tuple[int, int, float, int, int]]:
    """Return elements, use, part, whether that is one of rows, and columns, by tensor of a call."""
    sizes = {one.numel for one in call.tensors() if len(one.shape) > 1}
    kind = kind_of(call.name, trace.vendor)
    use, part, of_rows, columns = _use(call, kind, strided)
    x = call.optional(0)
    if use != _WHOLE and (x is None or len(call.inputs) == 0):
        use = _WHOLE
    many = sum(one.numel == x.numel for one in call.tensors()) > 1 if x is not None else False
    if use in (_ALONG, _ROWWISE) and many and reduced_name(call.name) != "copy":
        use = _WHOLE  # it adds up two of these
    weight = _weight_elements(call)
    found = [
        (size, _WEIGHT if size == weight else use, part, of_rows, columns) for size in sorted(sizes)
    ]
    if (pairs := _pairs(call, kind)) > max(sizes, default=0):
        found.append((pairs, _MAKES, 0.0, 0, 0))
    return found


def _weight_elements(call: Arguments) -> int:
    """Return the elements of a layer's weight, if none of its other tensors has as many."""
    place = _WEIGHTS.get(reduced_name(call.name))
    weight = None if place is None else call.optional(place)
    same = [one for one in call.tensors() if weight is not None and one.numel == weight.numel]
    return weight.numel if weight is not None and len(same) == 1 else 0


def _pairs(call: Arguments, kind: str) -> int:
    """Return the elements of a result for each pair of two tensors' elements or rows; 0: none."""
    word = reduced_name(call.name).strip("_")
    tensors = [one for one in call.tensors() if len(one.shape) > 1]
    if len(tensors) < 2 or (word != "cdist" and (kind != "elementwise" or writes_first(call))):
        return 0
    found = result_of(call, word)
    return 0 if found is None else found.numel


def _use(call: Arguments, kind: str, strided: Arguments | None) -> tuple[int, float, int, int]:
    """Return what a call does with its first tensor, and the part: its share, rows, columns."""
    word = reduced_name(call.name).strip("_")
    if word in VIEWS:
        return _PASS, 0.0, 0, 0
    if kind == "elementwise" or word in CASTS:
        return _ALONG, 0.0, 0, 0
    if word in ("softmax", "log_softmax"):
        return _ROWWISE, 0.0, 0, 0
    try:
        part = taken_part(call, word, kind, strided)
    except UnknownWork:
        return _WHOLE, 0.0, 0, 0
    if part is None:
        return _WHOLE, 0.0, 0, 0
    if part.share >= 1:
        return _PASS, 0.0, 0, 0
    one_by_one = _DIAGONAL if kind == "view" or word in DIAGONALS else _APART
    return _PART, part.share, int(part.of_rows), one_by_one if part.apart else part.columns


def _beyond_elements(trace: Trace, reads: _Reads, segment: I64, makers: I64, part: F64) -> F64:
    """Return the share of each maker's time beyond that of the elements that are read, one by one.

    It is 1 where rows or columns are read, which a product of fewer of them computes, and where
    the maker's operations are unknown. A product reads each operand once for all elements of a row;
    elements on their own read both operands each.
    """
    ops, work, rows = trace.ops, operator_work(trace), reads.op[makers]
    width = {row: _row_length(trace, row) for row in np.unique(rows).tolist()}
    of = np.array([width[row] for row in rows.tolist()], np.int64)
    longest = groupby.maxima(segment, reads.columns, len(part))[segment[makers]]
    least = groupby.minima(segment, reads.columns, len(part), 0)[segment[makers]]
    apart = (least < 0) | ((longest > 0) & (of > 0) & (longest != of))
    if not apart.any():
        return np.ones(len(makers))
    passes = np.where(least == _DIAGONAL, _PASSES_OF_DIAGONAL, _PASSES)
    item = np.array([max(size, 1) for size in ITEM_BYTES.values()], np.int64)
    around = intervals.nearest(ops.parent, mask_of(rows, len(ops)))
    around[rows] = rows
    operands = np.maximum(work.flops, 0) // 2 * item[work.dtype]
    moved = passes * part[segment[makers]] * groupby.sums(around, operands, len(ops))[rows]
    return np.where(apart, beyond_reading(trace, rows, moved), 1.0)


def _row_length(trace: Trace, row: int) -> int:
    """Return the length of the rows that a product of matrices makes; 0 if it is unknown."""
    call = read_call(trace, row)
    matrices = [one for one in call.tensors() if len(one.shape) > 1] if call else []
    if call is None or len(matrices) != 2:
        return 0
    return matrices[1].shape[-2 if reduced_name(call.name) == "linear" else -1]


def _read_bytes(trace: Trace, rows: I64) -> I64:
    """Return the bytes of each operator's operands."""
    ops, work = trace.ops, operator_work(trace)
    around = intervals.nearest(ops.parent, mask_of(rows, len(ops)))
    around[rows] = rows
    return groupby.sums(around, np.maximum(work.read_bytes, 0), len(ops))[rows]


def beyond_reading(trace: Trace, rows: I64, read_bytes: I64 | F64) -> F64:
    """Return the share of each operator's time beyond reading these bytes once.

    It is all of it where no rate is known, as on a host whose other calls move next to nothing.
    """
    worked = with_host_activities(trace) if is_on_host_alone(trace) else trace
    rate = printed_memory(worked)
    if not np.isfinite(rate) or not (worked is trace or moves_much(worked)):
        return np.ones(len(rows))
    reading_ns = read_bytes / rate * 1e9
    return np.clip(1 - reading_ns / np.maximum(time_of(trace, rows), 1), 0, 1)
