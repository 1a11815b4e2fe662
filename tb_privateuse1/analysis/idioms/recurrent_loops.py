"""Find loops over a sequence whose rounds need each other, and what one fused operator would leave.

A fused recurrence still does the products with its state one after the other. What all rounds have
in common it does once: products with the items of the sequence, which are known ahead, and the
gradients of the weights, which are sums over the rounds. The rest is one pass in each round.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.batched_cost import modules_around
from tb_privateuse1.analysis.idioms.dependent_rounds import COPIES, called_copies
from tb_privateuse1.analysis.idioms.independent_rounds import (
    IndependentRounds,
    independent_rounds,
    place_bytes,
)
from tb_privateuse1.analysis.idioms.nodes import PRODUCT, Graph, graph, operators_named
from tb_privateuse1.analysis.idioms.slow_products import Slow
from tb_privateuse1.analysis.work.arguments import item_bytes
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.columns import ends_run, lookup, mask_of, starts_run
from tb_privateuse1.trace.groupby import containing_by, group_rows, maxima, minima, sums
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools, MaybeOpRow, Table, ThreadRow

ROUNDS = 8
"""Rounds of a loop, as ``idioms.parameter_loops`` has them: layers of a model are fewer."""


_CHOICES = ("argmax", "max", "topk", "multinomial", "sort", "bernoulli")
_LOOKUPS = ("embedding", "index_select", "index", "gather", "one_hot")


class Recurrences(Table, frozen=True):
    """The forward and the backward range of each loop, on its thread, by thread and start.

    ``place`` is the operator that takes the first item; a backward range has that of its loop.
    """

    thread: ThreadRow
    start_ns: I64
    end_ns: I64
    rounds: I64
    item_bytes: I64
    backward: Bools
    place: MaybeOpRow


class RecurrentLoops(Struct, frozen=True, eq=False):
    """The ranges, and the shares of activities that a fused operator would not take."""

    ranges: Recurrences
    slow: Slow


def recurrent_loops(trace: Trace, top: I64) -> RecurrentLoops:
    """Return the loops over sequences whose rounds need each other; those with a cache are left.

    ``top`` are the operators that no other one called, by thread and start. A round that copies
    into a place of a tensor keeps its results there: that is a cache, which is right as it is. An
    item has several numbers.
    """
    found = graph(trace)
    rounds = independent_rounds(trace, top)
    rounds = rounds.take(np.flatnonzero(~rounds.independent & (rounds.rounds >= ROUNDS)))
    ahead = forward(trace, rounds)
    of = _of_nodes(trace, found, ahead)
    caches = np.zeros(len(ahead) + 1, np.bool_)
    caches[of[called_copies(trace, found, top, operators_named(trace, *COPIES)) & (of >= 0)]] = True
    carries = _carry(trace, found, top, ahead, of) & ~_have_own_weights(trace, found, ahead, of)
    carries &= ~_choose(trace, ahead)
    ahead = ahead.take(np.flatnonzero(carries & ~caches[:-1] & (ahead.item_bytes > 0)))
    ranges = ordered(with_backward(trace, ahead))
    return RecurrentLoops(ranges, _left(trace, found, ranges))


def forward(trace: Trace, rounds: IndependentRounds) -> Recurrences:
    """Return loops as ranges by thread and start, without those inside of others."""
    sizes = [_item_bytes(trace, row) for row in rounds.place.tolist()]
    return ordered(
        Recurrences(
            thread=rounds.thread,
            start_ns=rounds.start_ns,
            end_ns=rounds.end_ns,
            rounds=rounds.rounds,
            item_bytes=np.array(sizes, np.int64),
            backward=np.zeros(len(rounds), np.bool_),
            place=rounds.place.astype(np.int32),
        )
    )


def _carry(trace: Trace, found: Graph, top: I64, ranges: Recurrences, of: I64) -> Bools:
    """Return which loops have a product that needs what was written a round before.

    Without one no product needs a round before: what rounds carry on is a sum, or the best so far.
    A product may read it through other operators of its own round, such as a concatenation.
    """
    nodes = found.nodes
    reader, writer = _last_writers(trace, found, of)
    part = _round_of(trace, found, top, ranges, of)
    needs = np.zeros(len(nodes), np.bool_)
    needs[reader[part[writer] < part[reader]]] = True
    same = part[writer] == part[reader]
    reader, writer = reader[same], writer[same]
    while (new := reader[needs[writer] & ~needs[reader]]).size:
        needs[new] = True
    return mask_of(of[needs & (nodes.role == PRODUCT)], len(ranges))


def _choose(trace: Trace, ranges: Recurrences) -> Bools:
    """Return in which loops rounds choose something and look rows up: words of an answer.

    Such an item may be known by the round before only, so that no operator takes all of them.
    """
    ops = trace.ops
    both = np.ones(len(ranges), np.bool_)
    for words in (_CHOICES, _LOOKUPS):
        rows = np.flatnonzero(operators_named(trace, *words))
        at = containing_by(
            ranges.thread, ranges.start_ns, ranges.end_ns, ops.thread[rows], ops.start_ns[rows]
        )
        count = np.bincount(at[at >= 0], minlength=len(ranges))
        both &= count >= ranges.rounds - 1
    return both


def _last_writers(trace: Trace, found: Graph, of: I64) -> tuple[I64, I64]:
    """Return pairs of a node in a loop that reads a tensor, and the last one to write its size."""
    nodes, reads = found.nodes, found.reads
    weights = ends_run(reads.node) & ~starts_run(reads.node)
    weights &= (nodes.role[reads.node] == PRODUCT) & _multiply_weights(trace, found)[reads.node]
    read = np.flatnonzero((of[reads.node] >= 0) & ~weights)
    reader = reads.node[read]
    written = np.flatnonzero((of >= 0) & (nodes.written_bytes > 0))
    size = np.concatenate((nodes.written_bytes[written], reads.bytes[read]))
    _, tensor = group_rows(np.concatenate((of[written], of[reader])), size)
    key = tensor * len(nodes) + np.concatenate((written, reader))
    order = np.argsort(key[: len(written)], kind="stable")
    at = np.searchsorted(key[: len(written)][order], key[len(written) :]) - 1
    last = lookup(order, at, NONE)
    known = lookup(tensor[: len(written)], last, NONE) == tensor[len(written) :]
    return reader[known], written[last[known]]


def _multiply_weights(trace: Trace, found: Graph) -> Bools:
    """Return which nodes have a last operand that is a weight, by their calls: it is transposed.

    A layer's weight may have as many bytes as a result. Without strides any is taken for one.
    """
    first, call = group_rows(found.nodes.call)
    is_weight = np.zeros(len(first), np.bool_)
    for number in np.flatnonzero(found.nodes.role[first] == PRODUCT).tolist():
        known = read_call(trace, int(found.nodes.op[first[number]]))
        matrices = [one for one in known.tensors() if len(one.shape) > 1] if known else []
        strides = matrices[-1].strides if matrices else None
        is_weight[number] = strides is None or strides[-1] != 1
    return is_weight[call]


def _round_of(trace: Trace, found: Graph, top: I64, ranges: Recurrences, of: I64) -> I64:
    """Return a number of each node in a loop that rises from round to round.

    A round begins where it takes its item. Items of a tensor that is split ahead of the loop are
    taken by no operator: there, each round has as many products.
    """
    ops, nodes = trace.ops, found.nodes
    _, kind = group_rows(ops.name[top], ops.shapes[top])
    whole = np.full(len(ops), NONE, np.int64)
    whole[top] = kind
    takes = top[mask_of(whole[ranges.place], len(top))[kind]]
    loop = containing_by(
        ranges.thread, ranges.start_ns, ranges.end_ns, ops.thread[takes], ops.start_ns[takes]
    )
    takes = takes[(loop >= 0) & (whole[takes] == whole[ranges.place[np.maximum(loop, 0)]])]
    inside = np.flatnonzero(of >= 0)
    part = np.zeros(len(nodes), np.int64)
    for thread in np.unique(ops.thread[takes]).tolist():
        at = np.sort(ops.start_ns[takes[ops.thread[takes] == thread]])
        own = inside[nodes.thread[inside] == thread]
        part[own] = np.searchsorted(at, ops.start_ns[nodes.op[own]], side="right")
    is_taken = np.bincount(loop[loop >= 0], minlength=len(ranges)) >= ranges.rounds
    products = nodes.role[inside] == PRODUCT
    rank = np.cumsum(products)
    each = sums(of[inside], products.astype(np.int64), len(ranges)) / ranges.rounds
    first = np.append(rank, 0)[np.searchsorted(of[inside], np.arange(len(ranges)))]
    by_product = ~is_taken[of[inside]]
    place = rank - first[of[inside]]
    part[inside[by_product]] = (place / np.maximum(each, 1)[of[inside]])[by_product]
    return part


def _have_own_weights(trace: Trace, found: Graph, ranges: Recurrences, of: I64) -> Bools:
    """Return in which loops each round has a module of its own for a product: experts, or layers.

    A cell has one set of weights for all items. Without frames nothing is known.
    """
    products = np.flatnonzero((of >= 0) & (found.nodes.role == PRODUCT))
    module, _ = modules_around(trace, found.nodes.op[products])
    products, module = products[module >= 0], module[module >= 0]
    loop, call = of[products], found.nodes.call[products]
    own, _ = group_rows(loop, call, module)
    first, kind = group_rows(loop[own], call[own])
    count = np.bincount(kind, minlength=len(first))
    several = loop[own][first[count >= ranges.rounds[loop[own][first]]]]
    return mask_of(several, len(ranges))


def _item_bytes(trace: Trace, row: int) -> int:
    """Return the bytes of an item; 0 if they are unknown, and of a single number.

    That is one of a schedule, which a network does not read as an item of a sequence.
    """
    call = read_call(trace, row)
    item, _ = place_bytes(call)
    if call is None or not item:
        return 0
    return item if item > item_bytes(call.tensor(0).dtype) else 0


def ordered(ranges: Recurrences) -> Recurrences:
    """Return the ranges by thread and start, without those inside of others."""
    ranges = ranges.take(np.lexsort((-ranges.end_ns, ranges.start_ns, ranges.thread)))
    inside = intervals.nest_ordered(ranges.thread, ranges.start_ns, ranges.end_ns)
    return ranges.take(np.flatnonzero(inside < 0))


def range_of(trace: Trace, ranges: Recurrences, thread: I32, op: I32 | I64) -> I64:
    """Return the range that each of these operators begins in, or -1."""
    start = trace.ops.start_ns[op]
    at: I64 = containing_by(ranges.thread, ranges.start_ns, ranges.end_ns, thread, start)
    return at


def _of_nodes(trace: Trace, found: Graph, ranges: Recurrences) -> I64:
    return range_of(trace, ranges, found.nodes.thread, found.nodes.op)


def with_backward(trace: Trace, ahead: Recurrences) -> Recurrences:
    """Return the loops with the ranges in which their gradients are computed."""
    ops, linked = trace.ops, call_tree.linked_forward(trace)
    rows = np.flatnonzero(linked >= 0)
    forward = linked[rows]
    at = containing_by(
        ahead.thread, ahead.start_ns, ahead.end_ns, ops.thread[forward], ops.start_ns[forward]
    )
    rows, at = rows[at >= 0], at[at >= 0]
    count = len(ahead)
    loops = np.flatnonzero(np.bincount(at, minlength=count))
    thread = np.zeros(count, np.int32)
    thread[at] = ops.thread[rows]
    behind = Recurrences(
        thread=thread[loops],
        start_ns=minima(at, ops.start_ns[rows], count)[loops],
        end_ns=maxima(at, ops.end_ns[rows], count)[loops],
        rounds=ahead.rounds[loops],
        item_bytes=ahead.item_bytes[loops],
        backward=np.ones(len(loops), np.bool_),
        place=ahead.place[loops],
    )
    return joined(ahead, behind)


def joined(some: Recurrences, others: Recurrences) -> Recurrences:
    """Return the ranges of both."""
    columns = zip(some.columns(), others.columns(), strict=True)
    return Recurrences(**{name: np.concatenate((a, b)) for (name, a), (_, b) in columns})


def _left(trace: Trace, found: Graph, ranges: Recurrences) -> Slow:
    """Return the share of each activity that goes: none of the products with the state."""
    nodes, of = found.nodes, _of_nodes(trace, found, ranges)
    share = np.zeros(len(nodes))
    inside, is_product = of >= 0, nodes.role == PRODUCT
    # Of the other work one pass remains in each round.
    others = np.flatnonzero(inside & ~is_product)
    each = sums(of[others], np.ones(len(others), np.int64), len(ranges)) / ranges.rounds
    share[others] = 1 - 1 / np.maximum(each, 1)[of[others]]
    products = np.flatnonzero(inside & is_product)
    weight = maxima(found.reads.node, found.reads.bytes, len(nodes))
    own = products[~ranges.backward[of[products]]]
    weights = set(weight[own].tolist())
    common = np.zeros(len(nodes), np.bool_)
    common[own] = _of_items(found, ranges, of, own)
    behind = products[ranges.backward[of[products]]]
    common[behind] = np.isin(nodes.written_bytes[behind], list(weights))
    rows = np.flatnonzero(common)
    moved = sums(found.reads.node, found.reads.bytes, len(nodes)) + nodes.written_bytes
    once = np.where(ranges.backward[of[rows]], nodes.written_bytes[rows], weight[rows])
    share[rows] = once / np.maximum(moved[rows], 1)
    kernels = np.flatnonzero(lookup(share, found.kernel_node, 0.0) > 0)
    return Slow(kernels, share[found.kernel_node[kernels]])


def _of_items(found: Graph, ranges: Recurrences, of: I64, products: I64) -> Bools:
    """Return which products of forward ranges read an item, not the state.

    Of several products of a round that read a tensor of its size, the first one does.
    """
    reads = found.reads_size(products, ranges.item_bytes[of[products]])
    count = sums(of[products[reads]], np.ones(int(reads.sum()), np.int64), len(ranges))
    each = np.maximum(np.rint(count / np.maximum(ranges.rounds, 1)).astype(np.int64), 1)
    place = np.full(len(products), NONE, np.int64)
    some = np.flatnonzero(reads)
    first = np.searchsorted(of[products[some]], np.arange(len(ranges)))
    place[some] = np.arange(len(some)) - first[of[products[some]]]
    several = each[of[products]] > 1
    chosen: Bools = (place >= 0) & several & (place % each[of[products]] == 0)
    return chosen
