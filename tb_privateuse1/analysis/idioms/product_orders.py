"""Find products of three matrices whose other order needs fewer operations.

(A B) C and A (B C) are equal but for rounding. With 1,024 queries and keys of 64 numbers, the first
one makes a matrix of 1,024 x 1,024 on its way, the second one of 64 x 64.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known, followed_calls
from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import starts_run
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I64

MOST_LEFT = 1 / 2
"""The greatest share of the operations that another order may need."""
_PRODUCTS = ("matmul", "mm", "bmm", "linear", "mv", "outer")


class ProductOrders(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` of two products each, and the share of their work that goes."""

    rows: I64
    shares: F64


class _Matrices(Struct, frozen=True):
    """A product of ``count`` pairs of matrices: m x k and k x n."""

    count: int
    m: int
    k: int
    n: int
    left: int
    """Elements of the left factor, and of the right one."""
    right: int
    is_layer: bool

    @property
    def made(self) -> int:
        return self.count * self.m * self.n


@memoize
def product_orders(trace: Trace) -> ProductOrders:
    """Return pairs of products whose other order needs half of the operations or fewer.

    The second product is the only reader of the first one's result. Only views and a scale may be
    between them, and only one tensor that the second one reads has as many elements. Two layers in
    a row are the model's own design, and count for none.
    """
    calls = followed_calls(trace)
    places = np.array(calls.named(*_PRODUCTS), np.int64)
    if len(places) < 2:
        return ProductOrders(np.empty(0, np.int64), np.empty(0))
    ops, rows = trace.ops, calls.rows[places]
    first, call = groupby.group_rows(*(c[rows] for c in (ops.name, ops.shapes, ops.concrete)))
    same = ~starts_run(ops.thread[rows], ops.step[rows])[1:]
    pairs, pair = np.unique(np.stack((call[:-1], call[1:])), axis=1, return_inverse=True)
    known = [_matrices(calls.at(int(places[one]))) for one in first.tolist()]
    left = np.array([_left(known[a], known[b]) for a, b in pairs.T.tolist()], np.float64)
    left = left[pair.reshape(-1)]
    shares: dict[int, float] = {}
    for i in np.flatnonzero(same & (left <= MOST_LEFT)).tolist():
        a, b = int(places[i]), int(places[i + 1])
        made = known[int(call[i])]
        if made is not None and _only_reader(calls, a, b, made.made):
            shares |= dict.fromkeys((a, b), 1 - float(left[i]))
    return ProductOrders(*calls.everywhere(shares))


def _only_reader(calls: FollowedCalls, a: int, b: int, elements: int) -> bool:
    """Return whether one product is the only reader of another one's result, but for scales."""
    readers = calls.readers(a, elements)
    while readers and readers[0] < b:
        scale = calls.at(readers[0])
        if len(readers) != 1 or scale is None or not scale.scales:
            return False
        readers = calls.readers(readers[0], elements)
    return readers == [b]


def _matrices(known: Known | None) -> _Matrices | None:
    try:
        return None if known is None else _sizes(known.call, known.word)
    except UnknownWork:
        return None


def _sizes(call: Arguments, word: str) -> _Matrices | None:
    a, b = call.tensor(0), call.tensor(1)
    if word == "outer":
        return _Matrices(1, a.numel, 1, b.numel, a.numel, b.numel, is_layer=False)
    if len(a.shape) >= 2 and len(b.shape) == 1 and b.numel:
        return _Matrices(1, a.numel // b.numel, b.numel, 1, a.numel, b.numel, is_layer=False)
    if len(a.shape) < 2 or len(b.shape) < 2 or not a.numel or not b.numel:
        return None
    k, n = b.shape[-2:] if word != "linear" else b.shape[:-3:-1]
    if len(b.shape) == 2:
        return _Matrices(1, a.numel // k, k, n, a.numel, b.numel, word == "linear")
    if a.shape[:-2] != b.shape[:-2]:
        return None
    return _Matrices(b.numel // (k * n), a.shape[-2], k, n, a.numel, b.numel, word == "linear")


def _left(a: _Matrices | None, b: _Matrices | None) -> float:
    """Return the share of the operations of two products that another order needs; 1: no other."""
    if a is None or b is None or a.made in (a.left, a.right) or (a.is_layer and b.is_layer):
        return 1.0
    now = a.count * a.m * a.k * a.n + b.count * b.m * b.k * b.n
    if a.made == b.left != b.right and (b.m, b.k) == (a.m, a.n) and b.count == a.count:
        other = a.count * a.k * b.n * (a.n + a.m)
    elif a.made == b.right != b.left and a.count == b.count and {b.k, b.n} == {a.m, a.n}:
        # The right factor may be turned, as that of a layer is.
        other = a.count * b.m * a.k * (b.k + b.n)
    else:
        return 1.0
    return other / now
