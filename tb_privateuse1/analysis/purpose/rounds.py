"""Find where training rounds begin and end in a recording without steps of the profiler.

A round ends behind its optimizer, or its backward pass without one. What follows may be the end of
that round or the beginning of the next: a validation, or a teacher's scores that the loss reads.
The recording's own ends tell. Behind the last round there is no next one, and before the first
forward pass no earlier one: what is in each gap as behind the last round ends its round, and what
is in each gap as before the first pass begins the next. A loader's range begins a round. Work that
is in some gaps only, and not ahead of the first pass, is no input of passes that do without it.
"""

from __future__ import annotations

import itertools
import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.recording.iterations import Iterations, optimizer_iterations
from tb_privateuse1.trace.columns import containing
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools

_FEWEST = 2
"""Rounds: one gap between two of them, and what follows the last."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class Order(Struct, frozen=True, eq=False):
    """The pieces of the main thread in order of time, a row each."""

    name: I64
    """The string of each."""
    start_ns: I64
    forward: Bools
    """It has a part of a forward pass."""
    loads: Bools
    """It is work of a data loader."""
    draws: Bools
    """It makes random numbers."""


class _Gap(Struct, frozen=True):
    """The pieces between two rounds: their places in the order, and their names."""

    first: int
    names: tuple[int, ...]
    loads: int
    """How many pieces precede the loader's; all without one."""
    inside: int
    """How many begin within the range that names the round."""


def round_ends(trace: Trace, order: Order, stepping_ns: I64, backward_ns: I64) -> I64:
    """Return when rounds end by the ends of optimizer steps, or of backward passes without any.

    Several optimizer steps are a round if their passes differ. The recording's last one ends one.
    """
    if len(stepping_ns) < _FEWEST:
        return backward_ns
    each = 1 if _are_alike(trace, order, stepping_ns) else _steps_of_round(trace, stepping_ns)
    ends: I64 = stepping_ns[::-1][::each][::-1]
    return ends


def _are_alike(trace: Trace, order: Order, ends_ns: I64) -> bool:
    """Return whether most passes run the same pieces as the one before, up to the optimizer."""
    tokens, forward = _tokens(trace, order.name), np.flatnonzero(order.forward)
    stop = np.searchsorted(order.start_ns, ends_ns)
    at = np.searchsorted(forward, np.append(0, stop[:-1]))
    passes = [
        tuple(tokens[a:b].tolist())
        for a, b in zip(np.append(forward, len(tokens))[at].tolist(), stop.tolist(), strict=True)
    ]
    same = [one == other for one, other in itertools.pairwise(passes)]
    return 2 * sum(same) > len(same)


def _steps_of_round(trace: Trace, ends_ns: I64) -> int:
    """Return how many optimizer steps an iteration takes, by its repetition."""
    found = optimizer_iterations(trace)
    if found is None or len(found[1]) < _FEWEST:
        return 1
    first, second = np.searchsorted(ends_ns, found[1][:2]).tolist()
    return max(int(second - first), 1)


def rounds(trace: Trace, order: Order, ends_ns: I64, named: Iterations | None) -> tuple[I64, I64]:
    """Return the start and end of each round, in ns on the host; empty if there are too few.

    ``named`` are annotated iterations: what is in the range of a round's end is of that round.
    """
    none = np.empty(0, np.int64)
    forward = np.flatnonzero(order.forward)
    if len(ends_ns) < _FEWEST or not len(forward):
        return none, none
    tokens = _tokens(trace, order.name)
    first = np.searchsorted(order.start_ns, ends_ns)
    behind = np.searchsorted(forward, first)
    until = np.append(forward, len(order.name))[behind]
    inside = first if named is None else _inside(order, ends_ns, first, named)
    gaps = [
        _gap(order, tokens, int(a), int(b), int(c))
        for a, b, c in zip(first, until, inside, strict=True)
    ]
    is_cut = until[-1] < len(order.name)
    head, tail = tuple(tokens[: forward[0]].tolist()), () if is_cut else gaps[-1].names
    between = gaps if is_cut else gaps[:-1]
    kept = [_own(gap, head, tail) for gap in between]
    kept = _of_some_rounds(order, between, kept, head)
    if not is_cut:
        kept.append(max(*(_common(gap.names, tail) for gap in between), gaps[-1].inside))
    starts = np.append(order.start_ns, np.iinfo(np.int64).max)
    last = [gap.first + count for gap, count in zip(gaps, kept, strict=True)]
    borders = np.maximum(starts[last], ends_ns)
    return np.concatenate((borders[:1] * 0, borders[:-1])), borders


def _tokens(trace: Trace, name: I64) -> I64:
    """Return the names as numbers that are equal for the same function of two objects."""
    values, place = np.unique(name, return_inverse=True)
    texts = [_ADDRESS.sub("", trace.text(one)) if one >= 0 else "" for one in values.tolist()]
    number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    found: I64 = np.array([number[text] for text in texts], np.int64)[place]
    return found


def _inside(order: Order, ends_ns: I64, first: I64, named: Iterations) -> I64:
    """Return the place behind the pieces that begin in the annotation around each round's end."""
    at = containing(named.start_ns, named.end_ns, ends_ns - 1)
    stop = np.where(at == NONE, ends_ns, named.end_ns[at])
    found: I64 = np.maximum(np.searchsorted(order.start_ns, stop), first)
    return found


def _gap(order: Order, tokens: I64, first: int, until: int, inside: int) -> _Gap:
    loading = np.flatnonzero(order.loads[first:until])
    return _Gap(
        first=first,
        names=tuple(tokens[first:until].tolist()),
        loads=int(loading[0]) if len(loading) else until - first,
        inside=min(inside, until) - first,
    )


def _own(gap: _Gap, head: tuple[int, ...], tail: tuple[int, ...]) -> int:
    """Return how many pieces of a gap surely end the round before it."""
    count = len(gap.names)
    if gap.loads < count:
        return gap.loads
    ahead = _common(gap.names[::-1], head[::-1])
    return max(min(_common(gap.names, tail), count - ahead), gap.inside)


def _of_some_rounds(
    order: Order, gaps: list[_Gap], kept: list[int], head: tuple[int, ...]
) -> list[int]:
    """Return the counts with work that other gaps do without, in two gaps at least.

    Random numbers may be new data for the rounds behind it.
    """
    plain = {gap.names for gap in gaps}
    found, several = list(kept), []
    for i, gap in enumerate(gaps):
        most = len(gap.names) - _common(gap.names[::-1], head[::-1])
        if most > kept[i] and gap.names[: kept[i]] + gap.names[most:] in plain:
            rest = slice(gap.first + kept[i], gap.first + most)
            if not order.draws[rest].any():
                found[i] = most
                several.append(i)
    return found if len(several) >= _FEWEST else kept


def _common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Return how many values two sequences begin with alike."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return min(len(one), len(other))
