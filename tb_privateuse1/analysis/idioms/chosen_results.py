"""Find work that a choice alone is read of: all experts of a token, or the order of scores."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.equal_rows import works_on_rows
from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known, followed_calls
from tb_privateuse1.analysis.idioms.row_gates import few_of_columns
from tb_privateuse1.analysis.idioms.taken_parts import strided_calls, taken_part
from tb_privateuse1.analysis.operators.module_of import has_modules
from tb_privateuse1.analysis.work.arguments import ITEM_BYTES, UnknownWork
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import F64, I64

MOST_CHOSEN = 1 / 2
"""The greatest share of results that is a choice of them."""
_JOINS = ("stack", "cat")
_LONGEST = 32
"""Operators of a round: an expert is two products, an activation, a norm and views."""
_ORDERS = ("argmax", "argmin", "topk", "argsort")
_COMPARES = ("gt", "ge", "lt", "le")
"""With a number they read the order alone: that of a number's own place in it."""
_KEEPS_ORDER = frozenset(("sigmoid", "exp", "log", "sqrt", "softplus", "atan", "log1p", "expm1"))
"""Elementwise operators that rise with their input."""
_ROWS_KEEP_ORDER = frozenset(("softmax", "log_softmax"))
"""They rise with it within their rows."""
_SUMS = {"sum": 1, "mean": 1, "norm": 2, "linalg_vector_norm": 2, "amax": 1, "amin": 1}
"""Reductions that can be taken of parts first, and the argument with their dimensions."""
_FLOATING = ("float", "bfloat")


