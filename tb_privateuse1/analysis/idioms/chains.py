"""Find chains of operators that one kernel could do, and its time as one pass over memory."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.idioms import norms
from tb_privateuse1.analysis.idioms.data_flow import Flow, Links, components, flow_of
from tb_privateuse1.analysis.idioms.fused_kernel_rates import (
    by_vectors,
    host_passes,
    moved_bytes,
    reachable,
)
from tb_privateuse1.analysis.idioms.idiom import ACTIVATIONS, Members
from tb_privateuse1.analysis.idioms.nodes import (
    COPY,
    ELEMENTWISE,
    Graph,
    graph,
    operators_named,
)
from tb_privateuse1.analysis.idioms.registry import IDIOMS, NAMES
from tb_privateuse1.analysis.operators.module_of import forward_operators
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.columns import latest_before, lookup
from tb_privateuse1.trace.groupby import LAST, maxima, minima, named_rows, sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import F64, I8, I64, Bools, Table

_NEAR = 6
"""Nodes between an activation and the product with it: the other product's kernels."""
_TOUCHED = 3.0
"""Times of a pass that a copy takes at most. Cold caches double it; pages took 10 to 200 times."""
_MANY = 3
"""Nodes of a chain whose sizes are unknown: two may be independent of each other."""


class ChainTable(Table, frozen=True):
    """Chains, by their first node.

    ``fused_ns`` is one pass over what the chain reads and writes from outside, at the rate that
    this recording reaches. It is at least what any operator takes beyond its own bytes: arithmetic
    and start-up stay. Without sizes it is the longest operator.
    """

    first: I64
    nodes: I64
    idiom: I8
    """Index into ``registry.NAMES``."""
    duration_ns: I64
    fused_ns: I64
    external_bytes: I64
    sized: Bools

    @property
    def saved_ns(self) -> I64:
        """Return the device time that one pass instead of the chain saves."""
        saved: I64 = np.maximum(self.duration_ns - self.fused_ns, 0)
        return saved


class Chains(Struct, frozen=True, eq=False):
    """The chains of a trace, and the chain of each node of the graph (-1: none)."""

    table: ChainTable
    chain: I64
    graph: Graph

    def of(self, *names: str) -> Bools:
        """Return a flag per chain: it is one of these idioms."""
        wanted = [NAMES.index(name) for name in names]
        found: Bools = np.isin(self.table.idiom, wanted)
        return found


@memoize
def chains_of(trace: Trace) -> Chains:
    """Return all chains of two or more operators."""
    found = graph(trace)
    flow = flow_of(found)
    gates = _gates(found, flow)
    links = _joined(flow.links, gates, _unsized(found, flow))
    label = components(len(found.nodes), links)
    chain, heads = _numbered(label)
    asked = Members(
        found, replace(flow, links=links), chain, len(heads), _of_products(trace, found)
    )
    part = norms.parts(asked)
    if (part != norms.INSIDE).any():
        label = _least_of_part(label, part)
        gates = gates.take(np.flatnonzero(label[gates.writer] == label[gates.reader]))
        flow = _cut(found, flow, label)
        chain, heads = _numbered(label)
    table = _priced(trace, found, flow, gates, chain, heads)
    return Chains(table, chain, found)


def _numbered(label: I64) -> tuple[I64, I64]:
    """Return the chain of each node, or -1, and the first node of each chain."""
    size = np.bincount(label, minlength=len(label))
    heads = np.flatnonzero(size > 1)
    place = np.full(len(label), -1, np.int64)
    place[heads] = np.arange(len(heads))
    return place[label], heads


def _least_of_part(label: I64, part: I64) -> I64:
    """Return for each node the least one with the same label and part."""
    _, first, group = np.unique(np.stack((label, part)), True, True, axis=1)
    least: I64 = first[group.ravel()]
    return least


def _cut(found: Graph, flow: Flow, label: I64) -> Flow:
    """Return the flow without links between labels: these tensors pass through memory."""
    links = flow.links
    crossing = np.flatnonzero(label[links.writer] != label[links.reader])
    writer, reader = links.writer[crossing], links.reader[crossing]
    written = found.nodes.written_bytes
    writes = flow.external_written_bytes.copy()
    writes[writer] = np.maximum(written[writer], 0)
    # One pass reads a tensor once, however many of its nodes need it.
    _, once = np.unique(np.stack((writer, label[reader])), return_index=True, axis=1)
    reads = flow.external_read_bytes.copy()
    np.add.at(reads, reader[once], np.maximum(written[writer[once]], 0))
    inside = np.flatnonzero(label[links.writer] == label[links.reader])
    return Flow(flow.segment, links.take(inside), reads, writes)


