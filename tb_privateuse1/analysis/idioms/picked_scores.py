"""Find scores that are picked by one-hot rows: multiplied with these, and added up over classes.

A gather reads one number of each row. One-hot rows make, convert, multiply and add up all of them:
in losses by hand, and for the value of the action that was taken.
"""

from __future__ import annotations

from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known, followed_calls
from tb_privateuse1.analysis.idioms.needed_inputs import CASTS
from tb_privateuse1.analysis.idioms.sparse_factors import Costly, costly
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace

_WIDTH = 8
"""Classes: with fewer, picking one of them gains little, as for rows that are counted."""
_FAR = 8
"""Operators from the rows to their product: a conversion, a softmax or a layer's bias between."""
_BETWEEN = ("log_softmax", "softmax", "sigmoid", "log", "logsigmoid", "clamp", "neg", "exp")
"""What makes scores: no such function of one-hot rows has a use."""


@memoize
def picked_scores(trace: Trace) -> Costly:
    """Return what makes, converts, multiplies and adds up one-hot rows of scores.

    What picking takes instead, a read and a write of a number for each row, remains.
    """
    calls = followed_calls(trace)
    shares: dict[int, float] = {}
    sums: list[int] = []
    for at in calls.named("one_hot"):
        known = calls.at(at)
        elements, width = (0, 0) if known is None else _rows(known)
        places = _to_the_sum(calls, at, elements, width) if width >= _WIDTH else []
        if places:
            shares |= dict.fromkeys(places, 1 - 2 / width)
            sums.append(places[-1])
    return costly(calls, shares, sums)


def _rows(known: Known) -> tuple[int, int]:
    """Return the elements of one-hot rows, and those of a row; 0 if they are not known."""
    try:
        width = known.call.integer(1)
        return (known.call.tensor(0).numel * width, width) if width > 0 else (0, 0)
    except UnknownWork:
        return 0, 0


def _to_the_sum(calls: FollowedCalls, at: int, elements: int, width: int) -> list[int]:
    """Return the places from the rows to their sum; none if anything else may read them."""
    places = [at]
    for place, known in calls.behind(at):
        if known is None or place - at > _FAR:
            return []
        if elements not in known.sizes:
            continue
        if known.word in CASTS:
            places.append(place)
        elif known.word == "mul" and _factors(known, elements) > 1:
            summed = [one for one in calls.readers(place, elements) or [] if _uses(calls.at(one))]
            reader = calls.at(summed[0]) if len(summed) == 1 else None
            if reader is None or not _adds_classes(reader, width):
                return []
            return [] if _is_read(calls, summed[0], elements) else [*places, place, summed[0]]
        elif known.word not in _BETWEEN and not known.is_view and known.kind != "gemm":
            return []
    return []


def _factors(known: Known, elements: int) -> int:
    return sum(one.numel == elements for one in known.call.tensors())


def _is_read(calls: FollowedCalls, at: int, elements: int) -> bool:
    """Return whether an operator behind the sum reads such rows before others are made."""
    for _, known in calls.behind(at):
        if known is None or known.made == elements:
            return False
        if elements in known.sizes and not known.passes and _uses(known):
            return True
    return False


def _uses(known: Known | None) -> bool:
    """Return whether a call may read rows; an optimizer reads a weight of that many elements."""
    return known is None or known.kind != "optimizer"


def _adds_classes(known: Known, width: int) -> bool:
    """Return whether a sum is over the last dimension alone, of a row's classes."""
    x = known.call.optional(0)
    try:
        dims = {one % len(x.shape) for one in known.call.integers(1)} if x is not None else set()
    except (UnknownWork, ZeroDivisionError):
        return False
    is_last = x is not None and dims == {len(x.shape) - 1} and x.shape[-1] == width
    return known.word == "sum" and is_last
