"""Find equal small matrix products one after the other, where one batched product does."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.fused_kernel_rates import printed_memory, reachable
from tb_privateuse1.analysis.idioms.nodes import MOST_READS, PRODUCT, Graph, graph, operators_named
from tb_privateuse1.analysis.roofs.rate_types import RATE_TYPES
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.trace.columns import following, lookup, starts_run, sums_before
from tb_privateuse1.trace.groupby import maxima, sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I32, I64, Bools

_PLACES = ("select", "slice", "narrow")
MANY = 8
"""Products in a row. Query, key and value are three, and gates of a recurrent cell four."""


class Series(Struct, frozen=True, eq=False):
    """Runs of equal products, and the run of each node of the graph (-1: none).

    ``fused_ns`` is the time of a batched product: of its bytes, its FLOPs at the best rate here, or
    of the longest product of the run, whichever is greatest.
    """

    graph: Graph
    run: I64
    duration_ns: I64
    fused_ns: I64


def _places_before(trace: Trace, op: I32, begins: Bools) -> I64:
    """Return how many places of tensors were selected before each node, since the one before.

    For the first node of a run it is the number before the second one.
    """
    selects = operators_named(trace, *_PLACES)
    until = sums_before(selects)[op]
    since = np.diff(until, prepend=0)
    return np.where(begins, following(since, 0), since)


def _add_joins(found: Graph, run: I64) -> None:
    """Add the concatenation of a run's results directly behind it: a batched product writes it."""
    last = np.flatnonzero((run[:-1] >= 0) & (run[1:] != run[:-1]))
    join = last[found.named("cat", "stack")[last + 1]] + 1
    number = np.bincount(run[run >= 0], minlength=1)
    inputs = np.bincount(found.reads.node, minlength=len(run))
    results = found.reads_size(join, found.nodes.written_bytes[join - 1])
    results &= inputs[join] == np.minimum(number[run[join - 1]], MOST_READS)
    # torch records no shapes of long lists.
    whole = join[results | (inputs[join] == 0)]
    run[whole] = run[whole - 1]


@memoize
def product_series(trace: Trace) -> Series:
    """Return runs of equal products of a thread without other device work between them."""
    found = graph(trace)
    nodes = found.nodes
    begins = starts_run(nodes.call, nodes.thread, nodes.step)
    run = np.cumsum(begins) - 1
    # A product that has the size of its operand may be the operand of the next one, unless both
    # operands are places of larger tensors.
    feeds = found.reads_size(np.arange(len(nodes)), nodes.written_bytes)
    usable = (nodes.role == PRODUCT) & nodes.known & ~nodes.in_optimizer
    usable &= ~feeds | (_places_before(trace, nodes.op, begins) >= 2)
    length, fit = np.bincount(run), np.bincount(run[usable], minlength=int(run.max(initial=-1)) + 1)
    kept = ((length >= MANY) & (fit == length))[run] if len(run) else usable
    number = np.cumsum(begins & kept) - 1
    run = np.where(kept, number, -1)
    count = int(run.max(initial=-1)) + 1
    longest = maxima(run, nodes.duration_ns, count)
    _add_joins(found, run)
    return Series(
        graph=found,
        run=run,
        duration_ns=sums(run, nodes.duration_ns, count),
        fused_ns=np.maximum(least_ns(trace, found, run, count), longest),
    )


def least_ns(trace: Trace, found: Graph, run: I64, count: int) -> I64:
    """Return the time of each run's work at the rates that the device reaches, in ns.

    ``run`` is the run of each node, -1 for none.
    """
    node = found.kernel_node
    of_kernel = np.where(node >= 0, lookup(run, node, -1), -1)
    rows, best = device_rates(trace).rows, reachable(trace).products
    rate = np.array([best.get(name, np.inf) for name in RATE_TYPES] + [np.inf])[rows.type]
    least = np.maximum(
        np.maximum(rows.flops, 0) / rate, np.maximum(rows.bytes, 0) / printed_memory(trace)
    )
    return sums(of_kernel, np.rint(1e9 * least).astype(np.int64), count)