class Chosen(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` with the share of their work that goes; ``readers`` choose."""

    rows: I64
    shares: F64
    readers: I64


@memoize
def chosen_rounds(trace: Trace) -> Chosen:
    """Return equal rounds on rows whose joined results are read for a choice of them alone.

    Each result of a round is one of those that are joined, directly behind the last round.
    """
    calls = followed_calls(trace)
    shares: dict[int, float] = {}
    joins: list[int] = []
    for at in calls.named(*_JOINS):
        parts = _parts(calls.at(at))
        if len(parts) < 2:
            continue
        places = _rounds(calls, at, len(parts), parts[0])
        if _calls_one_module(trace, calls, places, len(parts)):
            continue
        read = _read_share(trace, calls, at, parts) if places else 1.0
        if read <= MOST_CHOSEN:
            joins.append(at)
            shares |= dict.fromkeys(places, 1 - read)
    return _chosen(calls, shares, joins)


@memoize
def chosen_orders(trace: Trace) -> Chosen:
    """Return operators that keep the order of their input, where nothing else is read of it."""
    calls = followed_calls(trace)
    shares: dict[int, float] = {}
    readers: list[int] = []
    for at in calls.named(*_ORDERS, *_COMPARES):
        known = calls.at(at)
        if known is None or (x := known.call.optional(0)) is None or not x.shape:
            continue
        maker = calls.maker(at, x.numel)
        if maker is None:
            continue
        every = calls.readers(maker, x.numel)
        if every and all(_reads_order(calls, maker, one) for one in every):
            shares[maker] = 1.0
            readers.append(at)
    return _chosen(calls, shares, readers)


def _reads_order(calls: FollowedCalls, maker: int, at: int) -> bool:
    """Return whether a place reads the order of what another one made of its input."""
    made, read = calls.at(maker), calls.at(at)
    if read is None or read.word not in (*_ORDERS, *_COMPARES):
        return False
    return _keeps_order(made, read) and not _reads_values(calls, at, read)


@memoize
def joined_for_sums(trace: Trace) -> Chosen:
    """Return joins of tensors whose only reader adds all of it up: norms and sums need no join."""
    calls = followed_calls(trace)
    shares: dict[int, float] = {}
    sums: list[int] = []
    for at in calls.named("cat"):
        whole = _whole(calls.at(at))
        readers = calls.readers(at, whole) if whole else None
        if readers and len(readers) == 1 and _adds_all(calls.at(readers[0])):
            shares[at] = 1.0
            sums += readers
    return _chosen(calls, shares, sums)


def _whole(known: Known | None) -> int:
    """Return the elements of a join of two tensors or more; 0 if it is none."""
    try:
        parts = () if known is None else known.call.tensor_list(0)
    except UnknownWork:
        return 0
    return sum(one.numel for one in parts) if len(parts) > 1 else 0


def _adds_all(known: Known | None) -> bool:
    """Return whether a call makes one number of all elements of one tensor."""
    if known is None or known.word not in _SUMS:
        return False
    at = _SUMS[known.word]
    return not known.call.value(at).startswith("[") or known.call.value(at) == "[]"


def _chosen(calls: FollowedCalls, shares: dict[int, float], readers: list[int]) -> Chosen:
    return Chosen(*calls.everywhere(shares), calls.everywhere(dict.fromkeys(readers, 1.0))[0])


def _parts(known: Known | None) -> list[int]:
    """Return the elements of equal tensors that a call joins."""
    try:
        found = () if known is None else known.call.tensor_list(0)
    except UnknownWork:
        return []
    return [one.numel for one in found] if len({one.shape for one in found}) == 1 else []


def _read_share(trace: Trace, calls: FollowedCalls, at: int, parts: list[int]) -> float:
    """Return the share of joined results that their only reader takes; 1 if anything is unknown.

    A product with one-hot rows, or with zeros but for a few, takes the others.
    """
    readers = calls.readers(at, sum(parts))
    known = calls.at(readers[0]) if readers and len(readers) == 1 else None
    if not readers or known is None:
        return 1.0
    others = [one.numel for one in known.call.tensors() if one.shape and one.numel != sum(parts)]
    if (known.word == "mul" or known.kind == "gemm") and len(others) == 1:
        few = few_of_columns(calls, readers[0], others[0])
        return few[0] / few[1] if few is not None and few[1] == len(parts) else 1.0
    (strided,) = strided_calls(trace, calls.rows[np.array(readers)])
    try:
        part = taken_part(known.call, known.word, known.kind, strided)
    except UnknownWork:
        return 1.0
    return 1.0 if part is None else part.share


def _rounds(calls: FollowedCalls, at: int, count: int, elements: int) -> list[int]:
    """Return the places of a number of equal rounds ahead of one, each on rows alone; else none."""
    last = calls.at(at - 1) if at else None
    if last is None or last.made != elements:
        return []
    for length in range(1, _LONGEST + 1):
        first = at - count * length
        if first < calls.first_of(at):
            return []
        if all(calls.at(one) is calls.at(one + length) for one in range(first, at - length)):
            places = list(range(first, at))
            return places if all(_is_on_rows(calls.at(one)) for one in places) else []
    return []


def _calls_one_module(trace: Trace, calls: FollowedCalls, places: list[int], count: int) -> bool:
    """Return whether each round calls the same module: then it reads what the one before made.

    Modules of a choice differ. Without frames of modules that is not known.
    """
    if not places or not has_modules(trace):
        return False
    frames, rows = trace.frames, calls.rows[np.array(places)]
    inner = call_tree.self_or_nearest(frames.parent, call_tree.is_module(trace))
    frame = lookup(inner, trace.ops.frame[rows], NONE)
    name = lookup(frames.name, frame, NONE)
    # A column for each place of a round.
    distinct = [len(groupby.distinct_values(one)) for one in name.reshape(count, -1).T]
    called = [len(groupby.distinct_values(one)) for one in frame.reshape(count, -1).T]
    return max(distinct) == 1 and max(called) == count


def _is_on_rows(known: Known | None) -> bool:
    if known is None:
        return False
    return known.is_view or (known.needs is not None and works_on_rows(known, known.needs.rows_of))


def _keeps_order(made: Known | None, read: Known) -> bool:
    """Return whether what is read of a result is the order of its input."""
    if made is None:
        return False
    if read.word in _COMPARES and len([one for one in read.call.tensors() if one.shape]) != 1:
        return False
    if made.word in _KEEPS_ORDER:
        return len([one for one in made.call.tensors() if one.shape]) == 1
    x = read.call.tensor(0)
    own = made.call.optional(0)
    of_rows = made.word in _ROWS_KEEP_ORDER and read.word in _ORDERS
    if not of_rows or own is None or own.shape != x.shape:
        return False
    try:
        dim = _dim(read, len(x.shape))
        return made.call.integer(1) % len(x.shape) == dim
    except UnknownWork:
        return False


def _dim(read: Known, dims: int) -> int:
    """Return the dimension of a choice; raises UnknownWork if it is one of all elements."""
    at = 2 if read.word == "topk" else 1
    if read.word in ("topk", "argsort") and not read.call.value(at):
        return dims - 1
    if read.word == "argsort" and read.call.value(1) in ("True", "False"):
        return read.call.integer(2) % dims  # whether it is stable comes before the dimension
    return read.call.integer(at) % dims


def _reads_values(calls: FollowedCalls, at: int, read: Known) -> bool:
    """Return whether something reads the values that were chosen, or nothing their places.

    What no operator reads goes to the program, values with their places.
    """
    if read.word != "topk":
        return False
    x = read.call.tensor(0)
    try:
        few = x.numel // x.shape[_dim(read, len(x.shape))] * read.call.integer(1)
    except (UnknownWork, ZeroDivisionError):
        return True
    readers = calls.readers(at, few)
    return not readers or any(_has_floating(calls.at(one), few) for one in readers)


def _has_floating(known: Known | None, elements: int) -> bool:
    return known is None or any(
        one.numel == elements and (one.dtype.startswith(_FLOATING) or not ITEM_BYTES.get(one.dtype))
        for one in known.call.tensors()
    )
