"""Compute the time of one batched operator in place of a loop's calls, and what that saves."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.accumulations import ACCUMULATE
from tb_privateuse1.analysis.idioms.fused_kernel_rates import printed_memory, reachable, start_up_ns
from tb_privateuse1.analysis.idioms.nodes import OTHER, PRODUCT, Graph, graph
from tb_privateuse1.analysis.roofs.rate_types import RATE_TYPES
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.analysis.work.arguments import Tensor
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import ends_run, following, lookup, starts_run
from tb_privateuse1.trace.groupby import containing_by, group_rows, maxima, sums
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools, Table, ThreadRow

TILE = 64
"""Rows that matrix units multiply at a time: fewer take as long."""


class Ranges(Table, frozen=True):
    """Ranges of loops on threads, in which no two of a thread overlap.

    ``independent`` says that rounds are known not to need each other.
    """

    thread: ThreadRow
    start_ns: I64
    end_ns: I64
    independent: Bools


class Loops(Struct, frozen=True, eq=False):
    """The kind of call of each node of the graph (-1: none), and by kind its time and the least.

    A kind has all equal calls of a loop. ``fused_ns`` is the time of one operator for all of them:
    of their bytes, their FLOPs at the best rate here, or of the longest call, whichever is
    greatest, but no more than they take now beyond the start-up of all but one.
    """

    graph: Graph
    kind: I64
    duration_ns: I64
    fused_ns: I64


def batched(
    trace: Trace,
    ranges: Ranges,
    *,
    is_host: bool,
    shared_bytes: I64 | None = None,
    place: I64 | None = None,
) -> Loops:
    """Return what the nodes in some ranges would take as one operator for each kind of call.

    Tensors of ``shared_bytes`` are the same in all rounds: parameters and their gradients.

    Work of unknown size stays. On a host, so does what is neither a pass over memory nor a product;
    without recorded inputs it may be that of a call alone, which one operator has once. Where
    rounds are not known to be independent, and a product may need the result of the round before,
    the loop stays as it is. ``place``: by row of ``trace.ops``, what tells the calls of one round
    apart; by default the modules that call them.
    """
    found = graph(trace)
    nodes = found.nodes
    loop = _loops_of(trace, found, ranges)
    inside = np.flatnonzero(loop >= 0)
    module, call = modules_around(trace, nodes.op[inside])
    at = module if place is None else place[nodes.op[inside]]
    first, kind = group_rows(loop[inside], nodes.call[inside], at)
    kinds = len(first)
    node_kind = np.full(len(nodes), -1, np.int64)
    node_kind[inside] = kind
    count = np.bincount(kind, minlength=kinds)
    duration = sums(node_kind, nodes.duration_ns, kinds)
    shared, rows = _weights(trace, found, inside[first], kind, call)
    alone = ~ranges.independent[loop[inside][first]]
    shared[alone], rows[alone] = 0, TILE
    if shared_bytes is not None:
        # Whether more rows are multiplied as fast as fewer, no call of such a loop tells.
        shared, rows = _parameters(found, inside[first], shared_bytes), np.full(kinds, TILE)
    fuller = np.clip(TILE // rows, 1, count)
    together = _together_ns(trace, found, node_kind, inside, kind, (count - 1) * shared, fuller)
    sized = np.bincount(found.reads.node, minlength=len(nodes))[inside[first]] > 0
    calls = np.where(sized | (not is_host), 1, count)
    remains = (together == MISSING) | (is_host & (nodes.role[inside[first]] == OTHER))
    together = np.where(remains, duration // calls, together)
    one_start = duration - (count - 1) * np.minimum(start_up_ns(trace), duration // count)
    if is_host:
        # Its cores are as full with one call of some work. Products of few rows gain by more.
        pace = pace_ns(trace)
        alike = (fuller > 1) | (together <= count * pace)
        left = duration - (count - 1) * np.minimum(pace, duration / count)
        together = np.maximum(together, np.where(alike, 0, np.rint(left).astype(np.int64)))
    fused = np.minimum(together, one_start)
    feeds = found.reads_size(inside, nodes.written_bytes[inside])
    recurrent = inside[(nodes.role[inside] == PRODUCT) & feeds]
    stays = np.bincount(loop[recurrent], minlength=len(ranges)) > 0
    stays &= ~ranges.independent
    return Loops(found, node_kind, duration, np.where(stays[loop[inside][first]], duration, fused))


def _together_ns(
    trace: Trace, found: Graph, node_kind: I64, inside: I64, kind: I64, less_bytes: I64, fuller: I64
) -> I64:
    """Return the time of one operator by kind, at the rates of this recording.

    It moves ``less_bytes`` fewer bytes than all calls, and computes ``fuller`` times as fast. It is
    ``MISSING`` if bytes are unknown, other than those of rows of a table.
    """
    kinds = len(less_bytes)
    by_kernel = lookup(node_kind, found.kernel_node, NONE)
    rows, best = device_rates(trace).rows, reachable(trace).products
    rate = np.array([best.get(name, np.inf) for name in RATE_TYPES] + [np.inf])[rows.type]
    computed = np.rint(1e9 * np.maximum(rows.flops, 0) / rate).astype(np.int64)
    looked_up = _lookup_bytes(trace, found, inside, kind, kinds)
    moved = sums(by_kernel, np.maximum(rows.bytes, 0), kinds) - less_bytes
    moved = np.where(looked_up != MISSING, looked_up, moved)
    passing = np.rint(1e9 * moved / printed_memory(trace)).astype(np.int64)
    longest = maxima(kind, found.nodes.duration_ns[inside], kinds)
    unknown = sums(by_kernel, (rows.bytes == MISSING).astype(np.int64), kinds) > 0
    unknown &= looked_up == MISSING
    least: I64 = np.maximum(
        np.maximum(passing, sums(by_kernel, computed, kinds) // fuller), longest
    )
    return np.where(unknown, MISSING, least)


def _lookup_bytes(trace: Trace, found: Graph, inside: I64, kind: I64, kinds: int) -> I64:
    """Return by kind the most bytes that one lookup of all rows moves; ``MISSING`` of other work.

    It reads the whole table at most once, and each chosen row once more. Profilers do not record
    the indices. The result is what the next operator reads, if that is a number of whole rows.
    """
    nodes, most = found.nodes, np.full(kinds, MISSING, np.int64)
    read = maxima(found.reads.node, found.reads.bytes, len(nodes))
    result = np.where(ends_run(nodes.thread), 0, following(read, 0))
    lookups = found.named("index")[inside] & ~nodes.known[inside]
    for number in np.unique(kind[lookups]).tolist():
        members = inside[kind == number]
        call = read_call(trace, int(nodes.op[members[0]]))
        table = None if call is None else call.optional(0)
        if table is None or not table.dtype or not table.numel:
            continue
        whole, chosen = table.bytes, result[members]
        if (chosen > 0).all() and not (chosen % (whole // table.shape[0])).any():
            most[number] = whole + 2 * int(chosen.sum())
    return most


def modules_around(trace: Trace, op: I32) -> tuple[I32, I32]:
    """Return the name and the frame of the innermost call of a module of operators, or ``NONE``."""
    frames = trace.frames
    around = call_tree.self_or_nearest(frames.parent, call_tree.is_module(trace))
    call = lookup(around, lookup(trace.ops.frame, op, NONE), NONE)
    return lookup(frames.name, call, NONE), call


def _weights(trace: Trace, found: Graph, first: I64, kind: I64, call: I32) -> tuple[I64, I64]:
    """Return the bytes of the weights that all products of a kind share, and the rows of each.

    A module that is called for each product has one set of weights; ``call`` is that of each node.
    Other kinds have 0 bytes and a full tile of rows.
    """
    own, _ = group_rows(kind, call)
    calls = np.bincount(kind[own], minlength=len(first))
    is_one = calls == np.bincount(kind, minlength=len(first))
    is_one &= found.nodes.role[first] == PRODUCT
    is_one[kind[call < 0]] = False
    weights, rows = np.zeros(len(first), np.int64), np.full(len(first), TILE, np.int64)
    for number in np.flatnonzero(is_one).tolist():
        matrices = _matrices(trace, int(found.nodes.op[first[number]]))
        if len(matrices) == 2:
            weights[number] = matrices[1].bytes
            rows[number] = max(matrices[0].shape[0], 1)
    return weights, rows


def _parameters(found: Graph, first: I64, shared_bytes: I64) -> I64:
    """Return the bytes of parameters or their gradients that nodes move."""
    nodes, reads = found.nodes, found.reads
    read = np.where(np.isin(reads.bytes, shared_bytes), reads.bytes, 0)
    shared: I64 = sums(reads.node, read, len(nodes))
    shared += np.where(np.isin(nodes.written_bytes, shared_bytes), nodes.written_bytes, 0)
    return shared[first]


def _matrices(trace: Trace, op: int) -> list[Tensor]:
    """Return the matrices that a product reads; none if they are unknown."""
    call = read_call(trace, op)
    return [one for one in call.tensors() if len(one.shape) == 2 and one.dtype] if call else []


def _loops_of(trace: Trace, found: Graph, ranges: Ranges) -> I64:
    """Return the range in which each node's operator begins on its thread, or -1."""
    at = trace.ops.start_ns[found.nodes.op]
    return containing_by(ranges.thread, ranges.start_ns, ranges.end_ns, found.nodes.thread, at)


