"""Unfused attention: a product, a softmax of its result, and a product with that.

Scaling, masks, casts and dropout may be between. A fused kernel (T. Dao: "FlashAttention-2", 2023)
keeps the scores on the chip: it reads query, key and value, and writes the result. The backward
pass has the same form around the gradient of the softmax.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.fused_kernel_rates import reachable
from tb_privateuse1.analysis.idioms.nodes import (
    CAST,
    COPY,
    ELEMENTWISE,
    PRODUCT,
    SOFTMAX,
    Graph,
    graph,
)
from tb_privateuse1.analysis.operators.groups import name_categories
from tb_privateuse1.analysis.operators.kinds_of_work import KINDS
from tb_privateuse1.analysis.roofs.rate_types import RATE_TYPES
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.groupby import group_rows, maxima, sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I64, Bools, Table

_NEAR = 12
"""Nodes to look at on each side of a softmax: masks and copies may be between."""
_OF_PRODUCTS = 0.5
"""The share of the best rate of products that fused attention reaches (FlashAttention-2: 50 to
73 % of an A100, 35 to 40 % of an H100)."""
_RECOMPUTED = 1.25
"""The backward kernel computes the scores again: five products instead of four."""


class Attentions(Table, frozen=True):
    """Calls of unfused attention, by their softmax.

    ``fused_ns`` is a fused kernel's time: the longer one of its bytes and its products. Without
    sizes or rates it is that of the products here.
    """

    softmax: I64
    first: I64
    last: I64
    """The nodes of the two products."""
    duration_ns: I64
    fused_ns: I64
    backward: Bools

    @property
    def saved_ns(self) -> I64:
        """Return the device time that a fused kernel saves."""
        saved: I64 = np.maximum(self.duration_ns - self.fused_ns, 0)
        return saved


class AttentionChains(Struct, frozen=True, eq=False):
    """Unfused attention, and the row of ``table`` of each node of the graph (-1: none)."""

    table: Attentions
    chain: I64
    graph: Graph


@memoize
def attention_chains(trace: Trace) -> AttentionChains:
    """Return the calls of unfused attention."""
    found = graph(trace)
    center = np.flatnonzero(found.nodes.role == SOFTMAX)
    backward = np.array(["backward" in word for word in found.words] or [False], np.bool_)
    first, inside_first = _product_before(found, center)
    last, inside_last = _product_after(found, center)
    whole = (first >= 0) & (last >= 0)
    whole[whole] = _adds_up_chances(trace, found, center[whole], last[whole])
    center, first, last = center[whole], first[whole], last[whole]
    chain = np.full(len(found.nodes), -1, np.int64)
    number = np.cumsum(whole) - 1
    for owner, node in (inside_first, inside_last):
        taken = whole[owner]
        chain[node[taken]] = number[owner[taken]]
    chain[center] = chain[first] = chain[last] = np.arange(len(center))
    is_backward = backward[found.nodes.word[center]]
    _add_products(found, chain, center, first, last, is_backward)
    _add_copies(trace, found, chain)
    table = _priced(trace, found, chain, center, first, last, is_backward)
    return AttentionChains(table, chain, found)


Inside = tuple[I64, I64]
"""Indices of softmax nodes, and nodes on the way to their products."""


def _product_before(found: Graph, center: I64) -> tuple[I64, Inside]:
    """Return the product whose result each softmax reads, or -1, and the nodes on the way."""
    nodes, largest = found.nodes, _largest_read(found)
    unsized = _unsized(found)
    size = largest[center]
    product = np.full(len(center), -1, np.int64)
    owners, between = [], []
    for offset in range(1, _NEAR + 1):
        node = np.maximum(center - offset, 0)
        near = (center >= offset) & (nodes.thread[node] == nodes.thread[center]) & (product < 0)
        fits = near & ((nodes.written_bytes[node] == size) | unsized[node])
        role = nodes.role[node]
        product = np.where(fits & (role == PRODUCT), node, product)
        on_way = fits & np.isin(role, (ELEMENTWISE, CAST)) & (product < 0)
        size = np.where(on_way & nodes.known[node], largest[node], size)
        owners.append(np.flatnonzero(on_way))
        between.append(node[on_way])
    return product, (_concatenated(owners), _concatenated(between))


def _product_after(found: Graph, center: I64) -> tuple[I64, Inside]:
    """Return the product that reads each softmax's result, or -1, and the nodes on the way."""
    nodes = found.nodes
    unsized = _unsized(found)
    size = nodes.written_bytes[center]
    product = np.full(len(center), -1, np.int64)
    owners, between = [], []
    for offset in range(1, _NEAR + 1):
        node = np.minimum(center + offset, len(nodes) - 1)
        near = (center + offset < len(nodes)) & (nodes.thread[node] == nodes.thread[center])
        near &= product < 0
        fits = near & (found.reads_size(node, size) | unsized[node])
        role = nodes.role[node]
        product = np.where(fits & (role == PRODUCT), node, product)
        on_way = fits & np.isin(role, (ELEMENTWISE, CAST)) & (product < 0)
        size = np.where(on_way & nodes.known[node], nodes.written_bytes[node], size)
        owners.append(np.flatnonzero(on_way))
        between.append(node[on_way])
    return product, (_concatenated(owners), _concatenated(between))


