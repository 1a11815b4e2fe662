"""Tell which part of a tensor a call reads, from the view that torch records below the call.

Each view of torch calls ``as_strided``, whose recorded values are the sizes and the strides of what
it returns. So does ``index``, for what its indices choose. No list of views is needed.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.result_tensors import CUTS, cut_share
from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.calls import read_calls
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.groupby import named_rows
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

_INDEX_AT = {"gather": 2, "take_along_dim": 1, "take": 1}
"""The argument whose elements each take one element of the first tensor."""
DIAGONALS = frozenset(("diag", "trace", "diagonal_copy", "diagonal"))
"""They read the diagonal of two dimensions: one element of each row or column."""

_INSIDE = 16
"""Views that other calls below an operator make before its own: those of its index tensors."""


class Part(Struct, frozen=True):
    """The share of a tensor's elements that a call reads; 1 is all of them."""

    share: float
    """Of the tensor's elements."""
    of_rows: bool
    """Elements that differ in the last dimension alone are read together."""
    apart: bool = False
    """Elements are chosen one by one, neither rows nor columns."""
    columns: int = 0
    """The length of rows whose columns are chosen by their number; 0 for others."""


def strided_calls(trace: Trace, rows: I64) -> list[Arguments | None]:
    """Return the ``as_strided`` that each of these rows of ``trace.ops`` calls itself.

    An index has another one for each of its index tensors, behind that of the tensor. None for
    calls with several views of one tensor, as of a split: no single one tells what is read.
    """
    ops = trace.ops
    views = np.flatnonzero(named_rows(trace.strings, ops.name, "aten::as_strided".__eq__))
    # A row's calls follow it, those of the first call before the second one.
    at = np.searchsorted(views, rows)
    for _ in range(_INSIDE):
        view = lookup(views, np.where(at < len(views), at, -1), -1)
        inside = (view >= 0) & (ops.parent[view] != rows) & (ops.start_ns[view] < ops.end_ns[rows])
        at = at + (inside & (ops.thread[view] == ops.thread[rows]))
    own = (view >= 0) & (ops.parent[view] == rows)
    first = np.full(len(ops), -1)
    first[rows[own]] = view[own]
    before = lookup(first, ops.parent[views], -1)
    again = (before >= 0) & (before != views) & (ops.shapes[views] == ops.shapes[before])
    own &= ~mask_of(ops.parent[views[again]], len(ops))[rows]
    calls = iter(read_calls(trace, view[own]))
    return [next(calls) if is_own else None for is_own in own.tolist()]


def taken_part(
    call: Arguments, word: str, kind: str, strided: Arguments | None = None
) -> Part | None:
    """Return what a call reads of its first tensor; None if it is no view and chooses nothing.

    ``word`` is the call's reduced name, ``kind`` its kind of work. Raises UnknownWork if it is
    such a call and its values are not recorded.
    """
    x = call.tensor(0)
    if not x.shape or not x.numel:
        raise UnknownWork
    last = len(x.shape) - 1
    if word in CUTS:
        share, dim = cut_share(call, word)
        return Part(share, dim != last)
    if word in _INDEX_AT:
        return Part(min(call.tensor(_INDEX_AT[word]).numel / x.numel, 1.0), False, True)
    if word == "index_select":
        dim = call.integer(1) % len(x.shape)
        share = min(call.tensor(2).numel / x.shape[dim], 1.0)
        return Part(share, dim != last, columns=x.shape[-1] if dim == last else 0)
    if strided is not None and strided.tensor(0).shape == x.shape:
        if kind == "view":
            return _viewed(call, strided)
        if word == "index":
            return _indexed(call, strided)
    if word in DIAGONALS and len(x.shape) == 2:
        return Part(min(x.shape) / x.numel, False, True)
    if word == "index":
        raise UnknownWork
    return None


def _viewed(call: Arguments, strided: Arguments) -> Part:
    """Return the distinct elements of a view: dimensions without a stride repeat them."""
    x, (sizes, strides) = call.tensor(0), _view_of(strided)
    count = math.prod(size for size, step in zip(sizes, strides, strict=True) if step)
    # Windows overlap: no more elements than lie between the first and the last one.
    reach = 1 + sum((size - 1) * step for size, step in zip(sizes, strides, strict=True))
    return _part(x.shape, min(count, reach, x.numel) / x.numel, sizes, strides)


def _indexed(call: Arguments, strided: Arguments) -> Part:
    """Return what indices choose: its chosen dimensions have a size, and no stride."""
    x, (sizes, strides) = call.tensor(0), _view_of(strided)
    share = min(math.prod(sizes) / x.numel, 1.0)
    return _part(x.shape, share, sizes, strides)


def rows_of_part(call: Arguments, strided: Arguments | None) -> int:
    """Return the length of the runs of neighbors in memory that a part is made of.

    The part begins at a multiple of it. Raises UnknownWork if no view is recorded.
    """
    x, word = call.tensor(0), reduced_name(call.name)
    if strided is None and word in CUTS and x.strides is None:
        return math.prod(x.shape[cut_share(call, word)[1] + 1 :])
    if strided is None or strided.tensor(0).shape != x.shape:
        raise UnknownWork
    run = 1
    dims = list(zip(*_view_of(strided), strict=True))
    while dims and (dims[-1][0] == 1 or dims[-1][1] == run):
        run *= dims.pop()[0]
    first = strided.integer(3) if strided.value(3) else 0
    return math.gcd(run, first, *(step for size, step in dims if size > 1))


def _view_of(strided: Arguments) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return sizes and strides of a view; raises UnknownWork if they do not fit."""
    sizes, strides = strided.integers(1), strided.integers(2)
    if len(sizes) != len(strides):
        raise UnknownWork
    return sizes, strides


def _part(
    shape: tuple[int, ...], share: float, sizes: tuple[int, ...], strides: tuple[int, ...]
) -> Part:
    """Return a part by its view.

    Rows are read as a whole where a dimension is as long, of neighbors in memory; columns, where
    one is as long as there are rows, and as far apart.
    """
    dims = list(zip(sizes, strides, strict=True))
    rows = any(size == shape[-1] and step == 1 for size, step in dims)
    columns = len(shape) > 1 and (shape[-2], shape[-1]) in dims
    return Part(share, rows, apart=not rows and not columns)
