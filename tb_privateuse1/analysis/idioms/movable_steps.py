"""Find steps around a layer that cost less elsewhere, as both are linear.

A mean of a layer's rows is the layer of their mean. A lookup of rows to be added up needs no rows
in memory. A convolution puts zeros around its input itself, and its weight can have the scale that
a norm with fixed statistics gives the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known, followed_calls
from tb_privateuse1.analysis.idioms.sparse_factors import Costly, costly
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace

MOST_ROWS = 1 / 4
"""The greatest share of rows that a sum leaves."""
_SUMS = ("sum", "mean")
_LOOKUPS = ("embedding", "index_select")
_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "convolution")
_PADS = ("constant_pad_nd", "pad")
_LOOKED_UP = 1 / 2
"""Of a lookup's time, the writing of its rows: it reads as many."""
_NORMS = ("batch_norm",)
_ZEROS = ("", "0", "0.", "constant", "None")


class MovableSteps(Struct, frozen=True, eq=False):
    """Steps by what would take their place; ``readers`` are sums, convolutions, or norms."""

    summed_layers: Costly
    summed_lookups: Costly
    padded: Costly
    scaled: Costly


@memoize
def movable_steps(trace: Trace) -> MovableSteps:
    """Return linear steps whose only reader is a sum, a convolution or a fixed scale."""
    calls = followed_calls(trace)
    # Readers are few: without one, no layer is followed.
    sums = _any(calls, _SUMS, lambda known: _rows_left(known) <= MOST_ROWS)
    nothing = costly(calls, {}, [])
    return MovableSteps(
        summed_layers=_summed_layers(calls) if sums else nothing,
        summed_lookups=_summed_lookups(calls) if sums else nothing,
        padded=_padded(calls),
        scaled=_scaled(calls) if _any(calls, _NORMS, _is_fixed) else nothing,
    )


def _any(calls: FollowedCalls, words: tuple[str, ...], is_one: Callable[[Known], bool]) -> bool:
    """Return whether a call with one of these names is one that is looked for."""
    known = map(calls.at, calls.named(*words))
    return any(one is not None and is_one(one) for one in known)


def _only_reader(calls: FollowedCalls, at: int) -> tuple[int, Known] | None:
    """Return the only place that reads what another one makes, with its call."""
    known = calls.at(at)
    readers = calls.readers(at, known.made) if known is not None and known.made else None
    reader = calls.at(readers[0]) if readers and len(readers) == 1 else None
    return (readers[0], reader) if readers and reader is not None else None


def _summed_layers(calls: FollowedCalls) -> Costly:
    shares: dict[int, float] = {}
    sums: list[int] = []
    for at in calls.named("linear"):
        found = _only_reader(calls, at)
        left = 1.0 if found is None else _rows_left(found[1])
        if found is not None and left <= MOST_ROWS:
            shares[at] = 1 - left
            sums.append(found[0])
    return costly(calls, shares, sums)


def _summed_lookups(calls: FollowedCalls) -> Costly:
    shares: dict[int, float] = {}
    sums: list[int] = []
    for at in calls.named(*_LOOKUPS):
        found = _only_reader(calls, at)
        if found is not None and _rows_left(found[1]) <= MOST_ROWS:
            shares |= {at: _LOOKED_UP, found[0]: 1.0}
            sums.append(found[0])
    return costly(calls, shares, sums)


def _rows_left(known: Known) -> float:
    """Return the share of rows that a sum leaves; 1 if it is none, or adds up within rows."""
    x = known.call.optional(0)
    if known.word not in _SUMS or x is None or not known.call.value(1).startswith("["):
        return 1.0
    try:
        dims = {one % len(x.shape) for one in known.call.integers(1)}
    except (UnknownWork, ZeroDivisionError):
        return 1.0
    if not dims or len(x.shape) - 1 in dims:
        return 1.0
    return 1 / max(math.prod(x.shape[dim] for dim in dims), 1)


def _padded(calls: FollowedCalls) -> Costly:
    shares: dict[int, float] = {}
    readers: list[int] = []
    for at in calls.named(*_PADS):
        known = calls.at(at)
        elements = 0 if known is None else _with_zeros(known)
        found = calls.readers(at, elements) if elements else None
        reader = calls.at(found[0]) if found and len(found) == 1 else None
        if found and reader is not None and _convolves(reader, elements):
            shares[at] = 1.0
            readers += found
    return costly(calls, shares, readers)


def _convolves(known: Known, elements: int) -> bool:
    """Return whether a call is a convolution of a tensor of this many elements, not with it."""
    x = known.call.optional(0)
    return known.word in _CONVOLUTIONS and x is not None and x.numel == elements


def _with_zeros(known: Known) -> int:
    """Return the elements with zeros around them, as many on both sides; 0 for anything else."""
    call = known.call
    try:
        x, sides = call.tensor(0), call.integers(1)
    except UnknownWork:
        return 0
    filled = [call.value(at) for at in range(2, len(call.inputs))]
    pairs = list(zip(sides[::2], sides[1::2], strict=False))
    if any(one not in _ZEROS for one in filled) or any(a != b or a < 0 for a, b in pairs):
        return 0
    if not pairs or len(pairs) > len(x.shape) - 2:
        return 0
    sizes = list(x.shape)
    for at, (before, behind) in enumerate(pairs):
        sizes[-1 - at] += before + behind
    return math.prod(sizes)


def _scaled(calls: FollowedCalls) -> Costly:
    shares: dict[int, float] = {}
    norms: list[int] = []
    for at in calls.named(*_CONVOLUTIONS, "linear"):
        found = _only_reader(calls, at)
        if found is not None and _is_fixed(found[1]):
            shares[found[0]] = 1.0
            norms.append(found[0])
    return costly(calls, shares, norms)


def _is_fixed(known: Known) -> bool:
    """Return whether a call is a norm with statistics that it does not compute."""
    return known.word in _NORMS and known.call.value(5) in ("False", "0")
