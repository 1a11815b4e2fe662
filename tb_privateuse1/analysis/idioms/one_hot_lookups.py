"""Find embedding lookups by products with one-hot matrices, where a gather would do."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.fused_kernel_rates import reachable
from tb_privateuse1.analysis.idioms.nodes import CAST, COPY, PRODUCT, Graph, graph
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import ends_run, starts_run
from tb_privateuse1.trace.groupby import maxima, named_rows, sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

_NEAR = 4
"""Nodes from the one-hot matrix to its product: casts, and one that works on the table."""
_NO_SOURCE = 2
"""Tensors that a scatter of a constant reads: the zeros and the places."""


class Lookups(Struct, frozen=True, eq=False):
    """The lookup of each node of the graph (-1: none), and by lookup its time and a gather's."""

    graph: Graph
    lookup: I64
    duration_ns: I64
    fused_ns: I64


@memoize
def one_hot_lookups(trace: Trace) -> Lookups:
    """Return products that read a one-hot matrix, with what builds and converts the matrix.

    A gather reads and writes each row once.
    """
    found = graph(trace)
    nodes = found.nodes
    last, size, first = _matrices(trace, found)
    member = np.full((_NEAR, len(last)), -1, np.int64)
    product = np.full(len(last), -1, np.int64)
    other = np.zeros(len(last), np.bool_)
    for k in range(_NEAR):
        at = last + 1 + k
        usable = (at < len(nodes)) & (product < 0) & ~other
        at = np.minimum(at, len(nodes) - 1)
        usable &= (nodes.thread[at] == nodes.thread[last]) & (nodes.step[at] == nodes.step[last])
        usable &= found.reads_size(at, size)
        converts = usable & np.isin(nodes.role[at], (CAST, COPY))
        multiplies = usable & (nodes.role[at] == PRODUCT)
        other |= usable & ~converts & ~multiplies  # who reads it first is not a product
        member[k] = np.where(converts | multiplies, at, -1)
        size = np.where(converts, nodes.written_bytes[at], size)
        product = np.where(multiplies, at, product)
    is_lookup = np.flatnonzero((product >= 0) & nodes.known[product])
    pairs = zip(nodes.op[last[is_lookup]], nodes.op[product[is_lookup]], strict=True)
    reads = [_reads_rows(trace, int(one), int(other)) for one, other in pairs]
    is_lookup = is_lookup[np.array(reads, np.bool_)]
    lookup = np.full(len(nodes), -1, np.int64)
    for offset in range(int((last - first).max(initial=-1)) + 1):
        rows = is_lookup[(first + offset <= last)[is_lookup]]
        lookup[first[rows] + offset] = np.searchsorted(is_lookup, rows)
    for k in range(_NEAR):
        rows = is_lookup[member[k, is_lookup] >= 0]
        lookup[member[k, rows]] = np.searchsorted(is_lookup, rows)
    duration = sums(lookup, nodes.duration_ns, len(is_lookup))
    rate = reachable(trace).memory
    rows_bytes = nodes.written_bytes[product[is_lookup]]
    gather = np.rint(2 * rows_bytes / rate * 1e9).astype(np.int64) if rate else duration
    return Lookups(found, lookup, duration, np.minimum(gather, duration))


def _matrices(trace: Trace, found: Graph) -> tuple[I64, I64, I64]:
    """Return for each one-hot matrix its last node, its size in bytes, and its first node."""
    nodes = found.nodes
    inside = _inside_one_hot(trace)[nodes.op]
    call = np.where(inside >= 0, inside, -1)
    ends = np.flatnonzero((call >= 0) & ends_run(call))
    begins = np.flatnonzero((call >= 0) & starts_run(call))
    # Zeros with a constant scattered into them, outside of that operator.
    tensors = np.bincount(found.reads.node, minlength=len(nodes))
    scatters = np.flatnonzero(found.named("scatter") & (call < 0) & (tensors == _NO_SOURCE))
    scatters = scatters[scatters > 0]
    before = scatters - 1
    filled = found.named("zero", "fill", "zeros")[before]
    filled &= found.reads_size(scatters, nodes.written_bytes[before])
    scatters = scatters[filled]
    # All words compared with all numbers: the result is larger than either.
    most = maxima(found.reads.node, found.reads.bytes, len(nodes))
    compares = np.flatnonzero(
        found.named("eq") & (call < 0) & nodes.known & (nodes.written_bytes > most)
    )
    last = np.concatenate((ends, scatters, compares))
    first = np.concatenate((begins, scatters - 1, compares))
    size = np.concatenate((most[ends], most[scatters], nodes.written_bytes[compares]))
    order = np.argsort(last, kind="stable")
    return last[order], size[order], first[order]


def _reads_rows(trace: Trace, maker: int, product: int) -> bool:
    """Return whether a product may read the matrix, by the length of its rows.

    The weight of a layer has as many numbers where a batch has as many rows as a layer has inputs.
    """
    made, call = read_call(trace, maker), read_call(trace, product)
    if made is None or call is None:
        return True
    width = max((one.shape[-1] for one in made.tensors() if one.shape), default=0)
    longest = max((one.numel for one in made.tensors()), default=0)
    for one in call.tensors():
        if len(one.shape) < 2 or one.numel < longest:
            continue
        is_transposed = one.strides is not None and one.strides[-1] != 1
        if width == one.shape[-2 if is_transposed else -1] or one.strides is None:
            return True
    return False


def _inside_one_hot(trace: Trace) -> I64:
    """Return for each operator the ``one_hot`` around it, or -1."""
    ops = trace.ops
    wanted = named_rows(trace.strings, ops.name, "aten::one_hot".__eq__)
    if not wanted.any():
        return np.full(len(ops), -1, np.int64)
    return intervals.nearest(ops.parent, wanted).astype(np.int64)
