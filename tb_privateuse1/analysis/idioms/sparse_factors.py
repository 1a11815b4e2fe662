"""Find products with a matrix of mostly zeros, windows laid out in memory, and products by hand.

The matrix was made just before: a diagonal, blocks, a unit matrix, a triangle of ones, few numbers
among zeros. Windows of ``unfold`` have each element several times, where a convolution reads it in
place. A product by hand makes a number for each pair, and adds them up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known, followed_calls
from tb_privateuse1.analysis.idioms.partly_read_products import beyond_reading
from tb_privateuse1.analysis.work.arguments import ITEM_BYTES, Arguments, Input, Tensor, UnknownWork
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I64

_MOST_FILLED = 1 / 4
"""The greatest share of a matrix that is filled: with more, a product of parts gains little."""

_ADD_PRODUCTS = frozenset(("addmm", "baddbmm", "addbmm", "addmv"))

Made = tuple[int, float]
"""Elements of what is made, and the share of the operations with it that is needed."""


class Costly(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops``, and the share of their work that another form does without.

    ``readers`` are the products, or sums, that read what others make.
    """

    rows: I64
    shares: F64
    readers: I64


class CostlyProducts(Struct, frozen=True, eq=False):
    """Costly forms of products, by what is costly about them."""

    filled: Costly
    windows: Costly


@memoize
def costly_products(trace: Trace) -> CostlyProducts:
    """Return products with matrices of zeros, and of windows in memory.

    All readers of what is made must be such products.
    """
    calls = followed_calls(trace)
    return CostlyProducts(filled=_with_zeros(trace, calls), windows=_of_windows(calls))


def _with_zeros(trace: Trace, calls: FollowedCalls) -> Costly:
    shares: dict[int, float] = {}
    products: list[int] = []
    for at in calls.named(*_FILLED):
        elements, filled = _made(calls.at(at))
        if not elements or filled > _MOST_FILLED or not _is_filled(calls, at):
            continue
        readers = calls.readers(at, elements) or []
        if not readers or not all(_multiplies(calls.at(one), elements) for one in readers):
            continue
        shares[at] = 1.0
        rows, others = (
            calls.rows[np.array(readers)],
            [_others(calls.at(one), elements) for one in readers],
        )
        beyond = beyond_reading(trace, rows, np.array(others, np.int64)).tolist()
        shares |= {one: min(1 - filled, share) for one, share in zip(readers, beyond, strict=True)}
        products += readers
    return costly(calls, shares, products)


def _of_windows(calls: FollowedCalls) -> Costly:
    shares: dict[int, float] = {}
    products: list[int] = []
    for at in calls.named("im2col"):
        elements, _ = _made(calls.at(at))
        readers = (calls.readers(at, elements) if elements else None) or []
        reader = calls.at(readers[0]) if len(readers) == 1 else None
        if _multiplies(reader, elements) and _has_weight(reader, elements):
            shares[at] = 1.0
            products += readers
    return costly(calls, shares, products)


def _has_weight(known: Known | None, elements: int) -> bool:
    """Return whether the other factor is one matrix for all windows, as a convolution's is."""
    others = [] if known is None else _tensors(known.call.inputs[:3])
    return all(
        math.prod(one.shape[:-2]) == 1 or _is_expanded(one)
        for one in others
        if one.numel != elements
    )


def _is_expanded(one: Tensor) -> bool:
    return one.strides is not None and not any(one.strides[:-2])


def costly(calls: FollowedCalls, shares: dict[int, float], readers: list[int]) -> Costly:
    """Return the rows at places and in equal steps, with the share of each one's work that goes."""
    return Costly(*calls.everywhere(shares), calls.everywhere(dict.fromkeys(readers, 1.0))[0])


def _is_filled(calls: FollowedCalls, at: int) -> bool:
    """Return whether what a call fills in or cuts out is new: zeros, or ones for a triangle."""
    known, before = calls.at(at), calls.at(at - 1) if at else None
    needed = None if known is None else _OF.get(known.word)
    return needed is None or (
        before is not None and before.word == needed and before.made in _sizes(known)
    )


def _sizes(known: Known | None) -> frozenset[int]:
    return frozenset() if known is None else known.sizes


