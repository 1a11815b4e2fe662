"""Find rows of zeros and ones that are made to be added up: numbers that are counted by matrices.

One-hot rows, whole numbers compared with each other in all pairs, and ones scattered into zeros
have a number for each row and each count. ``bincount`` and ``index_add`` read the rows alone.
"""

from __future__ import annotations

from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known, followed_calls
from tb_privateuse1.analysis.idioms.needed_inputs import CASTS
from tb_privateuse1.analysis.idioms.row_gates import made_from
from tb_privateuse1.analysis.idioms.sparse_factors import Costly, costly
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace

_WIDTH = 8
"""Elements for each row that is counted: with fewer, counting them gains little."""
_SUMS = ("sum", "mean")
_ZEROS = ("zeros", "zeros_like", "zero")
_WHOLE = frozenset(("int64", "int32", "int16", "int8", "uint8"))
_LAYERS = frozenset(("linear", "conv1d", "conv2d"))
_LONGEST = 3
"""Readers from the rows to their sum: a weight for each may come between."""


@memoize
def counted_rows(trace: Trace) -> Costly:
    """Return what makes, converts, weighs and adds up such rows, each the only reader of the other.

    What counting takes instead, a pass over the rows' numbers and one over the counts, remains.
    """
    calls = followed_calls(trace)
    shares: dict[int, float] = {}
    sums: list[int] = []
    for at in calls.named("one_hot", "eq", "scatter"):
        known = calls.at(at)
        elements, width = (0, 0) if known is None else _rows(calls, at, known)
        found = _to_the_sum(calls, at, elements) if width >= _WIDTH else []
        if found and not calls.is_read_beyond(at, elements):
            shares |= dict.fromkeys(found, 1 - 2 / width)
            sums.append(found[-1])
    return costly(calls, shares, sums)


def _rows(calls: FollowedCalls, at: int, known: Known) -> tuple[int, int]:
    """Return the elements of the rows that a call makes, and those for each number that counts."""
    try:
        x = known.call.tensor(0)
        if known.word == "one_hot":
            width = known.call.integer(1)
            return (x.numel * width, width) if width > 0 else (0, 0)
        if known.word == "eq":
            tensors = [one for one in known.call.tensors() if one.shape]
            is_whole = len(tensors) == 2 and {one.dtype for one in tensors} <= _WHOLE
            most = max(one.stored for one in tensors) if is_whole else 0
            return (known.made, known.made // most) if most else (0, 0)
        made = made_from(calls, at, known.made)
        index = known.call.tensor(2)
        if made is None or made[1].word not in _ZEROS or not index.numel:
            return 0, 0
        return known.made, known.made // index.numel
    except UnknownWork:
        return 0, 0


def _to_the_sum(calls: FollowedCalls, at: int, elements: int) -> list[int]:
    """Return the places from the rows to their sum; none if anything else reads them."""
    places = [at]
    for _ in range(_LONGEST):
        readers = [
            one
            for one in calls.readers(places[-1], elements) or ()
            if not _has_weight(calls.at(one), elements)
        ]
        reader = calls.at(readers[0]) if readers and len(readers) == 1 else None
        if not readers or reader is None:
            return []
        between = range(places[-1] + 1, readers[0])
        places += [one for one in between if _converts(calls.at(one), elements)]
        places += readers
        if reader.word in _SUMS:
            return places if _adds_rows(reader) else []
        if reader.word != "mul" or reader.made != elements:
            return []
        if sum(one.numel == elements for one in reader.call.tensors()) > 1:
            return []
    return []


def _has_weight(known: Known | None, elements: int) -> bool:
    """Return whether a layer has a weight of this many elements, and another input."""
    x = None if known is None else known.call.optional(0)
    return known is not None and x is not None and known.word in _LAYERS and x.numel != elements


def _converts(known: Known | None, elements: int) -> bool:
    return known is not None and known.word in CASTS and elements in known.sizes


def _adds_rows(known: Known) -> bool:
    """Return whether a sum is over one dimension of several: over rows, for one-hot ones."""
    x = known.call.optional(0)
    try:
        dims = {one % len(x.shape) for one in known.call.integers(1)} if x is not None else set()
    except (UnknownWork, ZeroDivisionError):
        return False
    return x is not None and 0 < len(dims) < len(x.shape)
