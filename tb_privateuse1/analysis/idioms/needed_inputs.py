"""Tell which rows of its inputs an operator needs for some rows of its result.

A row is a run of neighbors in memory: a token's state, or its part of one head. An operator that
works on whole rows of a known length needs the same rows of one input size; all of what else it
reads. Anything unknown needs all of its inputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from tb_privateuse1.analysis.idioms.result_tensors import CUTS, cut_share, result_of
from tb_privateuse1.analysis.work.arguments import ITEM_BYTES, Arguments, Tensor, UnknownWork
from tb_privateuse1.analysis.work.registry import reduced_name

VIEWS = frozenset(
    (
        "view", "reshape", "unsafe_view", "transpose", "t", "permute", "unsqueeze", "squeeze",
        "detach", "alias", "view_as", "flatten", "unflatten", "movedim", "contiguous",
    )
)  # fmt: skip
"""Operators that give the same elements another shape."""
CASTS = frozenset(("to", "to_copy", "copy", "float", "half", "bfloat16", "type_as", "clone"))
"""Operators that copy each element."""
_MAY_COPY = frozenset(("reshape", "contiguous", "flatten", "clone"))
_TURNS = frozenset(("transpose", "t", "permute", "movedim"))
_NORMS = frozenset(("layer_norm", "native_layer_norm", "rms_norm", "fused_rms_norm"))
_SOFTMAX = frozenset(("softmax", "log_softmax"))
_DRAWS = frozenset(("rand", "randn", "randint", "randperm"))
"""They make numbers apart; other factories may make room that is filled later."""
_LEFT = {"linear": 0, "mm": 0, "matmul": 0, "bmm": 0, "addmm": 1}
"""Products, and the argument whose rows are those of the result."""


class Needs(Struct, frozen=True):
    """The inputs of an operator that some rows of its result need, by their elements."""

    result: int
    """The elements of its result."""
    rows_of: int
    """The elements of the inputs whose rows it needs where those of its result are needed."""
    row: int
    """The length of a row of its result, which it makes as a whole."""
    row_in: int
    """The length of the row that it needs for that."""
    whole: tuple[int, ...]
    """The elements of the other inputs."""
    whole_bytes: int
    is_view: bool
    turns: bool
    """It puts its rows into another order of memory."""
    may_last: bool = False
    """Its result may be read in later steps: a permutation for all batches."""


def needs_of(call: Arguments, kind: str) -> Needs | None:
    """Return what a call of a kind of work needs; None if that is not known."""
    try:
        return _needs(call, reduced_name(call.name).strip("_"), kind)
    except (UnknownWork, IndexError, ValueError):
        return None


def read_sizes(call: Arguments) -> frozenset[int]:
    """Return the elements of each tensor that a call reads."""
    return frozenset(one.numel for one in call.tensors() if one.shape)


def _needs(call: Arguments, word: str, kind: str) -> Needs:
    if word in _LEFT:
        return _product(call, word)
    if word == "scaled_dot_product_attention":
        return _attention(call)
    if word in _DRAWS and (made := result_of(call, word)) is not None:
        return Needs(made.numel, 0, 1, 1, (), 0, is_view=False, turns=False, may_last=True)
    x = call.tensor(0)
    if word in CUTS:
        if cut_share(call, word)[0] < 1:
            raise UnknownWork
        return _same(call, x, 1, is_view=True)
    if word in VIEWS or word == "clone":
        return _same(call, x, *_moved(x, word), is_view=word != "clone")
    if word in _NORMS:
        return _same(call, x, _contiguous(x, math.prod(call.integers(_shape_at(call)))))
    if word in _SOFTMAX:
        if call.integer(1) not in (-1, len(x.shape) - 1):
            raise UnknownWork
        return _same(call, x, _contiguous(x, x.shape[-1]))
    if word in CASTS - {"copy"} or word == "dropout":
        return _same(call, x, 1)
    if kind != "elementwise" or word == "glu":
        raise UnknownWork
    result = result_of(call, word)
    size = x.numel if result is None else result.numel
    inputs = [one for one in call.tensors() if one.numel == size and one.shape]
    if len({(one.shape, one.strides) for one in inputs}) != 1:
        raise UnknownWork
    return _same(call, inputs[0], 1)


def _same(
    call: Arguments, x: Tensor, row: int, turns: bool = False, is_view: bool = False
) -> Needs:
    """Return the needs of a call whose result has a row for each row of ``x``."""
    if not x.shape or row < 1 or not _is_dense(x):
        raise UnknownWork
    others = [one for one in call.tensors() if one.shape and one.numel != x.numel]
    return _rows(x.numel, x, row, row, others, is_view=is_view, turns=turns)


def _rows(
    result: int,
    x: Tensor,
    row: int,
    row_in: int,
    others: list[Tensor],
    *,
    is_view: bool = False,
    turns: bool = False,
) -> Needs:
    sizes = tuple(one.numel for one in others)
    size_bytes = sum(one.stored * ITEM_BYTES[one.dtype] for one in others)
    return Needs(result, x.numel, row, row_in, sizes, size_bytes, is_view, turns)


def _shape_at(call: Arguments) -> int:
    """Return the argument that has the dimensions of a norm: before or behind a weight."""
    for at in (1, 2):
        if call.value(at).startswith("["):
            return at
    raise UnknownWork


def _contiguous(x: Tensor, row: int) -> int:
    """Return the row's length; raises UnknownWork if rows may not lie in memory as they count."""
    if not _is_contiguous(x):
        raise UnknownWork
    return row


def _is_contiguous(x: Tensor) -> bool:
    return x.strides is None or _lies(zip(reversed(x.strides), reversed(x.shape), strict=True))


def _is_dense(x: Tensor) -> bool:
    """Return whether a tensor is all of some memory, in any order of dimensions."""
    return x.strides is None or _lies(sorted(zip(x.strides, x.shape, strict=True)))


def _lies(dims: Iterable[tuple[int, int]]) -> bool:
    """Return whether each dimension, with its stride, begins where those before it end."""
    step = 1
    for stride, size in dims:
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def _moved(x: Tensor, word: str) -> tuple[int, bool]:
    """Return the rows that a view or a copy keeps together, and whether their order changes."""
    if x.strides is None:
        if word in _TURNS:
            raise UnknownWork  # what a later copy does is not recorded
        return 1, False
    if word not in _MAY_COPY or _is_contiguous(x):
        return 1, False
    if x.strides[-1] != 1:
        raise UnknownWork
    return x.shape[-1], True


def _product(call: Arguments, word: str) -> Needs:
    at = _LEFT[word]
    left, right = call.tensor(at), call.tensor(at + 1)
    if len(left.shape) < 2 or len(right.shape) < 2:
        raise UnknownWork
    inner = _contiguous(left, left.shape[-1])
    columns = right.shape[0] if word == "linear" else right.shape[-1]
    others = [one for i, one in enumerate(call.inputs) if i != at and isinstance(one, Tensor)]
    if not inner or not columns:
        raise UnknownWork
    return _rows(left.numel // inner * columns, left, columns, inner, others)


def _attention(call: Arguments) -> Needs:
    """Return the needs of attention: a query's row for the result's, all keys and values."""
    query, value = call.tensor(0), call.tensor(2)
    row = query.shape[-1]
    if value.shape[-1] != row or (query.strides is not None and query.strides[-1] != 1):
        raise UnknownWork
    others = [one for one in call.inputs[1:] if isinstance(one, Tensor)]
    return _rows(query.numel, query, row, row, others, turns=True)
