"""Find products that are computed pair by pair: every pair's numbers are written, then added up.

A product of two matrices adds them up as it goes. So do the square of a difference, whose sum is
that of two squares less twice a product, and the cosine, which is a product of unit vectors.
"""

from __future__ import annotations

import math

import numpy as np

from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known, followed_calls
from tb_privateuse1.analysis.idioms.fused_kernel_rates import product_rate, time_of
from tb_privateuse1.analysis.idioms.sparse_factors import Costly
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64

_PAIRS = 8
"""Pairs for each element of either tensor: by hand, as many numbers are made and read."""
_UNKNOWN = 1 / 2
"""The share that goes where the recording has no product: its numbers are written and read."""
_WRITE_PAIRS = (
    "mul", "sub", "mse_loss", "cosine_similarity", "pairwise_distance", "bmm", "matmul",
)  # fmt: skip
_WITH_SUM = frozenset(("cosine_similarity", "pairwise_distance"))
"""They write all pairs on their way, and return the sums."""
_NORMS = frozenset(("norm", "linalg_vector_norm"))
_TWO = frozenset(("2", "2."))
_LONGEST = 3
"""Operators from the pairs to their sum."""


class ByHand(Costly, frozen=True, eq=False):
    """Products by hand; ``is_priced`` if the recording has products to compare them with."""

    is_priced: bool


@memoize
def products_by_hand(trace: Trace) -> ByHand:
    """Return what writes and reads a number for each pair, where its only reader adds them up.

    What a product takes is its operations, at the rate of the other products of the recording.
    """
    calls = followed_calls(trace)
    groups = [found for at in calls.named(*_WRITE_PAIRS) if (found := _to_the_sum(calls, at))]
    rate = product_rate(trace) if groups else None
    shares: dict[int, float] = {}
    readers: dict[int, float] = {}
    for places, pairs in groups:
        share = _UNKNOWN
        if rate is not None:
            time = int(time_of(trace, calls.rows[np.array(places)]).sum())
            share = max(1 - 2 * pairs / rate * 1e9 / max(time, 1), 0.0)
        shares |= dict.fromkeys(places, share)
        readers[places[-1]] = 1.0
    rows, gone = _everywhere(calls, shares)
    return ByHand(rows, gone, calls.everywhere(readers)[0], rate is not None)


def _everywhere(calls: FollowedCalls, shares: dict[int, float]) -> tuple[np.ndarray, F64]:
    return calls.everywhere({place: share for place, share in shares.items() if share > 0})


def _to_the_sum(calls: FollowedCalls, at: int) -> tuple[list[int], int] | None:
    """Return the places from what writes all pairs to their sum, and the number of pairs."""
    known = calls.at(at)
    pairs = 0 if known is None else _pairs(known)
    if known is None or not pairs:
        return None
    if known.word in _WITH_SUM:
        is_distance = known.word != "pairwise_distance" or known.call.value(2) in ("", *_TWO)
        return ([at], pairs) if is_distance else None
    places, is_square = [at], known.word != "sub"
    while len(places) <= _LONGEST:
        readers = calls.readers(places[-1], pairs)
        reader = calls.at(readers[0]) if readers and len(readers) == 1 else None
        if not readers or reader is None:
            return None
        places += readers
        if _adds_up(reader, pairs, is_square):
            return places, pairs
        if not _squares(reader):
            return None
        is_square = True
    return None


def _pairs(known: Known) -> int:
    """Return the elements that two tensors have together, if these are many more than both have."""
    tensors = [one for one in known.call.tensors() if one.shape]
    if len(tensors) != 2 or not all(one.stored for one in tensors):
        return 0
    shapes = [one.shape for one in tensors]
    # Of a column and a row, a product adds nothing up.
    if known.kind == "gemm" and (shapes[0][-1:], shapes[1][-2:-1]) != ((1,), (1,)):
        return 0
    try:
        pairs = math.prod(np.broadcast_shapes(*shapes))
    except ValueError:
        return 0
    return pairs if pairs >= _PAIRS * max(one.stored for one in tensors) else 0


def _squares(known: Known) -> bool:
    """Return whether a call squares its only input: a power, or a product with itself."""
    wholes = [one for one in known.call.tensors() if one.shape]
    if known.word == "pow":
        return len(wholes) == 1 and known.call.value(1) in _TWO
    if known.word == "mul":
        return len(wholes) == 2 and wholes[0] == wholes[1]
    return known.word == "square"


def _adds_up(known: Known, pairs: int, is_square: bool) -> bool:
    """Return whether a call adds up squares, or products, of at least eight pairs each."""
    x = known.call.optional(0)
    if x is None or x.numel != pairs:
        return False
    at = 1 if known.word in ("sum", "mean") else 2
    if known.word in _NORMS:
        if is_square or known.call.value(1) not in _TWO:
            return False
    elif known.word not in ("sum", "mean") or not is_square:
        return False
    if not known.call.value(at).startswith("["):
        return True
    try:
        dims = {one % len(x.shape) for one in known.call.integers(at)} or set(range(len(x.shape)))
    except (UnknownWork, ZeroDivisionError):
        return False
    return math.prod(x.shape[dim] for dim in dims) >= _PAIRS
