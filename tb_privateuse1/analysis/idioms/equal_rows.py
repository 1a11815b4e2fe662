"""Find layers that work on equal rows: of a tensor that was repeated, or looked up, before them.

A lookup of 4,096 rows in a table of 96 has at most 96 distinct rows, and a tensor that was expanded
has those from before. What works on one row after the other gives equal rows again. So it may run
on the distinct ones, and the result be looked up or broadcast behind it. A row is that of a matrix,
or a pixel of a picture that was made larger. Columns that are repeated or looked up beside others
are a part of a layer: so are both ends of the edges of a graph.
"""

from __future__ import annotations

import math
from collections import Counter

from msgspec import Struct

from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known, followed_calls
from tb_privateuse1.analysis.idioms.outermost_calls import NEAR
from tb_privateuse1.analysis.work.arguments import Arguments, Tensor, UnknownWork
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I64

MOST_DISTINCT = 1 / 2
"""The greatest share of the rows that may be distinct: with more, a lookup costs what it spares."""
_LOOKUPS = {"embedding": (0, 1), "index_select": (0, 2)}
"""By operator, the arguments that have the table and the rows that are chosen."""
_COPIES = frozenset(("contiguous", "clone", "reshape", "repeat", "repeat_interleave"))
_UPSAMPLES = ("upsample_nearest2d", "upsample_bilinear2d")
"""A layer of pixels may come before either; what bends the values before the first one only."""
_RANDOM = "dropout"
_PASSES, _PASSES_OF_SUM = 4, 3
"""Passes over memory of columns that are looked up, joined and read by a layer; those of a sum."""