def pace_ns(trace: Trace) -> float:
    """Return the time that a call takes at most if it works on next to nothing.

    A quarter of a program's operators are views, and sums and products of a few numbers.
    """
    ops = trace.ops
    outer = groupby.outermost_operators(ops)
    taken = (ops.end_ns - ops.start_ns)[outer]
    return float(np.quantile(taken, 0.25)) if len(taken) else 0.0


def _take_accumulations(trace: Trace, top: I64, of: I64) -> None:
    """Add to each loop, in place, the accumulations between gradients of the loop."""
    ops = trace.ops
    adds = groupby.named_rows(trace.strings, ops.name[top], lambda name: ACCUMULATE in name)
    others, rows = np.flatnonzero(~adds), np.flatnonzero(adds)
    place = np.searchsorted(others, rows)
    between = (place > 0) & (place < len(others))
    rows, place = rows[between], place[between]
    before, after = others[place - 1], others[place]
    same = (of[before] == of[after]) & (ops.thread[top[before]] == ops.thread[top[after]])
    of[rows[same]] = of[before[same]]


def gradients_of(trace: Trace, top: I64, loops: Ranges) -> tuple[Ranges, I64]:
    """Return the ranges in which gradients of loops are computed, and the loop of each.

    ``top`` are the operators that no other one called, by thread and start. A range has those in a
    row whose forward operators are in one loop, and the accumulations between them: one tensor for
    all rounds has one gradient.
    """
    ops = trace.ops
    forward = call_tree.linked_forward(trace)[top]
    rows = np.flatnonzero(forward >= 0)
    of = np.full(len(top), NONE, np.int64)
    made_by = forward[rows]
    of[rows] = containing_by(
        loops.thread, loops.start_ns, loops.end_ns, ops.thread[made_by], ops.start_ns[made_by]
    )
    _take_accumulations(trace, top, of)
    columns = ops.thread[top], of
    first = np.flatnonzero(starts_run(*columns) & (of != NONE))
    last = np.flatnonzero(ends_run(*columns) & (of != NONE))
    ranges = Ranges(
        thread=ops.thread[top[first]],
        start_ns=ops.start_ns[top[first]],
        end_ns=ops.end_ns[top[last]],
        independent=loops.independent[of[first]],
    )
    return ranges, of[first]