def _joined(*links: Links) -> Links:
    return Links(
        writer=np.concatenate([one.writer for one in links]),
        reader=np.concatenate([one.reader for one in links]),
    )


def _unsized(found: Graph, flow: Flow) -> Links:
    """Return links of neighbors whose sizes are unknown."""
    segment, known = flow.segment, found.nodes.known
    same = (segment[1:] == segment[:-1]) & (segment[1:] >= 0)
    at = np.flatnonzero(same & ~known[1:] & ~known[:-1])
    return Links(writer=at, reader=at + 1)


def _gates(found: Graph, flow: Flow) -> Links:
    """Return links of activations to products with them behind other nodes.

    The activation can wait: the nodes between do not read a tensor of its size.
    """
    nodes, reads = found.nodes, found.reads
    outside = flow.external_written_bytes > 0
    acts = np.flatnonzero(found.named(*ACTIVATIONS) & outside & (flow.segment >= 0))
    sized = nodes.written_bytes[reads.node] == reads.bytes
    takes = sums(np.where(sized, reads.node, -1), np.ones(len(reads), np.int64), len(nodes))
    is_gate = found.named("mul") & (nodes.role == ELEMENTWISE) & (takes == 2) & nodes.known
    is_gate &= flow.external_read_bytes >= 2 * nodes.written_bytes
    gates = np.flatnonzero(is_gate)
    if not len(acts) or not len(gates):
        return Links.empty()
    at = latest_before(acts, gates)
    act = acts[np.maximum(at, 0)]
    fits = (at >= 0) & (gates - act <= _NEAR) & (nodes.thread[act] == nodes.thread[gates])
    fits &= nodes.written_bytes[act] == nodes.written_bytes[gates]
    act, gates = act[fits], gates[fits]
    between = _reads_between(found, act, gates)
    return Links(writer=act[~between], reader=gates[~between])


def _reads_between(found: Graph, first: I64, last: I64) -> Bools:
    """Return for each pair of nodes whether one between reads a tensor of the first one's size."""
    result = np.zeros(len(first), np.bool_)
    for offset in range(1, _NEAR):
        inside = np.flatnonzero(first + offset < last)
        size = found.nodes.written_bytes[first[inside]]
        result[inside] |= found.reads_size(first[inside] + offset, size)
    return result


def _time_of(size: I64, rate: float | None) -> I64:
    """Return the time in ns of bytes at a rate per second; negative ones are unknown."""
    return np.rint(np.maximum(size, 0) / (rate or np.inf) * 1e9).astype(np.int64)


