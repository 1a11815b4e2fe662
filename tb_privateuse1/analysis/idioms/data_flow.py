"""Infer which operator reads what another one wrote, by tensor sizes: chains to fuse.

Within a segment of fusible nodes of a thread, a read takes the most recent result of its size that
nobody has read yet, or else the most recent one. What no node of the segment has written comes from
outside. So a chain's external tensors are at least those that a fused kernel must read and write.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.nodes import COPY, ELEMENTWISE, FUSIBLE, TOTAL, Graph
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import following, mask_of, previous, starts_run
from tb_privateuse1.trace.groupby import group_rows, minima, sums
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import I64, Bools, Table

_ROUNDS = 4
"""Rounds of a loop: query, key and value are three."""


class Links(Table, frozen=True):
    """Reads of results of the same segment: the writing node and the reading one."""

    writer: I64
    reader: I64


class Flow(Struct, frozen=True, eq=False):
    """How tensors pass between the nodes of each segment.

    ``segment`` is each node's, -1 for nodes that are not fusible. Bytes are per node: of what it
    reads from outside, and of its result if it is needed outside.
    """

    segment: I64
    links: Links
    external_read_bytes: I64
    external_written_bytes: I64


def segments(graph: Graph) -> I64:
    """Return the segment of each node, or -1.

    Two equal calls in a row work on two tensors: profilers do not say otherwise. So do two copies
    in a row, and the repeats of a segment's first two calls, such as those of query and key. But a
    single such pair, whose second call can read the first one's result, is followed by what works
    on one tensor: the factors of a formula, not query and key.
    """
    nodes = graph.nodes
    fusible = np.isin(nodes.role, FUSIBLE) & ~nodes.in_optimizer
    begins = starts_run(nodes.thread, nodes.step) | ~previous(fusible, False)
    begins |= previous(nodes.role == TOTAL, False)
    begins |= ~starts_run(nodes.call) & ~_in_formula(graph, fusible, begins)
    begins |= ~starts_run(nodes.role) & (nodes.role == COPY)
    begins &= fusible
    if not begins.any():
        return np.full(len(nodes), -1, np.int64)
    begins |= _repeats(nodes.call, fusible, begins)
    begins |= _rounds(nodes.call, fusible, begins)
    return np.where(fusible, np.cumsum(begins) - 1, -1)


def _in_formula(graph: Graph, fusible: Bools, begins: Bools) -> Bools:
    """Return where the second one of two equal calls is part of one formula with the first."""
    nodes = graph.nodes
    pair = ~starts_run(nodes.call) & fusible & ~begins
    rows = np.flatnonzero(pair)
    feeds = np.zeros(len(nodes), np.bool_)
    feeds[rows] = graph.reads_size(rows, nodes.written_bytes[rows - 1])
    goes_on = following(fusible & ~begins, False)
    behind, before = following(pair, False), previous(pair, False)
    other = behind | following(behind, False) | before | previous(before, False)
    found: Bools = pair & feeds & goes_on & ~other
    return found


def _repeats(call: I64, fusible: Bools, begins: Bools) -> Bools:
    """Return where the first two calls of a segment, which differ, occur again in it."""
    segment = np.cumsum(begins) - 1
    heads = np.flatnonzero(begins)
    head = heads[np.maximum(segment, 0)]
    second = following(call, -1)
    continues = following(fusible & ~begins, False)
    same = (call == call[head]) & (second == second[head]) & continues & continues[head]
    repeats: Bools = same & (second != call) & fusible & (segment >= 0)
    return repeats


def _rounds(call: I64, fusible: Bools, begins: Bools) -> Bools:
    """Return where the first two calls of a segment that come ``_ROUNDS`` times occur again in it.

    Each round of a loop is a pass of its own. It may read other places of what the round before
    wrote, as shortest paths do: views take them, and are no nodes.
    """
    segment = np.where(fusible, np.cumsum(begins) - 1, NONE)
    pairs = np.flatnonzero(following(fusible & ~begins, False) & (segment >= 0))
    first, pair = group_rows(segment[pairs], call[pairs], call[pairs + 1])
    often = np.flatnonzero(np.bincount(pair, minlength=len(first)) >= _ROUNDS)
    earliest = minima(segment[pairs[first[often]]], pairs[first[often]], len(call), len(call))
    is_earliest = np.isin(first, first[often]) & (pairs[first] == earliest[segment[pairs[first]]])
    found = mask_of(pairs[is_earliest[pair]], len(call))
    found[pairs[first[is_earliest]]] = False
    return found


def flow_of(graph: Graph) -> Flow:
    """Return how tensors pass between nodes of the same segment."""
    return flow_within(graph, segments(graph))


def flow_within(graph: Graph, segment: I64) -> Flow:
    """Return the same for given segments, one number per node or -1; O(n log n)."""
    nodes, reads = graph.nodes, graph.reads
    is_read = (segment[reads.node] >= 0) & (reads.bytes > 0)
    writers = np.flatnonzero((segment >= 0) & (nodes.written_bytes > 0))
    node = np.concatenate((reads.node[is_read], writers))
    size = np.concatenate((reads.bytes[is_read], nodes.written_bytes[writers]))
    writes = np.arange(len(node)) >= int(is_read.sum())
    order = np.lexsort((2 * node + writes, size, segment[node]))
    node, size, writes = node[order], size[order], writes[order]
    source = _sources(node, size, writes, segment[node])
    internal = source >= 0
    consumed = mask_of(node[source[internal]], len(nodes))
    outside = ~writes & ~internal
    read_bytes = sums(np.where(outside, node, -1), size, len(nodes))
    written = np.where(nodes.written_bytes == MISSING, 0, nodes.written_bytes)
    # The sum with a tensor from outside is a residual's: later layers read it, too.
    residual = np.zeros(len(nodes), np.bool_)
    same_size = outside & (size == written[node])
    residual[node[same_size]] = True
    residual &= graph.named("add", "sub") & (nodes.role == ELEMENTWISE)
    keeps = ~consumed | residual
    return Flow(
        segment=segment,
        links=Links(writer=node[source[internal]], reader=node[internal]),
        external_read_bytes=read_bytes,
        external_written_bytes=np.where((segment >= 0) & keeps, written, 0),
    )


def _sources(node: I64, size: I64, writes: Bools, segment: I64) -> I64:
    """Return by event the event that wrote what it reads, or -1.

    Results wait on a stack for each size and segment: a write pushes, a read takes the top.
    """
    source = np.full(len(node), -1, np.int64)
    if not len(node):
        return source
    new = starts_run(size, segment)
    part = np.cumsum(new) - 1
    height = np.cumsum(np.where(writes, 1, -1))
    height -= (height - np.where(writes, 1, -1))[np.flatnonzero(new)][part]
    lowest = np.minimum(0, -intervals.running_max(-height, part))
    after = height - lowest
    before = np.where(new, 0, previous(after, 0))
    takes = ~writes & (before > 0)
    level = np.where(writes, after, before)
    paired = np.flatnonzero(writes | takes)
    paired = paired[np.lexsort((paired, level[paired], part[paired]))]
    at = np.flatnonzero(takes[paired])
    source[paired[at]] = paired[at - 1]
    # Nothing waits: the first read of a node is one more of the latest result, others are not.
    index = np.arange(len(node))
    latest = np.maximum.accumulate(np.where(writes, index, -1))
    latest = np.where(latest >= np.flatnonzero(new)[part], latest, -1)
    first = starts_run(node) | previous(writes, True) | new
    again = ~writes & (before == 0) & first & (latest >= 0)
    source[again] = latest[again]
    return source


def components(count: int, links: Links) -> I64:
    """Return the least node that each node is connected with, itself included."""
    label = np.arange(count)
    while True:
        least = np.minimum(label[links.writer], label[links.reader])
        joined = label.copy()
        np.minimum.at(joined, label[links.writer], least)
        np.minimum.at(joined, label[links.reader], least)
        joined = joined[joined]
        if (joined == label).all():
            return label
        label = joined