def _adds_up_chances(trace: Trace, found: Graph, center: I64, last: I64) -> Bools:
    """Return which products behind a softmax add up over what it normalized, or may.

    One over the rows, as sums of a mixture's parts are, is no attention; nor is its backward pass,
    whose softmax has the shape of its chances.
    """
    call = found.nodes.call
    first, kind = group_rows(call[center], call[last])
    ops = found.nodes.op
    calls = [read_call(trace, row) for row in ops[center[first]].tolist()]
    products = [read_call(trace, row) for row in ops[last[first]].tolist()]
    kept = [_contracts(a, b) for a, b in zip(calls, products, strict=True)]
    shapes = [(one.optional(0) if one else None) for one in calls]
    ahead = ["backward" not in found.words[word] for word in found.nodes.word[center[first]]]
    by_use = {
        use: {x.shape for x, a, b in zip(shapes, ahead, kept, strict=True) if x and a and b == use}
        for use in (True, False)
    }
    others = by_use[False] - by_use[True]
    kept = [
        one and (is_ahead or x is None or x.shape not in others)
        for one, is_ahead, x in zip(kept, ahead, shapes, strict=True)
    ]
    return np.array(kept, np.bool_)[kind] if len(kind) else np.zeros(0, np.bool_)


def _contracts(softmax: Arguments | None, product: Arguments | None) -> bool:
    """Return whether a product may add up over a softmax's dimension, by the shapes.

    What has the size of the chances may be the bias that a product adds.
    """
    try:
        if softmax is None or product is None or "backward" in softmax.name:
            return True
        chances = softmax.tensor(0)
        size = chances.shape[softmax.integer(1)]
        tensors = list(product.tensors())
        matrices = [one for one in tensors if len(one.shape) > 1][-2:]
    except (UnknownWork, IndexError):
        return True
    sides = [
        one.shape[axis]
        for one, axis in zip(matrices, (-1, -2), strict=False)
        if one.numel == chances.numel
    ]
    if not sides:
        return all(len(one.shape) > 1 or one.numel != chances.numel for one in tensors)
    return size in sides


def _unsized(found: Graph) -> Bools:
    """Return nodes whose sizes are unknown; of products, those of batches only.

    Without sizes, a router of experts looks the same: a product of matrices, and a softmax.
    """
    unsized: Bools = ~found.nodes.known
    unsized &= (found.nodes.role != PRODUCT) | found.named("bmm", "baddbmm", "matmul")
    return unsized


