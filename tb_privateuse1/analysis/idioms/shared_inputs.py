"""Find matrix products with one input in common: query, key and value, or gate and up.

Profilers record no identity of tensors. Products share their input if its shape and type are the
same, and no other work than the activation of the first result is between them. Two products whose
results are summed have inputs of their own: a recurrent cell's input and its state, which may decay
before. So have the two products of a layer's gradients, which have equal shapes where the batch is
as large as the layer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.batchable_products import Series, least_ns
from tb_privateuse1.analysis.idioms.nodes import ELEMENTWISE, PRODUCT, Graph, graph
from tb_privateuse1.analysis.idioms.slow_products import PLAIN, TILE
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.analysis.work.calls import known_call
from tb_privateuse1.trace.call_tree import around, starts_with
from tb_privateuse1.trace.columns import previous
from tb_privateuse1.trace.groupby import group_rows, maxima, sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I32, I64, Bools

_BACKWARD = "autograd::engine::evaluate_function"
_MOST = 4
"""Products of a group: more are a series (``batchable_products``)."""
_SCALES = 2
"""Operators between two products and their sum: the copy of a factor, and the scaling by it."""


@memoize
def shared_inputs(trace: Trace) -> Series:
    """Return groups of two to four products that read the same input, one after another."""
    found = graph(trace)
    nodes, numbers = found.nodes, np.arange(len(found.nodes))
    operands = _operands(trace, found)
    shares, gates = _pairs(trace, found, operands)
    run = np.cumsum(~previous(shares, False)) - 1
    length = np.bincount(run, minlength=1)
    group = np.where(((length >= 2) & (length <= _MOST))[run], run, -1)
    first = numbers[gates]
    group[first] = group[first + 2] = len(nodes) + first
    group[np.isin(group, group[_summed(found, group)])] = -1
    inside = group >= 0
    starts, own = group_rows(group[inside])
    group[inside] = own
    duration = sums(group, nodes.duration_ns, len(starts))
    longest = maxima(group, nodes.duration_ns, len(starts))
    least = np.maximum(least_ns(trace, found, group, len(starts)), longest)
    left = np.rint(duration * _left(trace, operands.tiles, group, len(starts))).astype(np.int64)
    return Series(
        graph=found,
        run=group,
        duration_ns=duration,
        fused_ns=np.minimum(np.maximum(least, left), duration),
    )


def _left(trace: Trace, tiles: I64, group: I64, count: int) -> F64:
    """Return the share of each group's time that one product needs; 1 with unknown units.

    All units of the device work on tiles of the result at once, in waves: the last one leaves units
    without work. One product has fewer such waves.
    """
    device = trace.meta.devices[0] if trace.meta.devices else {}
    units: Any = device.get("numSms")
    if not isinstance(units, int) or units <= 0:
        return np.ones(count)
    apart = sums(group, -(-tiles // units), count)
    together = -(-sums(group, tiles, count) // units)
    share: F64 = together / np.maximum(apart, 1)
    return share


class _Operands(Struct, frozen=True, eq=False):
    """By node, numbers of the shape and type of a product's operands; -1 for other nodes.

    ``tiles`` is the number of tiles of the result, ``left_bytes`` the size of the first operand.
    """

    left: I64
    right: I64
    left_bytes: I64
    tiles: I64


def _pairs(trace: Trace, found: Graph, operands: _Operands) -> tuple[Bools, Bools]:
    """Return two flags per node.

    It shares its input with the next node; it is a product whose activation comes next, and behind
    that an equal product.
    """
    nodes, left = found.nodes, operands.left
    plain = (left >= 0) & nodes.known & ~nodes.in_optimizer & ~_in_backward(trace, nodes.op)
    keeps_size = nodes.written_bytes == operands.left_bytes
    near = (nodes.thread[1:] == nodes.thread[:-1]) & (nodes.step[1:] == nodes.step[:-1])
    next_too = near & plain[1:] & plain[:-1] & (left[1:] == left[:-1])
    # A result of the input's size may be the next input, but no layer has three products in a row.
    in_three = np.zeros(len(next_too), np.bool_)
    in_three[1:] |= next_too[1:] & next_too[:-1]
    in_three[:-1] |= next_too[1:] & next_too[:-1]
    shares, gates = np.zeros(len(nodes), np.bool_), np.zeros(len(nodes), np.bool_)
    shares[:-1] = next_too & (~keeps_size[:-1] | in_three)
    first = np.arange(max(len(nodes) - 2, 0))
    gates[first] = near[first] & near[first + 1] & plain[first] & plain[first + 2]
    gates[first] &= (nodes.role[first + 1] == ELEMENTWISE) & ~keeps_size[first]
    gates[first] &= left[first] == left[first + 2]
    gates[first] &= operands.right[first] == operands.right[first + 2]
    gates[first] &= found.whole_reads()[first + 1] == 1  # a sum of two tensors is no activation
    gates[first] &= found.reads_size(first + 1, nodes.written_bytes[first])
    return shares, gates


def _summed(found: Graph, group: I64) -> I64:
    """Return the last nodes of groups whose results are added behind them.

    One of the two may be scaled before, as a state that decays; what reads neither changes nothing.
    """
    nodes = found.nodes
    reads = found.whole_reads()
    scales = (nodes.role == ELEMENTWISE) & (reads == 1)
    last = np.flatnonzero((group[:-1] >= 0) & (group[1:] != group[:-1]))
    size, following = nodes.written_bytes[last], last + 1
    for _ in range(_SCALES):
        passes = scales[following] & (nodes.written_bytes[following] == size)
        passes |= ~found.reads_size(following, size) & (nodes.role[following] != PRODUCT)
        following = np.minimum(following + passes, len(nodes) - 1)
    takes = reads[following]
    equal = group[np.maximum(last - 1, 0)] == group[last]
    equal &= nodes.written_bytes[last] == nodes.written_bytes[np.maximum(last - 1, 0)]
    adds = found.named("add")[following] & (takes >= 2)
    adds &= nodes.written_bytes[following] == nodes.written_bytes[last]
    adds &= nodes.thread[following] == nodes.thread[last]
    summed: I64 = last[adds & equal]
    return summed


def _in_backward(trace: Trace, rows: I32) -> Bools:
    """Return which of some rows of ``trace.ops`` lie in a backward pass."""
    begins = starts_with(trace, _BACKWARD)[trace.ops.name]
    parent = trace.ops.parent
    inside: Bools = around(parent, parent[rows], begins) >= 0
    return inside


def _operands(trace: Trace, found: Graph) -> _Operands:
    """Return the operands of products with weights, by distinct call."""
    nodes = found.nodes
    plain = found.named(*PLAIN) & (nodes.role == PRODUCT)
    rows = np.flatnonzero(plain)
    first, call = group_rows(nodes.call[rows])
    numbers: dict[tuple[tuple[int, ...], str], int] = {}
    columns = np.full((4, len(first)), -1, np.int64)
    for i, node in enumerate(rows[first].tolist()):
        try:
            tensors = known_call(trace, int(nodes.op[node])).tensors()
            matrices = [tensor for tensor in tensors if len(tensor.shape) > 1][:2]
            if len(matrices) == 2:
                keys = [(one.shape, one.dtype) for one in matrices]
                columns[:2, i] = [numbers.setdefault(key, len(numbers)) for key in keys]
                columns[2, i] = matrices[0].bytes
                columns[3, i] = _tiles(matrices[0].shape, matrices[1].shape)
        except UnknownWork:
            columns[:, i] = -1
    result = np.full((4, len(nodes)), -1, np.int64)
    result[:, rows] = columns[:, call]
    return _Operands(*result)


def _tiles(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    """Return the number of tiles of a product's result; a linear layer has its weight turned."""
    columns = right[-1] if right[-2] == left[-1] else right[-2]
    return -(-math.prod(left[:-1]) // TILE) * -(-columns // TILE)
