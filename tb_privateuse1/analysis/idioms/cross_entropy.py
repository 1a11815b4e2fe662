"""Find unfused cross entropy: from the largest logit of each row to the mean, and its gradient.

Unfused, the backward pass has an operator or more for each of the forward pass. That of
``cross_entropy`` is one pass: the softmax less the target.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.chains import chains_of
from tb_privateuse1.analysis.idioms.fused_kernel_rates import reachable
from tb_privateuse1.analysis.idioms.nodes import FUSIBLE, Graph
from tb_privateuse1.analysis.operators.module_of import forward_operators
from tb_privateuse1.trace.columns import lookup, positions
from tb_privateuse1.trace.groupby import maxima, sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I64, Bools

_BEFORE = ("max", "amax")
_BEHIND = ("gather", "take_along_dim", "index")
_MOST = 8
"""Operators behind the logarithms: the target's score, its sign, its mean."""
_SMALLER = 8
"""What follows works on one score of each row: its tensors are smaller by this and more."""
_PASSES = 2
"""One read of the scores and one write, of the logarithms or of the gradient."""


class LossTails(Struct, frozen=True, eq=False):
    """The loss of each node of the graph (-1: none), and by loss its time and the least."""

    graph: Graph
    loss: I64
    duration_ns: I64
    fused_ns: I64


@memoize
def loss_tails(trace: Trace) -> LossTails:
    """Return unfused losses with their gradients; the forward and the backward pass each count."""
    chains = chains_of(trace)
    found, nodes = chains.graph, chains.graph.nodes
    rows = np.flatnonzero(chains.of("loss") & chains.table.sized)
    count = len(rows)
    loss = np.full(len(nodes), -1, np.int64)
    of_node = lookup(positions(rows, len(chains.table)), chains.chain, NONE)
    size = maxima(of_node, nodes.written_bytes, count)
    last = maxima(of_node, np.arange(len(nodes)), count)
    first = chains.table.first[rows]
    before = np.maximum(first - 1, 0)
    begins = found.named(*_BEFORE)[before] & (nodes.thread[before] == nodes.thread[first])
    begins &= found.reads_size(before, size)
    first = np.where(begins, before, first)
    last = _tail(found, last, size)
    for offset in range(int((last - first).max(initial=-1)) + 1):
        some = np.flatnonzero(first + offset <= last)
        loss[first[some] + offset] = some
    loss = np.where(_uses_scores(found, loss, size)[loss] & (loss >= 0), loss, -1)
    backward = _gradients(trace, found, loss)
    loss = np.where(backward >= 0, backward + count, loss)
    duration = sums(loss, nodes.duration_ns, 2 * count)
    rate = reachable(trace).memory
    one = np.rint(_PASSES * size / rate * 1e9).astype(np.int64) if rate else size * 0
    fused = np.tile(one, 2) if rate else duration
    return LossTails(found, loss, duration, np.minimum(fused, duration))


def _tail(found: Graph, last: I64, size: I64) -> I64:
    """Return the last node of each loss: behind it comes other work, or the gradient."""
    nodes = found.nodes
    picks = found.named(*_BEHIND)
    goes_on = np.ones(len(last), np.bool_)
    for _ in range(_MOST):
        at = np.minimum(last + 1, len(nodes) - 1)
        goes_on &= (at > last) & (nodes.thread[at] == nodes.thread[last])
        goes_on &= nodes.step[at] == nodes.step[last]
        small = np.isin(nodes.role[at], FUSIBLE) & (_SMALLER * nodes.written_bytes[at] <= size)
        goes_on &= picks[at] | (small & nodes.known[at])
        last = np.where(goes_on, at, last)
    return last


def _uses_scores(found: Graph, loss: I64, size: I64) -> Bools:
    """Return which losses make chances of their scores, or pick the targets' among them.

    Sums of exponentials may be wanted for themselves, as a partition function is.
    """
    nodes, own = found.nodes, np.maximum(loss, 0)
    inside = loss >= 0
    logs = inside & found.named("log", "logsumexp")
    last = maxima(np.where(logs, loss, -1), np.arange(len(nodes)), len(size))
    whole = inside & (_SMALLER * nodes.written_bytes > lookup(size, own, 0))
    behind = np.arange(len(nodes)) > lookup(last, own, NONE)
    uses = whole & (logs | (found.named("sub", "div") & behind))
    uses |= inside & found.named(*_BEHIND)
    return np.append(np.bincount(loss[uses], minlength=len(size)) > 0, False)


def _gradients(trace: Trace, found: Graph, loss: I64) -> I64:
    """Return for each node the loss whose gradient it computes, or -1."""
    ops, nodes = trace.ops, found.nodes
    of_op = np.full(len(ops) + 1, -1, np.int64)
    at, own = nodes.op[loss >= 0].astype(np.int64), loss[loss >= 0]
    inside_operator = lookup(ops.kind == OPERATOR, ops.parent, False)
    while len(at):
        of_op[at] = own
        up = ops.parent[at].astype(np.int64)
        climbs = inside_operator[at]
        at, own = up[climbs], own[climbs]
    return of_op[forward_operators(trace)[nodes.op]]
