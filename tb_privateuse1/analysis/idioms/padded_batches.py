"""Find batches of sequences that are padded to one length, where the recording has the lengths.

No value of a tensor is recorded, but what is copied into a batch has a shape. ``pad_sequence`` and
loops select a row of a buffer, cut it to a length, and copy the sequence there. ``pad`` has the
length before and what it adds, to one sequence or to the whole batch behind its filling. A packed
batch has as many rows as all lengths together.

A mask says that there is padding, and not how much: places compared with lengths, or scores of an
attention whose keys are masked for each sequence and equally for all queries.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.idioms.nodes import operators_named
from tb_privateuse1.analysis.idioms.outermost_calls import NEAR, LaterCalls
from tb_privateuse1.analysis.idioms.result_tensors import CUTS, cut_share
from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

_MOST = 50_000
"""Copies into batches that are looked at: of 1,000 batches of 50 sequences."""
_CHANCE = 0.05
"""The usual level of significance: batches in order that are more probable may be an accident."""
_MULTIPLE = 64
"""Batches are padded beyond their longest sequence to a multiple of this, at most: the
documentation of transformers has 8 for float16 and 64 for an A100."""
_LEVELS = 4
"""Levels of calls within a view: narrow, slice and as_strided."""
_WHOLE_NUMBERS = ("int64", "int32")
_COMPARES = ("lt", "le", "ge", "gt")
_ATTENDS = ("scaled_dot_product_attention", "masked_fill", "add")
"""Operators that take scores, or what they are made of, and a mask of keys."""
_SCORES = 4
"""Dimensions of scores: sequences, heads, queries and keys."""
_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")


class PaddedBatch(Struct, frozen=True):
    """A batch of ``size`` sequences, padded to ``length``."""

    row: int
    """Row of ``trace.ops``: the last operator that fills it."""
    size: int
    length: int
    filled: float | None
    """The share of its places that hold a sequence; None: not recorded."""
    lengths: tuple[int, ...] = ()
    """The length of each sequence, in order of length; empty if only their sum is known."""


class _Fill(Struct, frozen=True):
    """A copy of one sequence into a batch."""

    row: int
    batch: tuple[int, int]
    """Size and length."""
    at: int
    """Which sequence."""
    taken: int


@memoize
def padded_batches(trace: Trace) -> tuple[PaddedBatch, ...]:
    """Return the batches by time: those with known lengths, or else those with a mask of lengths.

    A batch without padding is none of them, and a causal mask is no mask of lengths. There is none
    if the sequences are in order of their length: no other batches of them have less padding.
    """
    if not (trace.ops.shapes >= 0).any():
        return ()
    later = LaterCalls(trace)
    copied = _widened(trace, later, list(_copied(trace)))
    found = [*copied, *_padded(trace, later), *_packed(later)] or list(_masked(later))
    if all(one.length - max(one.lengths, default=0) < _MULTIPLE for one in found) and _in_order(
        [one.lengths for one in found]
    ):
        return ()
    start_ns = trace.ops.start_ns
    return tuple(sorted(found, key=lambda one: int(start_ns[one.row])))


def _in_order(batches: list[tuple[int, ...]]) -> bool:
    """Return whether each distinct batch has the lengths next to those of another, by no chance.

    ``batches`` are lengths in order.
    """
    distinct = sorted(set(batches))
    if not all(distinct) or any(a[-1] > b[0] for a, b in itertools.pairwise(distinct)):
        return False
    # Of all ways to deal the sequences into these batches, those that keep them in order.
    ways = math.lgamma(sum(map(len, distinct)) + 1) - math.lgamma(len(distinct) + 1)
    ways -= sum(math.lgamma(len(one) + 1) for one in distinct)
    return ways > -math.log(_CHANCE)


def _copied(trace: Trace) -> Iterator[PaddedBatch]:
    """Yield batches that copies of sequences fill, one after the other."""
    batch: list[_Fill] = []
    for fill in _fills(trace):
        if batch and (fill.batch != batch[-1].batch or fill.at <= batch[-1].at):
            yield from _filled(batch)
            batch = []
        batch.append(fill)
    yield from _filled(batch)


def _filled(batch: list[_Fill]) -> Iterator[PaddedBatch]:
    """Yield the batch of some fills; one that is filled by less than half is something else."""
    if len(batch) < 2:
        return
    size, length = batch[0].batch
    whole = size - len(batch)  # sequences as long as the batch need no cut
    taken = sum(fill.taken for fill in batch) + whole * length
    if 2 * whole <= size and taken < size * length:
        lengths = sorted((*(fill.taken for fill in batch), *(length for _ in range(whole))))
        yield PaddedBatch(batch[-1].row, size, length, taken / (size * length), tuple(lengths))


def _widened(trace: Trace, later: LaterCalls, batches: list[PaddedBatch]) -> list[PaddedBatch]:
    """Return filled batches, in order, as they are behind a pad of the whole batch in its step."""
    ops = trace.ops
    places = later.named("pad", "constant_pad_nd")[:_MOST]
    if not batches or not len(places):
        return batches
    filled = np.array([one.row for one in batches], np.int64)
    rows = later.rows[places]
    at = np.searchsorted(filled, rows) - 1
    near = (at >= 0) & (ops.thread[filled[at]] == ops.thread[rows])
    near &= ops.step[filled[at]] == ops.step[rows]
    widened = list(batches)
    for place, of in zip(places[near].tolist(), at[near].tolist(), strict=True):
        call, one = later.call(place), widened[of]
        length = None if call is None else _widened_length(call, one)
        if length is not None and one.filled is not None:
            part = one.filled * one.length / length
            row = int(later.rows[place])
            widened[of] = replace(one, row=row, length=length, filled=part)
    return widened


def _widened_length(call: Arguments, batch: PaddedBatch) -> int | None:
    """Return the length that a call pads all sequences of a batch to; None if it does not."""
    try:
        shape, pads = call.tensor(0).shape, call.integers(1)
    except UnknownWork:
        return None
    if len(shape) < 2 or sorted(shape[:2]) != sorted((batch.size, batch.length)):
        return None
    added = [before + behind for before, behind in zip(pads[::2], pads[1::2], strict=False)]
    by_dimension = [0] * (len(shape) - len(added)) + added[::-1]
    changed = [at for at, number in enumerate(by_dimension) if number]
    if len(changed) != 1 or changed[0] > 1 or shape[changed[0]] != batch.length:
        return None
    longer = batch.length + by_dimension[changed[0]]
    return longer if longer > batch.length else None


def _fills(trace: Trace) -> Iterator[_Fill]:
    """Yield the copies behind two views of a batch, by thread and time."""
    views = np.append(operators_named(trace, *CUTS), False)  # -1 is none
    copies = np.flatnonzero(operators_named(trace, "copy"))
    second = _before(trace, copies)
    copies, second = copies[views[second]], second[views[second]]
    first = _before(trace, second)
    copies, second, first = (one[views[first]][:_MOST] for one in (copies, second, first))
    for row, cut, view in zip(copies.tolist(), second.tolist(), first.tolist(), strict=True):
        calls = read_call(trace, view), read_call(trace, cut)
        try:
            if calls[0] is not None and calls[1] is not None:
                yield _fill(row, calls[0], calls[1])
        except UnknownWork:
            continue


def _before(trace: Trace, rows: I64) -> I64:
    """Return the operator that the same one calls before each row; -1 without one."""
    parent = trace.ops.parent
    at = rows - 1
    for _ in range(_LEVELS):
        inside = (at >= 0) & (parent[at] != parent[rows])
        at = np.where(inside, parent[at], at)
    same = (at >= 0) & (parent[at] == parent[rows]) & (at < rows)
    same &= trace.ops.thread[at] == trace.ops.thread[rows]
    return np.where(same, at, -1)


def _fill(row: int, first: Arguments, second: Arguments) -> _Fill:
    """Return what two views choose: a sequence and its places from the first one on.

    Raises UnknownWork if they choose anything else.
    """
    words = [reduced_name(call.name) for call in (first, second)]
    chosen, cut = (first, second) if words[0] == "select" else (second, first)
    if sorted(word == "select" for word in words) != [False, True]:
        raise UnknownWork
    shape, whole = first.tensor(0).shape, chosen.tensor(0).shape
    if not whole:
        raise UnknownWork
    share, of = cut_share(cut, reduced_name(cut.name))
    length = cut.tensor(0).shape[of]
    at = chosen.integer(1) % len(whole)
    size, index = whole[at], chosen.integer(2)
    if cut.integer(2) != 0 or sorted(shape[:2]) != sorted((size, length)) or index < 0:
        raise UnknownWork
    return _Fill(row, (size, length), index, round(share * length))


def _padded(trace: Trace, later: LaterCalls) -> Iterator[PaddedBatch]:
    """Yield batches whose sequences are padded one by one to one length."""
    step = trace.ops.step
    run: list[tuple[int, tuple[int, ...], int]] = []
    last = 0
    for place in later.named("pad", "constant_pad_nd")[:_MOST].tolist():
        call = later.call(place)
        try:
            one = None if call is None else _lengthened(call)
        except UnknownWork:
            one = None
        row = int(later.rows[place])
        apart = place - last > NEAR or (run and step[run[-1][0]] != step[row])
        if one is None or apart or (run and run[-1][1] != one[0]):
            yield from _run(run)
            run = []
        last = place
        if one is not None:
            run.append((row, *one))
    yield from _run(run)


def _lengthened(call: Arguments) -> tuple[tuple[int, ...], int]:
    """Return the shape that a call pads to, and what it keeps of the first dimension's length.

    A pad of less than 0 cuts. Raises UnknownWork if the call pads other dimensions as well or at
    the front, or if it keeps nothing.
    """
    shape, pads = call.tensor(0).shape, call.integers(1)
    if not shape or len(pads) != 2 * len(shape) or any(pads[:-1]):
        raise UnknownWork
    before, length = shape[0], shape[0] + pads[-1]
    if length < 1:
        raise UnknownWork
    return (length, *shape[1:]), min(before, length)


def _run(run: list[tuple[int, tuple[int, ...], int]]) -> Iterator[PaddedBatch]:
    """Yield the batch of sequences padded to one shape; equal lengths are no sequences."""
    lengths = [length for _, _, length in run]
    if len(set(lengths)) > 1:
        row, (length, *_), _ = run[-1]
        filled = sum(lengths) / (len(run) * length)
        yield PaddedBatch(row, len(run), length, filled, tuple(sorted(lengths)))


def _packed(later: LaterCalls) -> Iterator[PaddedBatch]:
    """Yield batches that are packed for a recurrent layer: its rows are those of all lengths."""
    for place in later.named("_pack_padded_sequence")[:_MOST].tolist():
        call = later.call(place)
        behind = (later.call(at) for at in later.behind(place))
        layer = next((c for c in behind if c and reduced_name(c.name) in _RECURRENT), None)
        try:
            if call is None or layer is None or len(layer.tensor(0).shape) != 2:
                continue
            size, length = call.tensor(0).shape[:2]
            size, length = (size, length) if call.flag(2) else (length, size)
        except (UnknownWork, ValueError):
            continue
        filled = layer.tensor(0).shape[0] / max(size * length, 1)
        if filled < 1:
            yield PaddedBatch(int(later.rows[place]), size, length, filled)


def _masked(later: LaterCalls) -> Iterator[PaddedBatch]:
    """Yield batches with a mask of lengths, by a comparison or by the attention that reads it."""
    places = later.named(*_COMPARES, *_ATTENDS)
    first, number = later.distinct(places)
    calls = (later.call(place) for place in first.tolist())
    sizes = [None if call is None else _of_lengths(call) or _of_keys(call) for call in calls]
    masks = np.array([one is not None for one in sizes], np.bool_)
    of_lengths = np.flatnonzero(masks[number])[:_MOST] if len(places) else number
    for place, call in zip(places[of_lengths].tolist(), number[of_lengths].tolist(), strict=True):
        if (own := sizes[call]) is not None:
            size, length = own
            yield PaddedBatch(int(later.rows[place]), size, length, None)


def _of_lengths(call: Arguments) -> tuple[int, int] | None:
    """Return size and length of a batch whose places and lengths are compared.

    Queries compared with keys are as many, or belong to no batch: those are causal.
    """
    tensors = list(call.tensors())
    if reduced_name(call.name) not in _COMPARES or len(tensors) != 2:
        return None
    if any(one.dtype not in _WHOLE_NUMBERS for one in tensors):
        return None
    places, lengths = sorted(tensors, key=lambda one: one.shape[-1:], reverse=True)
    if len(lengths.shape) != 2 or lengths.shape[1] != 1 or not places.shape:
        return None
    size, length = lengths.numel, places.shape[-1]
    is_mask = places.numel == length > 1 and size > 1 and size != length
    return (size, length) if is_mask else None


def _of_keys(call: Arguments) -> tuple[int, int] | None:
    """Return size and length of a batch whose keys are masked, equally for all queries."""
    shapes = [one.shape for one in call.tensors() if one.shape]
    if reduced_name(call.name) not in _ATTENDS or any(len(one) != _SCORES for one in shapes):
        return None
    masks = [one for one in shapes if one[1:3] == (1, 1) and one[0] > 1 and one[3] > 1]
    others = [one for one in shapes if one not in masks]
    if len(masks) != 1 or not others or any(one[0] != masks[0][0] for one in others):
        return None
    size, _, _, length = masks[0]
    return (size, length) if any(length in one[2:] for one in others) else None