def _priced(
    trace: Trace, found: Graph, flow: Flow, gates: Links, chain: I64, heads: I64
) -> ChainTable:
    nodes, count = found.nodes, len(heads)
    duration = sums(chain, nodes.duration_ns, count)
    known = sums(chain, (~nodes.known).astype(np.int64), count) == 0
    outside = sums(chain, flow.external_read_bytes + flow.external_written_bytes, count)
    # What a gate reads from its activation passes neither way.
    outside -= 2 * sums(chain[gates.writer], nodes.written_bytes[gates.writer], count)
    number = sums(chain, np.ones(len(nodes), np.int64), count)
    rate = reachable(trace).memory
    sized = known & (rate is not None)
    one_pass = _time_of(outside, rate)
    longest = maxima(chain, nodes.duration_ns, count)
    own = moved_bytes(found)
    rest = np.maximum(nodes.duration_ns - _time_of(own, rate), nodes.shortest_ns // 2)
    beyond = maxima(chain, rest, count)
    fused = np.where(sized, np.maximum(one_pass, beyond), longest)
    fused = np.where(sized | (number >= _MANY), np.minimum(fused, duration), duration)
    links = _joined(flow.links, gates)
    members = Members(found, replace(flow, links=links), chain, count, _of_products(trace, found))
    idiom = np.full(count, len(IDIOMS) - 1, np.int8)
    for code in reversed(range(len(IDIOMS))):
        idiom[IDIOMS[code].recognizes(members)] = code
    return ChainTable(
        first=heads,
        nodes=number,
        idiom=idiom,
        duration_ns=duration,
        fused_ns=fused,
        external_bytes=outside,
        sized=sized,
    )


def _of_products(trace: Trace, found: Graph) -> Bools:
    """Return which nodes compute the gradient of a product, or of no linked operator."""
    forward = lookup(forward_operators(trace), found.nodes.op, NONE)
    return (forward < 0) | operators_named(trace, "mul")[forward]


_OWN = "aten::"
"""How torch names its own operators; those of a program or of a library have another namespace."""


def of_single_calls(trace: Trace, found: Chains) -> Bools:
    """Return by chain whether all of it is one call of an operator that is built of others.

    In the backward pass, it is the call whose gradient is computed.
    """
    op = found.graph.nodes.op
    forward = lookup(forward_operators(trace), op, NONE)
    call = _outermost_call(trace, np.where(forward >= 0, forward, op).astype(np.int64))
    count, chains = len(trace.ops), len(found.table)
    ahead = call[(forward < 0) & (call >= 0)]
    is_built = np.bincount(ahead, minlength=count + 1) > 1
    first = minima(found.chain, call, chains, initial=LAST)
    one: Bools = (first == maxima(found.chain, call, chains, initial=NONE)) & (first >= 0)
    return one & is_built[np.minimum(first, count)]


def _outermost_call(trace: Trace, rows: I64) -> I64:
    """Return the outermost of torch's own operators around each row or itself, or ``NONE``."""
    ops = trace.ops
    own = named_rows(trace.strings, ops.name, lambda name: name.startswith(_OWN))
    own &= ops.kind == OPERATOR
    found = call_tree.around(ops.parent, rows, own)
    further = found
    while (further >= 0).any():
        outer = lookup(ops.parent, further, NONE)
        further = call_tree.around(ops.parent, outer, own)
        found = np.where(further >= 0, further, found)
    return found


def compiled_on_host(trace: Trace, found: Chains) -> I64:
    """Return the time of each chain as compiled code of a host.

    It is one pass over what the chain reads and writes from outside, and all of the arithmetic that
    takes longer than memory: exponentials, reductions. A processor does not do these at once.
    Without sizes, the chain's longest operator with little arithmetic is the pass.
    """
    nodes, table = found.graph.nodes, found.table
    cheap, count = by_vectors(trace), len(found.table)
    written = maxima(found.chain, nodes.written_bytes, count)
    longest = maxima(np.where(cheap, found.chain, -1), nodes.duration_ns, count)
    own_pass = np.append(longest, 0)[found.chain]
    one_pass = longest
    passes = host_passes(trace)
    if passes is not None:
        # What a busy machine makes of passes hides no arithmetic.
        moved = passes.time_ns(nodes.written_bytes, moved_bytes(found.graph), passes.fast)
        own_pass = np.where(nodes.known, moved, own_pass)
        outside = passes.time_ns(written, table.external_bytes, passes.usual)
        one_pass = np.where(table.sized, outside, longest)
    # A copy or a fill that takes far longer touches new memory, which compiled code does as well.
    hidden = np.where(nodes.role == COPY, _TOUCHED * own_pass, nodes.duration_ns)
    beyond = np.maximum(nodes.duration_ns - np.where(cheap, hidden, own_pass), 0)
    beyond = np.rint(beyond * _times_compiled(found)).astype(np.int64)
    taken: I64 = np.minimum(one_pass + sums(found.chain, beyond, count), table.duration_ns)
    return taken


def _times_compiled(found: Chains) -> F64:
    """Return by node how often compiled code computes each element of its result.

    Where a later result is larger, its loop computes a smaller one anew for each of its elements.
    Only reductions have loops of their own.
    """
    nodes = found.graph.nodes
    order = np.lexsort((-np.arange(len(nodes)), found.chain))
    written = np.maximum(nodes.written_bytes[order], 1)
    later = np.empty(len(nodes), np.int64)
    later[order] = intervals.running_max(written, found.chain[order])
    again = (nodes.role == ELEMENTWISE) & nodes.known & (found.chain >= 0)
    times: F64 = np.where(again, later / np.maximum(nodes.written_bytes, 1), 1.0)
    return times
