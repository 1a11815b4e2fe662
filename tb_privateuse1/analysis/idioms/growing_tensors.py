"""Find tensors that grow by concatenation: each time, all of the old one is copied again."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.idioms.nodes import graph
from tb_privateuse1.analysis.idioms.slow_products import Slow
from tb_privateuse1.trace.columns import starts_run, sums_before
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I64

_SIZES = 3
"""Different sizes that a tensor has had: two may be equal by accident."""


@memoize
def growing(trace: Trace) -> Slow:
    """Return the kernels of concatenations that copy an earlier one's result, and what goes.

    Such a concatenation has two inputs: the result of an earlier one of the thread, and what is
    new. Written into a place of the final size, only the new part moves.
    """
    found = graph(trace)
    nodes, reads = found.nodes, found.reads
    joins = np.flatnonzero(found.named("cat", "concat") & nodes.known)
    low = np.searchsorted(reads.node, joins)
    two = np.searchsorted(reads.node, joins, side="right") - low == 2
    joins, low = joins[two], low[two]
    old = np.maximum(reads.bytes[low], reads.bytes[low + 1])
    new = np.minimum(reads.bytes[low], reads.bytes[low + 1])
    # Results and reads of a size in order: a read behind a result takes it.
    node = np.concatenate((joins, joins))
    size = np.concatenate((nodes.written_bytes[joins], old))
    writes = np.arange(len(node)) < len(joins)
    order = np.lexsort((2 * node + writes, size, nodes.thread[node]))
    _, part = group_rows(nodes.thread[node], size)
    new_part = starts_run(part[order])
    begin = np.maximum.accumulate(np.where(new_part, np.arange(len(order)), 0))
    written = sums_before(writes[order])
    follows = np.zeros(len(node), np.bool_)
    follows[order] = written[:-1] - written[begin] > 0
    grown = follows[len(joins) :]
    joins, old, new = joins[grown], old[grown], new[grown]
    _, series = group_rows(nodes.thread[joins], new)
    first, _ = group_rows(series, old)
    many = np.bincount(series[first], minlength=int(series.max(initial=-1)) + 1) >= _SIZES
    share = np.zeros(len(nodes) + 1)
    part = (
        old / np.maximum(old + new, 1) * _usual_share(nodes.duration_ns[joins], nodes.call[joins])
    )
    share[joins] = np.where(many[series], part, 0.0)
    rows = np.flatnonzero(share[found.kernel_node] > 0)
    return Slow(rows, share[found.kernel_node[rows]])


def _usual_share(duration_ns: I64, call: I64) -> F64:
    """Return the share of each time that calls with its inputs usually take, at most 1.

    What a first call takes beyond it, to get memory, is no copying.
    """
    _, number = group_rows(call)
    order = np.lexsort((duration_ns, number))
    count = np.bincount(number)
    first = sums_before(count)[:-1]
    usual = duration_ns[order][first + (count - 1) // 2] if len(order) else duration_ns
    return np.minimum(usual[number] / np.maximum(duration_ns, 1), 1.0)