def _concatenated(parts: list[I64]) -> I64:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _largest_read(found: Graph) -> I64:
    return maxima(found.reads.node, found.reads.bytes, len(found.nodes), int(MISSING))


def _add_products(
    found: Graph, chain: I64, center: I64, first: I64, last: I64, backward: Bools
) -> None:
    """Add the backward pass's other products of the scores, or of their gradient."""
    nodes = found.nodes
    size = nodes.written_bytes[center]
    for near in (first + 1, first - 1, last + 1):
        node = np.clip(near, 0, len(nodes) - 1)
        fits = backward & (nodes.role[node] == PRODUCT) & (chain[node] < 0)
        fits &= found.reads_size(node, size) & nodes.known[node]
        chain[node[fits]] = np.flatnonzero(fits)


def _add_copies(trace: Trace, found: Graph, chain: I64) -> None:
    """Add copies inside of an operator around one of the products: fused kernels take strides."""
    ops = trace.ops
    is_product = name_categories(trace)[ops.name] == KINDS.index("gemm")
    around = call_tree.around(ops.parent, ops.parent[found.nodes.op], is_product)
    owner = np.full(len(ops) + 1, -1, np.int64)
    inside = (chain >= 0) & (around != NONE) & (found.nodes.role == PRODUCT)
    owner[around[inside]] = chain[inside]
    copies = (found.nodes.role == COPY) & (chain < 0) & (around != NONE)
    chain[copies] = owner[around[copies]]


def _priced(
    trace: Trace,
    found: Graph,
    chain: I64,
    center: I64,
    first: I64,
    last: I64,
    backward: Bools,
) -> Attentions:
    nodes, count = found.nodes, len(center)
    duration = sums(chain, nodes.duration_ns, count)
    is_product = nodes.role == PRODUCT
    products = np.where(is_product, chain, -1)
    as_now = sums(products, nodes.duration_ns, count)
    flops, rate = _arithmetic(trace, found, products, count)
    memory = reachable(trace).memory
    known = sums(chain, (~nodes.known).astype(np.int64), count) == 0
    known &= (rate > 0) & (flops > 0) & (memory is not None)
    # Each product reads or writes the scores, which stay on the chip; the rest is external.
    passes = sums(products[found.reads.node], found.reads.bytes, count)
    passes += sums(products, np.where(nodes.known, nodes.written_bytes, 0), count)
    scores = np.where(nodes.known[first], nodes.written_bytes[first], 0)
    outside = passes - scores * sums(products, np.ones(len(nodes), np.int64), count)
    moved = np.maximum(outside, 0) / (memory or 1.0) * 1e9
    again = np.where(backward, _RECOMPUTED, 1.0)
    computed = again * flops / np.where(rate > 0, _OF_PRODUCTS * rate, 1.0) * 1e9
    fused = np.rint(np.maximum(moved, computed)).astype(np.int64)
    # With few keys for each query, the products read other tensors most of their time, as before.
    few = outside > passes / 2
    kept = np.where(few, duration * (outside / np.maximum(passes, 1)), 0)
    fused = np.maximum(fused, np.rint(kept).astype(np.int64))
    return Attentions(
        softmax=center,
        first=first,
        last=last,
        duration_ns=duration,
        fused_ns=np.minimum(np.where(known, fused, as_now), duration),
        backward=backward,
    )


def _arithmetic(trace: Trace, found: Graph, products: I64, count: int) -> tuple[I64, np.ndarray]:
    """Return by chain the FLOPs of its products, and the best rate of products of their type."""
    rows, best = device_rates(trace).rows, reachable(trace).products
    node = found.kernel_node
    chain = np.where(node >= 0, products[np.maximum(node, 0)] if len(products) else -1, -1)
    flops = sums(chain, np.where(rows.flops == MISSING, 0, rows.flops), count)
    rates = np.array([best.get(name, 0.0) for name in RATE_TYPES] + [0.0])
    known = rows.flops != MISSING
    return flops, maxima(chain[known], rates[rows.type[known]], count)