def _multiplies(known: Known | None, elements: int) -> bool:
    """Return whether a call multiplies by one tensor of this many elements, as matrices."""
    if known is None or known.kind != "gemm":
        return False
    first = 1 if known.word in _ADD_PRODUCTS else 0  # what they add a product to is no factor
    factors = [one for one in _tensors(known.call.inputs[first:3]) if one.numel == elements]
    return len(factors) == 1 and len(factors[0].shape) > 1


def _tensors(inputs: Sequence[Input]) -> list[Tensor]:
    return [one for one in inputs if isinstance(one, Tensor)]


def _others(known: Known | None, elements: int) -> int:
    """Return the bytes of what a product reads beside a matrix of this many elements, and makes."""
    if known is None or known.result is None:
        return 0
    others = [one for one in known.call.tensors() if one.numel != elements]
    return sum(one.stored * ITEM_BYTES[one.dtype] for one in (*others, known.result))


def _made(known: Known | None) -> Made:
    if known is None:
        return 0, 1.0
    try:
        return _FILLED.get(known.word, _windows)(known.call)
    except (UnknownWork, ValueError, IndexError, ZeroDivisionError):
        return 0, 1.0


def _diagonal(call: Arguments) -> Made:
    x = call.tensor(0)
    if call.name.endswith("::diag") and len(x.shape) != 1:
        return 0, 1.0
    if len(call.inputs) > 1 and call.value(1) not in ("", "0"):
        return 0, 1.0
    return x.numel * x.shape[-1], 1 / x.shape[-1]


def _blocks(call: Arguments) -> Made:
    shapes = [one.shape for one in call.tensor_list(0)]
    if any(len(shape) != 2 for shape in shapes):
        return 0, 1.0
    whole = sum(shape[0] for shape in shapes) * sum(shape[1] for shape in shapes)
    return whole, sum(map(math.prod, shapes)) / whole


def _unit(call: Arguments) -> Made:
    rows = call.integer(0)
    return rows * rows, 1 / rows


def _kronecker(call: Arguments) -> Made:
    """Return what (A x B) has: a product with it is one with A behind one with B."""
    a, b = call.tensor(0), call.tensor(1)
    if len(a.shape) != 2 or len(b.shape) != 2:
        return 0, 1.0
    whole = a.numel * b.numel
    (p, q), (r, s) = a.shape, b.shape
    return whole, (r * s * q + p * q * r) / whole


def _triangle(call: Arguments) -> Made:
    """Return what a triangle of ones has: a product with it is a running sum."""
    x = call.tensor(0)
    if len(x.shape) != 2 or x.shape[0] != x.shape[1]:
        return 0, 1.0
    return x.numel, 1 / x.shape[0]


def _written(call: Arguments) -> Made:
    """Return what has as many numbers, or whole rows, as there are indices.

    One index may be a mask, whose size is that of all rows.
    """
    x, indices = call.tensor(0), [one.shape for one in call.tensor_list(1)]
    if len(x.shape) != 2 or not all(indices) or len(indices) > 2:
        return 0, 1.0
    filled = math.prod(np.broadcast_shapes(*indices))
    return x.numel, filled * (x.shape[1] if len(indices) == 1 else 1) / x.numel


def _windows(call: Arguments) -> Made:
    x = call.tensor(0)
    kernel, spread, padding, step = (call.integers(at) for at in (1, 2, 3, 4))
    places = math.prod(
        (size + 2 * pad - gap * (width - 1) - 1) // stride + 1
        for size, width, gap, pad, stride in zip(
            x.shape[-2:], kernel, spread, padding, step, strict=True
        )
    )
    return math.prod(x.shape[:-2]) * math.prod(kernel) * places, 1.0


_FILLED: dict[str, Callable[[Arguments], Made]] = {
    "diag": _diagonal,
    "diag_embed": _diagonal,
    "block_diag": _blocks,
    "eye": _unit,
    "kron": _kronecker,
    "tril": _triangle,
    "triu": _triangle,
    "index_put": _written,
}
_OF = {"tril": "ones", "triu": "ones", "index_put": "zeros"}
"""What must be made directly before."""
