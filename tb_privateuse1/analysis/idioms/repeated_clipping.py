"""Find gradients that are scaled by their norm behind several backward passes of one update.

What a pass adds to a gradient that was scaled is scaled again behind it. One norm ahead of the
update does, unless each part's own gradient has a limit: then it is reset between the passes, and
nothing is added to it.
"""

from __future__ import annotations

import itertools

import numpy as np

from tb_privateuse1.analysis.idioms.accumulations import accumulations
from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known, followed_calls
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

_NORM, _SCALE = "foreach_norm", "foreach_mul"
_READS = ("foreach", "fused")
"""How operators on lists begin: they keep or reset what was scaled, or update weights by it."""

Shapes = tuple[tuple[int, ...], ...]


@memoize
def repeated_clipping(trace: Trace) -> I64:
    """Return the rows of ``trace.ops`` that scale gradients which are added to and scaled again."""
    calls = followed_calls(trace)
    rounds = [one for at in calls.named(f"_{_NORM}") if (one := _round(calls, at))]
    found: dict[int, float] = {}
    for own, following in itertools.pairwise(rounds):
        if _is_added_to(trace, calls, own, following):
            found |= dict.fromkeys(own, 1.0)
    return calls.everywhere(found)[0]


def _round(calls: FollowedCalls, at: int) -> range | None:
    """Return the places from a norm of tensors to their scaling; None if anything else is there."""
    shapes = _shapes(calls.at(at))
    for place, known in calls.behind(at):
        if known is None or not shapes:
            return None
        if known.word == _SCALE:
            return range(at, place + 1) if _shapes(known) == shapes else None
        if max(known.sizes, default=0) > len(shapes):
            return None
    return None


def _shapes(known: Known | None) -> Shapes:
    try:
        return () if known is None else tuple(one.shape for one in known.call.tensor_list(0))
    except UnknownWork:
        return ()


def _is_added_to(trace: Trace, calls: FollowedCalls, own: range, following: range) -> bool:
    """Return whether a pass adds to what one round has scaled, and the next one scales the sum."""
    last, first = own[-1], following[0]
    shapes = _shapes(calls.at(last))
    if calls.first_of(last) != calls.first_of(first) or _shapes(calls.at(first)) != shapes:
        return False
    for place in range(last + 1, first):
        known = calls.at(place)
        if known is None or (known.word.startswith(_READS) and _shapes(known) == shapes):
            return False
    ops, sums = trace.ops, accumulations(trace)
    at = ops.start_ns[sums.op]
    begin = np.searchsorted(at, ops.end_ns[calls.rows[last]])
    end = np.searchsorted(at, ops.start_ns[calls.rows[first]])
    return bool(end > begin and not sums.is_fresh[begin:end].any())
