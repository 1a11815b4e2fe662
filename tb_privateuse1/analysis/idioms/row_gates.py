"""Tell whether a tensor keeps rows of another one or puts zeros there, by what made it.

The values of a mask are not recorded, but where it comes from is: a comparison, a conversion of
truth values, one-hot rows, or zeros with a few numbers scattered into them.
"""

from __future__ import annotations

import math

from msgspec import Struct

from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known
from tb_privateuse1.analysis.idioms.needed_inputs import CASTS
from tb_privateuse1.analysis.idioms.result_tensors import CUTS
from tb_privateuse1.analysis.work.arguments import Tensor, UnknownWork

_BOOL = "bool"
_NOTS = frozenset(("bitwise_not", "logical_not", "rsub"))
_OPPOSITES = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
_COMPARES = frozenset(("eq", *_OPPOSITES))
_ZEROS = frozenset(("zeros", "zeros_like", "zero", "new_zeros"))


class Gate(Struct, frozen=True):
    """Numbers that keep a row or put zeros there.

    Of gates with equal ``family`` and different ``which``, at most ``few`` keep the same row, if
    they are ``of`` gates; 0 if any number of them exclude each other.
    """

    family: tuple[str, int, int]
    """What it is, its elements, and the place that makes what is compared, or the mask."""
    which: str
    few: int = 1
    of: int = 0


def row_run(gate: Tensor, shape: tuple[int, ...]) -> int:
    """Return the elements of a result that share one value of a gate; 0 if it is no gate of rows.

    The gate has one value for each run of neighbors, and at least two of these.
    """
    sizes = (1,) * (len(shape) - len(gate.shape)) + gate.shape
    if len(sizes) != len(shape):
        return 0
    run, at = 1, len(shape)
    while at and sizes[at - 1] == 1:
        at -= 1
        run *= shape[at]
    return run if run > 1 and sizes[:at] == shape[:at] and gate.numel > 1 else 0


def gate_of(calls: FollowedCalls, at: int, gate: Tensor) -> Gate | None:
    """Return what a place reads as a gate; None if it may be any numbers."""
    found = made_from(calls, at, gate.numel)
    if found is None:
        return None  # two masks of a batch may keep the same rows
    place, known = found
    if known.word in _NOTS:
        return _opposite(calls, place, known)
    x = known.call.optional(0)
    if x is not None and known.call.value(1) and known.word in _COMPARES and x.numel == gate.numel:
        return _compared(known, x, place, _origin(calls, place, x))
    if known.word in CUTS or known.word == "unbind":
        return _column(calls, place, known)
    if known.word in CASTS and x is not None and x.dtype == _BOOL:
        return gate_of(calls, place, x) or Gate(("mask", gate.numel, place), "it")
    return Gate(("mask", gate.numel, place), "it") if gate.dtype == _BOOL else None


def _compared(known: Known, x: Tensor, place: int, origin: int) -> Gate:
    """Return a comparison with a number, at a place, as a gate.

    Opposite ones exclude each other if they compare one tensor; of equality with several numbers
    that goes without saying. Of an unknown tensor the comparison itself is a mask.
    """
    word, number = known.word, known.call.value(1)
    if word == "eq":
        return Gate(("eq", x.numel, origin), number)
    if origin < 0:
        return Gate(("mask", x.numel, place), "it")
    first = min(word, _OPPOSITES[word])
    return Gate((f"{first} {number}", x.numel, origin), "it" if word == first else "not")


def _origin(calls: FollowedCalls, at: int, x: Tensor) -> int:
    """Return the place that made a tensor, by its elements and type; -1 if none of the step did."""
    for one in range(at - 1, calls.first_of(at) - 1, -1):
        known = calls.at(one)
        if known is None:
            return -1
        result = known.result
        is_it = known.made == x.numel and not known.is_view
        if is_it and (result is None or result.dtype == x.dtype):
            return one
    return -1


def few_of_columns(calls: FollowedCalls, at: int, elements: int) -> tuple[int, int] | None:
    """Return how many of how many columns are not zero in each row of a matrix that is read.

    It has one-hot rows, or zeros with some numbers scattered into each row. None for any other.
    """
    for one in range(at - 1, calls.first_of(at) - 1, -1):
        known = calls.at(one)
        if known is None:
            return None
        try:
            found = _filled(calls, one, known, elements)
        except (UnknownWork, IndexError, ZeroDivisionError):
            return None
        if found is not None:
            return found if found[0] else None
        if known.made == elements and not known.passes:
            return None
    return None


def _filled(calls: FollowedCalls, at: int, known: Known, elements: int) -> tuple[int, int] | None:
    """Return the filled columns of what a call makes; None if it makes something else."""
    if known.word == "one_hot":
        x, width = known.call.tensor(0), known.call.integer(1)
        return (1, width) if x.numel * width == elements else None
    if known.word != "scatter" or known.made != elements:
        return None
    x, index = known.call.tensor(0), known.call.tensor(2)
    before = made_from(calls, at, elements)
    is_new = before is not None and before[1].word in _ZEROS
    last = len(x.shape) - 1
    if not is_new or known.call.integer(1) % len(x.shape) != last:
        return 0, 1
    return index.shape[-1], x.shape[-1]


def made_from(calls: FollowedCalls, at: int, elements: int) -> tuple[int, Known] | None:
    """Return what made a tensor of some elements that a place reads.

    It is a new result, a conversion of truth values, or a cut of something greater.
    """
    for one in range(at - 1, calls.first_of(at) - 1, -1):
        known = calls.at(one)
        if known is None:
            return None
        x = known.call.optional(0)
        if known.word == "unbind" and x is not None and _unbound(known, x) == elements:
            return one, known
        if known.word in CUTS and known.result is not None and x is not None:
            if known.result.numel == elements < x.numel:
                return one, known
            continue
        converts = known.word in CASTS and x is not None and x.dtype == _BOOL
        if known.made == elements and (converts or not known.passes):
            return one, known
    return None


def _unbound(known: Known, x: Tensor) -> int:
    try:
        return x.numel // x.shape[known.call.integer(1) % len(x.shape)]
    except (UnknownWork, ZeroDivisionError, IndexError):
        return 0


def _opposite(calls: FollowedCalls, at: int, known: Known) -> Gate | None:
    """Return the opposite of a gate: ``~mask``, ``1 - mask``."""
    x = known.call.optional(0)
    if x is None or (known.word == "rsub" and known.call.value(1) not in ("1", "1.")):
        return None
    found = gate_of(calls, at, x)
    if found is None or found.which != "it":
        return None
    return Gate(found.family, "not")


def _column(calls: FollowedCalls, at: int, known: Known) -> Gate | None:
    """Return a column of a matrix with one-hot rows, or with few numbers in each row."""
    x = known.call.optional(0)
    found = None if x is None else few_of_columns(calls, at, x.numel)
    if x is None or found is None:
        return None
    which = str(at) if known.word == "unbind" else known.call.value(2)
    rows = math.prod(x.shape) // found[1]
    return Gate(("columns", rows, -1), which, *found)
