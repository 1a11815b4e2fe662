"""Idiom: unfused normalization: a root of a mean over each row, and a product with its inverse.

RMSNorm is ``x * rsqrt(mean(x ** 2) + eps) * w``, LayerNorm the same less the mean. Kernels that do
either in one pass are in torch (``rms_norm``, ``layer_norm``), vLLM and Liger.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.idioms.idiom import Idiom, Members
from tb_privateuse1.analysis.idioms.nodes import CAST, ROWS
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.groupby import maxima, minima
from tb_privateuse1.trace.table import I64, Bools

_SPREADS = ("var", "std", "var_mean", "std_mean", "norm", "linalg_vector_norm")
"""Reductions that square on their way."""
_SQUARES = ("pow", "square", "mul")
_ROOTS = ("sqrt", "std", "norm", "linalg_vector_norm", "add", "clamp_min", "clamp", "maximum")
"""What a quotient has below: a root, or a root with a small number."""


def recognizes(members: Members) -> Bools:
    """Return which chains reduce squares of rows and scale by the inverse of the root."""
    rows = members.number(members.graph.nodes.role == ROWS) > 0
    # A product with another tensor makes weighted sums.
    other = members.graph.named("mul") & (members.graph.whole_reads() < 2)
    squaring = _linked(members, _SQUARES, ("mean", "sum"))[0]
    squares = members.number(mask_of(squaring[~other[squaring]], len(other))) > 0
    # A reciprocal of a sum, as of weights that are to add up to one, is of no root.
    inverse = members.links(("reciprocal",), ("mul",)) + members.links(_ROOTS, ("div",)) > 0
    inverse &= members.has("sqrt", *_SPREADS)
    inverse |= members.links(("rsqrt",), ("mul",)) > 0
    found: Bools = rows & (squares | members.has(*_SPREADS)) & inverse
    return found


BEFORE, INSIDE, AFTER = range(3)
"""Parts of a chain: what computes the tensor to normalize, the normalization, what reads it."""

_AFFINE = 4
"""Nodes behind the scale: casts, the product with weights, the sum with a bias."""


def parts(members: Members) -> I64:
    """Return the part of each node of the chains that normalize; ``INSIDE`` in all others.

    A fused operator does the part inside. It begins with a residual's sum, a cast, a square or a
    reduction, and ends with the scale and what works on it with smaller tensors: weights, a bias.
    """
    chain, nodes = members.chain, members.graph.nodes
    found = np.full(len(nodes), INSIDE, np.int64)
    is_norm = lookup(recognizes(members), chain, False)
    rows = np.flatnonzero(is_norm)
    if not len(rows):
        return found
    scale = np.zeros(len(nodes), np.bool_)
    for writers, readers in ((("rsqrt", "reciprocal"), ("mul",)), (_ROOTS, ("div",))):
        scale[_linked(members, writers, readers)[1]] = True
    scaled = rows[scale[rows]]
    last = maxima(chain[scaled], scaled, members.count, -1)
    first = _begin(members, rows)
    ends = _affine(members, last)
    own = chain[rows]
    whole = (last[own] < 0) | (first[own] > last[own])
    found[rows] = np.where(rows < first[own], BEFORE, np.where(rows > ends[own], AFTER, INSIDE))
    found[rows[whole]] = INSIDE
    return found


def _linked(
    members: Members, writers: tuple[str, ...], readers: tuple[str, ...]
) -> tuple[I64, I64]:
    """Return the ends of the links from nodes with the first names to those with the second."""
    graph, links = members.graph, members.flow.links
    chosen = graph.named(*writers)[links.writer] & graph.named(*readers)[links.reader]
    return links.writer[chosen], links.reader[chosen]


def _begin(members: Members, rows: I64) -> I64:
    """Return the first node of the normalization by chain; ``rows`` are the nodes of norms."""
    nodes, links = members.graph.nodes, members.flow.links
    begins = nodes.role == ROWS
    begins[_linked(members, _SQUARES, ("mean", "sum"))[0]] = True
    cast = (nodes.role[links.writer] == CAST) & begins[links.reader]
    begins[links.writer[cast]] = True
    chosen = rows[begins[rows]]
    first = minima(members.chain[chosen], chosen, members.count, len(nodes))
    before = first - 1
    is_sum = members.graph.named("add") & (members.graph.whole_reads() > 1)
    joined = members.chain[before] == np.arange(members.count)
    joined &= lookup(is_sum, before, False)
    return np.where(joined, before, first)


def _affine(members: Members, last: I64) -> I64:
    """Return the last node of the normalization by chain, from that of the scale (-1: none)."""
    nodes, chain = members.graph.nodes, members.chain
    affine = members.graph.named("mul", "add") & (members.graph.whole_reads() == 1)
    affine |= nodes.role == CAST
    end = last.copy()
    for _ in range(_AFFINE):
        following = np.minimum(end + 1, len(nodes) - 1)
        goes_on = (end >= 0) & affine[following] & (chain[following] == np.arange(len(end)))
        end = np.where(goes_on, following, end)
    return end


IDIOM = Idiom("norm", recognizes)