class EqualRows(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` that work on equal rows, and the share of their work that goes.

    ``sources`` are the operators that repeat the rows.
    """

    rows: I64
    shares: F64
    sources: I64


@memoize
def equal_rows(trace: Trace) -> EqualRows:
    """Return what works on rows where at most half are distinct.

    It is followed from the operator that repeats them, as long as each result has one reader,
    which works on rows alone and reads no other tensor but weights.
    """
    calls = followed_calls(trace)
    shares: dict[int, float] = {}
    sources: dict[int, float] = {}
    for at in calls.named(*_LOOKUPS, *_COPIES, *_UPSAMPLES, "linear", "index", "cat"):
        known = calls.at(at)
        if known is None:
            continue
        if known.word == "cat":
            found, source = _of_columns(calls, at, known)
        else:
            found, source = _of_rows(calls, at, known), at
        if found:
            sources[source] = 1.0
            shares |= found
    return EqualRows(*calls.everywhere(shares), calls.everywhere(sources)[0])


def _of_rows(calls: FollowedCalls, at: int, known: Known) -> dict[int, float]:
    """Return by place what goes of the work on the rows that a call repeats."""
    distinct, elements = _distinct(known)
    if not elements or distinct > MOST_DISTINCT:
        return {}
    if known.word in _UPSAMPLES:
        places = _on_pixels(calls, at, elements, bends="nearest" in known.word)
    else:
        places, length = [], _length(known)
        if known.word == "linear":
            places, elements = [at], known.made
            length = 0 if known.result is None else known.result.shape[-1]
        places += _on_rows(calls, at, elements, length)
    return dict.fromkeys(places, 1 - distinct)


def _of_columns(calls: FollowedCalls, at: int, known: Known) -> tuple[dict[int, float], int]:
    """Return what goes of a layer that reads repeated columns beside others, and their source."""
    nothing: dict[int, float] = {}
    try:
        parts, dim = known.call.tensor_list(0), known.call.integer(1)
    except UnknownWork:
        return nothing, at
    whole, dims = sum(one.numel for one in parts), len(parts[0].shape)
    if not dims or not whole or dim % dims != dims - 1:
        return nothing, at
    if any(len(one.shape) != dims for one in parts):
        return nothing, at
    gone = sum(one.numel * (1 - _expanded(one)[0]) for one in parts)
    lookups = _lookups(calls, at, parts)
    readers = calls.readers(at, whole) if gone or lookups else None
    reader = calls.at(readers[0]) if readers and len(readers) == 1 else None
    if not readers or reader is None or reader.word != "linear" or not _reads(reader, whole):
        return nothing, at
    if lookups and _is_cheaper(lookups, parts, reader):
        gone += sum(made * (1 - distinct) for distinct, made in lookups.values())
        at = min(lookups)
    return ({readers[0]: gone / whole} if gone else nothing), at


def _lookups(
    calls: FollowedCalls, at: int, parts: tuple[Tensor, ...]
) -> dict[int, tuple[float, int]]:
    """Return by place the lookups of few distinct rows whose results a join at a place reads.

    Each has its share of distinct rows, and its elements. They are the last ones that make a tensor
    of a part's size, and nothing else reads or makes such a tensor from there to the join.
    """
    waiting = Counter(one.numel for one in parts if _expanded(one)[0] == 1)
    found: dict[int, tuple[float, int]] = {}
    for place in range(at - 1, max(calls.first_of(at), at - NEAR) - 1, -1):
        known = calls.at(place) if waiting else None
        if known is None:
            break
        if known.passes and known.word != "copy":
            continue
        distinct, made = _distinct(known) if known.word in (*_LOOKUPS, "index") else (1.0, 0)
        if waiting[made] and distinct <= MOST_DISTINCT and made not in known.sizes:
            found[place] = distinct, made
            waiting[made] -= 1
            continue
        for size in (known.made, *known.sizes):
            waiting.pop(size, None)
        if known.result is None and not known.made:
            break
    return found


def _is_cheaper(
    lookups: dict[int, tuple[float, int]], parts: tuple[Tensor, ...], layer: Known
) -> bool:
    """Return whether results that are looked up and added move no more than the joined columns."""
    if layer.result is None:
        return False
    width = layer.result.shape[-1]
    rows = parts[0].numel // parts[0].shape[-1]
    columns = sum(made for _, made in lookups.values()) // rows
    sums = len(lookups) - (len(lookups) == len(parts))
    return (len(lookups) + _PASSES_OF_SUM * sums) * width <= _PASSES * columns


def _reads(known: Known, elements: int) -> bool:
    """Return whether a tensor of this many elements is a layer's input, and not its weight."""
    alike = [one.numel == elements for one in known.call.tensors()]
    return alike[0] and sum(alike) == 1


def _distinct(known: Known) -> tuple[float, int]:
    """Return the share of distinct rows in what a call makes or reads, and its elements; 1: all."""
    try:
        return _share_of(known.call, known.word)
    except (UnknownWork, ValueError, ZeroDivisionError):
        return 1.0, 0


def _share_of(call: Arguments, word: str) -> tuple[float, int]:
    x = call.tensor(0)
    if word in _LOOKUPS:
        table, chosen = (call.tensor(at) for at in _LOOKUPS[word])
        if len(table.shape) != 2 or (word == "index_select" and call.integer(1) % 2):
            return 1.0, 0
        return table.shape[0] / chosen.numel, chosen.numel * table.shape[1]
    if word in _UPSAMPLES:
        larger = math.prod(call.integers(1)) / math.prod(x.shape[-2:])
        return 1 / larger, round(x.numel * larger)
    if word == "index":
        (chosen,) = call.tensor_list(1)
        if len(x.shape) != 2 or chosen.dtype not in ("int64", "int32"):
            return 1.0, 0
        return x.shape[0] / chosen.numel, chosen.numel * x.shape[1]
    if word == "repeat":
        times = call.integers(1)
        return (
            (1.0, 0) if times[-1:] != (1,) else (1 / math.prod(times), x.numel * math.prod(times))
        )
    return _expanded(x)


def _expanded(x: Tensor) -> tuple[float, int]:
    """Return the share of distinct rows of an expanded tensor: its last dimension is none."""
    if x.strides is None or len(x.shape) < 2 or not x.strides[-1] or not x.numel:
        return 1.0, 0
    times = [size for size, step in zip(x.shape, x.strides, strict=True) if step == 0]
    return 1 / math.prod(times), x.numel


def _length(known: Known) -> int:
    """Return the length of the rows that a call repeats: all dimensions behind the copied ones."""
    x = known.call.tensor(0)
    times = known.call.integers(1)[-len(x.shape) :] if known.word == "repeat" else ()
    copied = [one > 1 for one in times] or [step == 0 for step in x.strides or ()]
    last = max((at for at, one in enumerate(copied) if one), default=len(x.shape) - 2)
    return math.prod(x.shape[last + 1 :])


def _on_rows(calls: FollowedCalls, at: int, elements: int, length: int) -> list[int]:
    """Return the places that work on equal rows, each the only reader of the one before.

    What reads several rows as one, such as those of many features side by side, ends it.
    """
    found: list[int] = []
    while True:
        readers = calls.readers(at, elements)
        if readers is None or len(readers) != 1:
            return found
        (at,) = readers
        known = calls.at(at)
        if known is None or not works_on_rows(known, elements):
            return found
        length = _length_behind(known, length)
        if not length:
            return found
        found.append(at)
        elements = known.made


def _length_behind(known: Known, length: int) -> int:
    """Return the length of a result's equal rows, from its input's; 0 if it joins several."""
    needs = known.needs
    if needs is None or not needs.row_in:
        return 0
    # A vector that is added or multiplied gives each place of its length a value of its own.
    whole = needs.row_in if known.kind == "gemm" else max((needs.row_in, *needs.whole))
    return 0 if length % whole else length // needs.row_in * needs.row


def _on_pixels(calls: FollowedCalls, at: int, elements: int, *, bends: bool) -> list[int]:
    """Return the places that work on one pixel after the other, each the other's only reader.

    Those that bend the values count where each pixel is that of one before, if ``bends``.
    """
    found: list[int] = []
    while True:
        readers = calls.readers(at, elements)
        known = calls.at(readers[0]) if readers and len(readers) == 1 else None
        if not readers or known is None or not known.made:
            return found
        of_one = known.kind == "elementwise" and len(list(known.call.tensors())) == 1
        if not _is_pointwise(known) and not (bends and of_one):
            return found
        at, elements = readers[0], known.made
        found.append(at)


def _is_pointwise(known: Known) -> bool:
    """Return whether a convolution's kernel is a single pixel, and moves from one to the next."""
    try:
        kernel, call = known.call.tensor(1).shape[2:], known.call
        return (
            known.word == "conv2d"
            and set(kernel) == {1}
            and set(call.integers(3)) == {1}
            and (set(call.integers(4)) == {0})
        )
    except UnknownWork:
        return False


def works_on_rows(known: Known, elements: int, *, may_draw: bool = False) -> bool:
    """Return whether a call gives equal rows for equal ones: no others enter but weights.

    Dropout draws numbers of its own for each row, which is one row after the other all the same.
    """
    needs = known.needs
    if needs is None or needs.rows_of != elements or needs.turns:
        return False
    if known.word == _RANDOM and not may_draw:
        return False
    others = [one for one in known.call.tensors() if one.shape and one.numel != elements]
    alike = [one for one in known.call.tensors() if one.numel == elements]
    if len(alike) != 1 or not known.made:
        return False
    width = alike[0].shape[-1]
    return all(_is_weight(one, width, known) for one in others)


def _is_weight(one: Tensor, width: int, known: Known) -> bool:
    """Return whether a tensor is a row of numbers for all rows, or the matrix of a product."""
    if known.kind == "gemm":
        return len(one.shape) <= 2
    return one.numel == one.shape[-1] and one.shape[-1] in (1, width)
