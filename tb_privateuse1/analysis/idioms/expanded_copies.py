"""Find tensors that are repeated in memory, where the next operator would broadcast them.

``expand`` makes a view in which a dimension has no stride. A copy of it, as ``reshape``, ``repeat``
and ``repeat_interleave`` make, writes each element several times, and what reads the copy moves as
much again.
"""

from __future__ import annotations

import math

import numpy as np

from tb_privateuse1.analysis.idioms.fused_kernel_rates import printed_memory
from tb_privateuse1.analysis.idioms.nodes import (
    COPY,
    ELEMENTWISE,
    PRODUCT,
    Graph,
    graph,
    operators_named,
)
from tb_privateuse1.analysis.idioms.slow_products import Slow
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.analysis.work.calls import known_call
from tb_privateuse1.trace.groupby import group_rows, named_rows, sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.table import I64, Bools

_NEAR = 8
"""Nodes behind a copy in which something reads it."""
_WAITS = 0.5
"""The share of its time from which on an operator waits for its operands."""


@memoize
def repeated(trace: Trace) -> Slow:
    """Return the copies of expanded tensors, and the part of their readers that less bytes save."""
    found = graph(trace)
    copies, times = _copies(trace, found)
    copies, times, readers = _read(trace, found, copies, times)
    share = np.zeros(len(found.nodes) + 1)
    share[copies] = 1.0
    size = found.nodes.written_bytes[copies]
    spared = sums(readers, np.rint(size * (1 - 1 / times)).astype(np.int64), len(found.nodes))
    moved = sums(found.reads.node, found.reads.bytes, len(found.nodes))
    moved = moved + np.maximum(found.nodes.written_bytes, 0)
    passing = moved / printed_memory(trace) * 1e9
    waits = passing > _WAITS * found.nodes.duration_ns
    share[:-1][waits] += (spared / np.maximum(moved, 1))[waits]
    rows = np.flatnonzero(share[found.kernel_node] > 0)
    return Slow(rows, np.minimum(share[found.kernel_node[rows]], 1.0))


def _copies(trace: Trace, found: Graph) -> tuple[I64, I64]:
    """Return the nodes that copy an expanded tensor, and how often it has each element."""
    ops, nodes = trace.ops, found.nodes
    expands = np.flatnonzero(operators_named(trace, "expand") & (ops.kind == OPERATOR))
    copies = np.flatnonzero((nodes.role == COPY) & nodes.known)
    if not len(expands) or not len(copies):
        return copies[:0], copies[:0]
    first, group = group_rows(ops.name[expands], ops.shapes[expands], ops.concrete[expands])
    views = [_expansion(trace, int(row)) for row in expands[first].tolist()]
    times = np.array([many for many, _ in views], np.int64)[group]
    count = np.array([size for _, size in views], np.int64)[group]
    order = np.lexsort((ops.start_ns[expands], ops.thread[expands]))
    expands, times, count = expands[order], times[order], count[order]
    rows = nodes.op[copies]
    # The latest view before a copy, behind the work before that copy.
    both = np.lexsort((
        np.append(np.zeros(len(expands)), np.ones(len(rows))),
        np.append(ops.start_ns[expands], ops.start_ns[rows]),
        np.append(ops.thread[expands], ops.thread[rows]),
    ))  # fmt: skip
    last = np.empty(len(both), np.int64)
    last[both] = np.cumsum(both < len(expands)) - 1
    latest = last[len(expands) :]
    view = np.maximum(latest, 0)
    fits = (latest >= 0) & (ops.thread[expands[view]] == ops.thread[rows]) & (times[view] > 1)
    before = nodes.op[np.maximum(copies - 1, 0)]
    fits &= (
        (copies == 0)
        | (ops.thread[before] != ops.thread[rows])
        | (ops.start_ns[expands[view]] > ops.start_ns[before])
    )
    elements = _elements(trace, found, copies)
    fits &= (count[view] == elements) & (elements > 0)
    return copies[fits], times[view][fits]


def _expansion(trace: Trace, row: int) -> tuple[int, int]:
    """Return how often an expanded tensor has each element, and its number of elements.

    Both are 0 if they are unknown.
    """
    if trace.ops.concrete[row] < 0:
        return 0, 0
    try:
        call = known_call(trace, row)
        shape, sizes = call.tensor(0).shape, call.integers(1)
    except UnknownWork:
        return 0, 0
    new = len(sizes) - len(shape)
    whole = [shape[i - new] if size == -1 else size for i, size in enumerate(sizes)]
    count, before = math.prod(whole), math.prod(shape)
    return (count // before, count) if before and new >= 0 else (0, 0)


def _elements(trace: Trace, found: Graph, copies: I64) -> I64:
    """Return the number of elements that each copy writes, 0 if it is unknown."""
    nodes = found.nodes
    first, group = group_rows(nodes.call[copies])
    count = []
    for row in nodes.op[copies[first]].tolist():
        try:
            count.append(known_call(trace, row).tensor(0).numel)
        except UnknownWork:
            count.append(0)
    return np.array(count, np.int64)[group]


def _read(trace: Trace, found: Graph, copies: I64, times: I64) -> tuple[I64, I64, I64]:
    """Return the copies that an operator reads that could broadcast, with their readers."""
    nodes = found.nodes
    broadcasts = np.isin(nodes.role, (ELEMENTWISE, PRODUCT)) | _attention(trace, found)
    reader = np.full(len(copies), -1, np.int64)
    for offset in range(1, _NEAR + 1):
        at = np.minimum(copies + offset, len(nodes) - 1)
        reads = found.reads_size(at, nodes.written_bytes[copies])
        same = (nodes.thread[at] == nodes.thread[copies]) & (copies + offset < len(nodes))
        reader = np.where((reader < 0) & reads & same, at, reader)
    usable = (reader >= 0) & broadcasts[np.maximum(reader, 0)]
    return copies[usable], times[usable], reader[usable]


def _attention(trace: Trace, found: Graph) -> Bools:
    """Return a flag per node: it is fused attention, which lets query heads share keys."""
    names = trace.ops.name[found.nodes.op]
    return named_rows(trace.strings, names, lambda name: kind_of(name, trace.vendor) == "attention")
