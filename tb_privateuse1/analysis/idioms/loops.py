"""Loops over the rows or items of a tensor: one operator over all of it instead of each call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.idioms.nodes import PRODUCT, Graph, graph
from tb_privateuse1.analysis.idioms.rates import printed_memory, reachable
from tb_privateuse1.analysis.roofs.rate_types import RATE_TYPES
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.trace.groupby import group_rows, sums
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I32, I64


@dataclass(frozen=True, eq=False)
class Loops:
    """The loop of each node of the graph (-1: none), and by loop its device time and the least.

    ``fused_ns`` is the time of one operator for each kind of call: of the bytes of all its calls,
    their FLOPs at the best rate here, or of the longest call, whichever is greatest.
    """

    graph: Graph
    loop: I64
    duration_ns: I64
    fused_ns: I64


def batched(trace: Trace, thread: I32, start_ns: I64, end_ns: I64) -> Loops:
    """Return what the nodes in some ranges of threads would take as one operator for each kind.

    The ranges of a thread do not overlap. Where a kind of call has unknown bytes, or a product may
    need the result of the round before, the loop stays as it is.
    """
    found = graph(trace)
    loop = _loops_of(trace, found, thread, start_ns, end_ns)
    inside = np.flatnonzero(loop >= 0)
    nodes, count = found.nodes, len(thread)
    first, kind = group_rows(loop[inside], nodes.call[inside])
    kinds = len(first)
    node_kind = np.full(len(nodes) + 1, -1, np.int64)
    node_kind[inside] = kind
    longest = np.zeros(kinds, np.int64)
    np.maximum.at(longest, kind, nodes.duration_ns[inside])
    by_kernel = node_kind[found.kernel_node]
    rows, best = device_rates(trace).rows, reachable(trace).products
    rate = np.array([best.get(name, np.inf) for name in RATE_TYPES] + [np.inf])[rows.type]
    least = np.maximum(
        np.maximum(rows.flops, 0) / rate, np.maximum(rows.bytes, 0) / printed_memory(trace)
    )
    one = np.maximum(sums(by_kernel, np.rint(1e9 * least).astype(np.int64), kinds), longest)
    duration = sums(loop, nodes.duration_ns, count)
    fused = np.minimum(sums(loop[inside][first], one, count), duration)
    unknown = sums(by_kernel, (rows.bytes == MISSING).astype(np.int64), kinds) > 0
    stays = np.bincount(loop[inside][first][unknown], minlength=count) > 0
    feeds = found.reads_size(inside, nodes.written_bytes[inside])
    recurrent = inside[(nodes.role[inside] == PRODUCT) & feeds]
    stays |= np.bincount(loop[recurrent], minlength=count) > 0
    return Loops(found, loop, duration, np.where(stays, duration, fused))


def _loops_of(trace: Trace, found: Graph, thread: I32, start_ns: I64, end_ns: I64) -> I64:
    """Return the range in which each node's operator begins on its thread, or -1."""
    nodes = found.nodes
    at = trace.ops.start_ns[nodes.op]
    loop = np.full(len(nodes), -1, np.int64)
    for one in np.unique(thread).tolist():
        own = np.flatnonzero(thread == one)
        own = own[np.argsort(start_ns[own], kind="stable")]
        rows = np.flatnonzero(nodes.thread == one)
        place = np.searchsorted(start_ns[own], at[rows], side="right") - 1
        fits = (place >= 0) & (at[rows] < end_ns[own][np.maximum(place, 0)])
        loop[rows[fits]] = own[place[fits]]
    return loop
