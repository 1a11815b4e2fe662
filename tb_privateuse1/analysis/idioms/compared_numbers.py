"""Find rounds that compare a tensor with one number after the other, to count or average by it.

Each class's answers, each segment's rows: ``bincount`` or ``index_add`` does all of them at once.
"""

from __future__ import annotations

import itertools

from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known, followed_calls
from tb_privateuse1.analysis.idioms.sparse_factors import Costly, costly
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace

MANY = 8
"""Numbers that are compared, as ``purpose.side_work`` counts calls of a loop."""
_LONGEST = 24
"""Operators of a round: two counts, a limit and a division are eight."""
_WHOLE = frozenset(("int64", "int32", "int16", "int8", "uint8"))
_COUNTS = frozenset(
    ("eq", "and", "or", "not", "bitwise_and", "bitwise_or", "bitwise_not", "logical_and",
     "logical_or", "logical_not", "mul", "to", "sum", "mean", "index", "masked_select", "nonzero",
     "count_nonzero", "any")
)  # fmt: skip
"""What a round does with more than a number; behind the sums are numbers."""
_SUMS = frozenset(("sum", "mean", "count_nonzero", "any"))


@memoize
def compared_numbers(trace: Trace) -> Costly:
    """Return the operators of all rounds but one, where these differ by a number alone.

    ``readers`` are the comparisons that begin a round.
    """
    calls = followed_calls(trace)
    shares: dict[int, float] = {}
    firsts: list[int] = []
    for run in _runs(calls):
        rounds = [range(one, other) for one, other in itertools.pairwise(run)]
        if not rounds or not all(_is_alike(calls, rounds[0], one) for one in rounds):
            continue
        # The last round ends where it differs from the others: as long as they are.
        rounds.append(range(run[-1], run[-1] + len(rounds[0])))
        if not _is_alike(calls, rounds[0], rounds[-1]) or not _counts(calls, rounds[0]):
            continue
        shares |= {place: 1.0 for one in rounds[1:] for place in one}
        firsts += run[1:]
    return costly(calls, shares, firsts)


def _runs(calls: FollowedCalls) -> list[list[int]]:
    """Return the first comparison with each of many numbers in a row, by tensor."""
    found: list[list[int]] = []
    numbers: set[str] = set()
    size, begin = 0, -1
    for at in calls.named("eq"):
        known = calls.at(at)
        x, number = (None, "") if known is None else (known.call.optional(0), known.call.value(1))
        if x is None or x.dtype not in _WHOLE or not number.isdecimal():
            continue
        goes_on = (x.numel, calls.first_of(at)) == (size, begin) and at - found[-1][-1] <= _LONGEST
        if not goes_on:
            found.append([at])
            numbers, size, begin = {number}, x.numel, calls.first_of(at)
        elif number not in numbers:
            found[-1].append(at)
            numbers.add(number)
    return [run for run in found if len(run) >= MANY]


def _is_alike(calls: FollowedCalls, one: range, other: range) -> bool:
    """Return whether two rounds have the same operators, but for the rows that are chosen."""
    if len(one) != len(other) or calls.first_of(one[0]) != calls.first_of(other[0]):
        return False
    if other[-1] >= len(calls.rows):
        return False
    known = [(calls.at(a), calls.at(b)) for a, b in zip(one, other, strict=True)]
    return all(a is not None and b is not None and a.word == b.word for a, b in known)


def _counts(calls: FollowedCalls, places: range) -> bool:
    """Return whether a round compares, chooses and adds up, and nothing else but for numbers."""
    known = [calls.at(one) for one in places]
    words = {_word(one) for one in known}
    return bool(words & _SUMS) and all(
        one is not None and (one.is_view or _word(one) in _COUNTS or max(one.sizes, default=1) <= 1)
        for one in known
    )


def _word(known: Known | None) -> str:
    return "" if known is None else known.word.strip("_")
