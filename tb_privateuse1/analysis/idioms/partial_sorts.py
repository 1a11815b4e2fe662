"""Find full sorts whose order is read for a few elements: the largest ones, or a threshold."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.outermost_calls import LaterCalls
from tb_privateuse1.analysis.idioms.result_tensors import CUTS, cut_share
from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I64

_SORTS = ("sort", "argsort", "msort")
_SHORT = 256
"""Shorter rows are sorted about as fast as a few of their elements are found."""
_PASSES = 3
"""Passes over a row that find its largest elements; a sort takes the logarithm of its length."""
_FEW = 1 / 8
"""The greatest share of the elements that is "few"."""
_PART = 1 / 2
"""The greatest share of a sorted row that is a part of it."""
_MOST = 20_000
"""Sorts of a recording that count."""
_ORDER = "int64"


class PartialSorts(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` with the share of their work that goes; ``sorts`` are the sorts."""

    rows: I64
    shares: F64
    sorts: I64


@memoize
def partial_sorts(trace: Trace) -> PartialSorts:
    """Return sorts where a selection would do, and what works on all of the sorted elements.

    The numbers of a sort are read by a cut, by a gather of few, or by a scatter of a mask: an order
    that only puts a threshold back. If something reads all of the order, it is needed.
    """
    readers = LaterCalls(trace)
    shares: dict[int, float] = {}
    sorts: list[int] = []
    for at in readers.named(*_SORTS)[:_MOST].tolist():
        length, elements = _size(readers.call(at))
        if length < _SHORT:
            continue
        use = _use(readers, at, elements)
        if use is None:
            continue
        sorts.append(int(readers.rows[at]))
        shares[sorts[-1]] = 1 - min(_PASSES / math.log2(length), 1.0)
        for place in use:
            shares[int(readers.rows[place])] = 1 - _FEW
    rows = np.array(sorted(shares), np.int64)
    return PartialSorts(
        rows, np.array([shares[row] for row in rows.tolist()]), np.array(sorts, np.int64)
    )


def _size(call: Arguments | None) -> tuple[int, int]:
    """Return the length of what is sorted, and the elements of all; 0 if they are unknown."""
    x = None if call is None else call.optional(0)
    if call is None or x is None or not x.shape:
        return 0, 0
    values = [call.value(i) for i in range(1, len(call.inputs))]
    dims = [int(text) for text in values if text.removeprefix("-").isdecimal()]
    dim = dims[0] if dims else -1
    return (x.shape[dim] if -len(x.shape) <= dim < len(x.shape) else 0), x.numel


def _use(readers: LaterCalls, at: int, elements: int) -> list[int] | None:
    """Return what works on all elements for the sake of few; None if the whole order is needed."""
    order, values = 0.0, 0.0
    between: list[int] = []
    of_few: list[int] | None = None
    is_mask = False
    for place in readers.behind(at):
        call = readers.call(place)
        if call is None:
            continue
        kinds = {one.dtype for one in call.tensors() if one.numel == elements}
        word = reduced_name(call.name).strip("_")
        if not kinds:
            continue
        if word in _SORTS:
            break
        if kinds == {_ORDER}:
            part = _part(call, word, elements)
            order += part
            of_few = list(between) if word == "gather" and part <= _FEW else of_few
        elif _ORDER in kinds:
            # A mask is put back by the order; a gather gives other values the same order.
            is_mask |= word == "scatter" and kinds == {_ORDER, "bool"}
            order += 0.0 if word == "gather" or kinds == {_ORDER, "bool"} else 1.0
        else:
            values += _part(call, word, elements)
            between.append(place)
    if order > _PART:
        return None
    if of_few is not None:
        return of_few
    return [] if is_mask or order or 0 < values <= _PART else None


def _part(call: Arguments, word: str, elements: int) -> float:
    """Return the share of its first tensor that a call reads: of a cut, or of a gather."""
    try:
        if word == "gather":
            return call.tensor(2).numel / elements
        part = cut_share(call, word)[0] if word in CUTS else 1.0
    except UnknownWork:
        return 1.0
    return part if part < 1 or word not in CUTS else 0.0  # a cut of all is a view
