"""Price the second of two passes of a model whose results are compared: one batch would do.

In one batch a product reads its weights once, and every kernel starts once. What reading takes is
bounded by products of equal weights with more and fewer rows, if the recording has them: the time
that is left for no rows. Where arithmetic takes turns with reading, it is nothing. Without shapes,
one batch takes as long as one pass at least.
"""

from __future__ import annotations

import itertools

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.adjacent_passes import adjacent_passes
from tb_privateuse1.analysis.idioms.fused_kernel_rates import start_up_ns
from tb_privateuse1.analysis.idioms.nodes import PRODUCT, Graph, graph
from tb_privateuse1.analysis.idioms.slow_products import Slow
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import F64, I64, Bools

_COMPARE = ("sub", "rsub", "lerp", "cat", "stack")
"""Operators that guidance and comparisons begin with."""


class PairedPasses(Struct, frozen=True, eq=False):
    """Second passes, with the kernels that one batch for both would shorten."""

    calls: int
    module: str
    most: Slow


class _Product(Struct, frozen=True):
    """A distinct product with a matrix of weights."""

    call: int
    rows: int
    weights: tuple[int, ...]
    bytes: int
    duration_ns: float


def paired_passes(trace: Trace) -> PairedPasses | None:
    """Return the passes whose result is compared with that of the pass directly before.

    None without such passes, or without products that show what their weights take.
    """
    found = graph(trace)
    products = np.flatnonzero(found.nodes.role == PRODUCT)
    passes = adjacent_passes(trace, found.nodes.op[products].astype(np.int64))
    if passes is None:
        return None
    second = passes.lone[_compared(trace, found, passes.lone)]
    saved = _saved_ns(trace, found, products) if len(second) else None
    if saved is None:
        return None
    frames = trace.frames
    second = second[np.lexsort((frames.start_ns[second], frames.thread[second]))]
    inside = groupby.containing_by(
        frames.thread[second],
        frames.start_ns[second],
        frames.end_ns[second],
        found.nodes.thread,
        trace.ops.start_ns[found.nodes.op],
    )
    rows = np.flatnonzero(lookup(inside, found.kernel_node, NONE) >= 0)
    node = found.kernel_node[rows]
    shares = np.clip(saved[node] / np.maximum(found.nodes.duration_ns[node], 1), 0, 1)
    return PairedPasses(len(second), passes.module, Slow(rows, shares))


def _compared(trace: Trace, found: Graph, second: I64) -> Bools:
    """Return behind which calls the first operator reads two tensors of their result's size.

    A sum may be a residual one: of what a model made of its own result, and its input. Without
    shapes it is an operator that compares or joins tensors.
    """
    nodes, frames = found.nodes, trace.frames
    starts = trace.ops.start_ns[nodes.op]
    compares = (found.whole_reads() >= 2) & ~found.named("add")
    if not (trace.ops.shapes >= 0).any():
        compares = found.named(*_COMPARE)
    result = np.zeros(len(second), np.bool_)
    for thread, some in groupby.split_by_value(frames.thread[second]):
        own = np.flatnonzero(nodes.thread == thread)
        at = np.searchsorted(starts[own], frames.end_ns[second[some]])
        exists = (at > 0) & (at < len(own))
        behind = own[np.minimum(at, len(own) - 1)]
        last = own[np.maximum(at - 1, 0)]
        same = nodes.written_bytes[behind] == nodes.written_bytes[last]
        result[some] = exists & same & compares[behind] & (nodes.step[behind] == nodes.step[last])
    return result


def _saved_ns(trace: Trace, found: Graph, products: I64) -> F64 | None:
    """Return by node what a batch of two saves at most; None if no product shows it.

    Without shapes, that is all of its time.
    """
    if not (trace.ops.shapes >= 0).any():
        return found.nodes.duration_ns.astype(np.float64)
    known = _products(trace, found, products)
    start_up = float(start_up_ns(trace))
    rates = []
    for _, group in itertools.groupby(known, key=lambda one: one.weights):
        own = list(group)
        few, many = own[0], own[-1]
        left = _without_rows(few, many) - start_up if few.rows < many.rows else 0.0
        rates += [left / few.bytes] if left > 0 else []
    if not rates:
        return None
    reading = np.zeros(int(found.nodes.call.max(initial=0)) + 1)
    for one in known:
        reading[one.call] = min(rates) * one.bytes
    return start_up + reading[found.nodes.call]


def _without_rows(few: _Product, many: _Product) -> float:
    """Return the time that two products with equal weights would take with no rows."""
    each = (many.duration_ns - few.duration_ns) / (many.rows - few.rows)
    return few.duration_ns - few.rows * max(each, 0.0)


def _products(trace: Trace, found: Graph, products: I64) -> list[_Product]:
    """Return the distinct products of two matrices by weights and rows, with their usual times."""
    made = []
    for number, some in groupby.split_by_value(found.nodes.call[products]):
        nodes = products[some]
        call = read_call(trace, int(found.nodes.op[nodes[0]]))
        matrices = [one for one in call.tensors() if len(one.shape) == 2] if call else []
        if len(matrices) == 2 and matrices[1].dtype:
            usual = float(np.median(found.nodes.duration_ns[nodes]))
            weights = matrices[1]
            made.append(
                _Product(
                    number,
                    matrices[0].shape[0],
                    tuple(weights.shape),
                    weights.bytes,
                    usual,
                )
            )
    return sorted(made, key=lambda one: (one.weights, one.rows))
