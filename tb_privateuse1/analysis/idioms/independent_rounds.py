"""Find Python loops over a tensor's items with independent iterations: one operator can do all.

These are equal rounds of operators, each on the next place of the tensor.

A profiler records no identity of tensors. That rounds do not need each other is known by sizes: a
round may read places of tensors, what it has written itself, and tensors of sizes that it does not
write. What it reads of a size that it writes only later may be the result of the round before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.dependent_rounds import Dependence
from tb_privateuse1.analysis.idioms.nodes import operators_named
from tb_privateuse1.analysis.idioms.repeated_sequences import RangeHashes, Rounds, find_rounds
from tb_privateuse1.analysis.work.arguments import (
    Arguments,
    UnknownWork,
    item_bytes,
)
from tb_privateuse1.analysis.work.calls import group_calls, read_call
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace.columns import ends_run, following, lookup, mask_of, starts_run
from tb_privateuse1.trace.groupby import LAST, group_rows
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools, OpRow64, Table, ThreadRow

PLACES = ("select", "slice", "narrow")
PARTS = ("unbind", "split", "chunk")
ROUNDS = 4
"""Rounds of a loop: query, key and value are three."""
_LONGEST = 64
"""Places of a round: a model that runs on one item has many of its own."""


class IndependentRounds(Table, frozen=True):
    """Loops over items; ``place`` is the operator that takes the first one.

    ``independent`` says that no round can need another.
    """

    thread: ThreadRow
    start_ns: I64
    end_ns: I64
    rounds: I64
    place: OpRow64
    independent: Bools


class _Loop(Struct, frozen=True):
    """A loop: indices among the operators, and the items of its first round.

    An item has its bytes and those of its tensor, by when it is taken; None if rounds take the
    items of each other.
    """

    first: int
    second: int
    until: int
    rounds: int
    items: dict[int, tuple[int, int]] | None


def independent_rounds(trace: Trace, top: I64) -> IndependentRounds:
    """Return the loops whose rounds take one item after the other.

    ``top`` are the operators that no other one called, by thread and start.
    """
    ops = trace.ops
    loops = [*_by_places(trace, top), *_by_parts(trace, top)]
    # Where a gradient is computed in each round, the batch is split on purpose.
    gradient = np.sort(ops.start_ns[(ops.sequence >= 0) & (ops.forward_thread > 0)], kind="stable")
    chosen, independent = [], []
    dependence = Dependence(trace, top)
    for one in loops:
        start, end = int(ops.start_ns[top[one.first]]), int(ops.end_ns[top[one.until - 1]])
        behind = int(ops.start_ns[top[one.second]])
        trains = np.ptp(np.searchsorted(gradient, (start, end))) > 0
        thread = int(ops.thread[top[one.first]])
        if not trains:
            chosen.append(one)
            apart = one.items is not None
            independent.append(
                apart and not dependence.is_recurrent(thread, start, behind, one.items or {})
            )
    first = np.array([one.first for one in chosen], np.int64)
    length = np.array([one.until - one.first for one in chosen], np.int64)
    # Equal loops are one in the program: what one of them shows holds for all.
    _, same = group_rows(ops.name[top[first]], ops.shapes[top[first]], length)
    needed = mask_of(same[~np.array(independent, np.bool_)], len(first))
    return IndependentRounds(
        thread=ops.thread[top[first]],
        start_ns=ops.start_ns[top[first]],
        end_ns=ops.end_ns[top[np.array([one.until for one in chosen], np.int64) - 1]],
        rounds=np.array([one.rounds for one in chosen], np.int64),
        place=top[first],
        independent=~needed[same],
    )


def _by_places(trace: Trace, top: I64) -> Iterator[_Loop]:
    """Yield the loops that take the next place of a tensor in each round."""
    ops = trace.ops
    hashes = RangeHashes(ops.name[top])
    anchors = np.flatnonzero(operators_named(trace, *PLACES)[top])
    until = following(anchors, len(top))
    _, symbol = group_rows(
        hashes.of(anchors, until).view(np.int64),
        until - anchors,
        ops.shapes[top[anchors]],
        ops.thread[top[anchors]],
        ops.step[top[anchors]],
    )
    # The last round has no place behind it that would end it.
    read = _Places(trace)
    segments = _advancing(read, top[anchors], symbol, find_rounds(symbol, _LONGEST, ROUNDS - 1))
    begins = np.flatnonzero(starts_run(ops.thread[top], ops.step[top]))
    edge = np.append(begins, len(top))[np.searchsorted(begins, anchors, side="right")]
    for i, loop in enumerate(zip(*_whole(anchors, edge, hashes, segments), strict=True)):
        first, second, end, rounds = (int(one) for one in loop)
        begin, period = int(segments.first[i]), int(segments.period[i])
        taken = anchors[begin : begin + period * int(segments.rounds[i])].reshape(-1, period)
        items = read.items(top[taken]) if rounds >= ROUNDS else {}
        if items != {}:
            yield _Loop(first, second, end, rounds, items)
        elif rounds >= ROUNDS:
            yield from _passes(read, top, taken, end)


def _advancing(read: _Places, rows: I64, symbol: I64, segments: Rounds) -> Rounds:
    """Return segments; those inside of it replace one that takes the same items in each round.

    Steps without marks are such rounds, and hide the loops in them. ``rows`` are the anchors.
    """
    known: dict[bytes, Rounds] = {}
    parts = [segments.take(np.empty(0, np.int64))]
    for i in range(len(segments)):
        first, period = int(segments.first[i]), int(segments.period[i])
        some = slice(first, first + period * int(segments.rounds[i]))
        if period < ROUNDS or not read.stays(rows[some].reshape(-1, period)):
            parts.append(segments.take(np.array([i])))
            continue
        _, one = np.unique(symbol[some], return_inverse=True)  # of all steps alike
        key = one.tobytes()
        if key not in known:
            known[key] = find_rounds(one, period - 1, ROUNDS - 1)
        inner = known[key]
        parts.append(Rounds(inner.first + first, inner.period, inner.rounds))
    columns = (
        np.concatenate([getattr(one, name) for one in parts]) for name, _ in segments.columns()
    )
    return Rounds(*columns)


def _passes(read: _Places, top: I64, taken: I64, end: int) -> Iterator[_Loop]:
    """Yield a loop for each time that all rounds come again: an inner loop, or steps without marks.

    ``taken`` are the places, a row per round, as indices of ``top``; the last round ends at
    ``end``, and may be missing.
    """
    cycle, begin = read.cycle(top[taken])
    if cycle < ROUNDS or (begin - len(taken)) % cycle > 1:
        return
    length = int(taken[1, 0] - taken[0, 0])
    for first in range(begin, len(taken), cycle):
        rounds = taken[first : first + cycle]
        items = read.items(top[rounds])
        until = int(rounds[-1, 0]) + length if first + cycle < len(taken) else end
        if items != {}:
            yield _Loop(int(rounds[0, 0]), int(rounds[1, 0]), until, cycle, items)


def _by_parts(trace: Trace, top: I64) -> Iterator[_Loop]:
    """Yield the loops over the parts of a tensor that is split before: a round for each part.

    Tensors that are split in a row are taken in turn, as by ``zip``.
    """
    ops = trace.ops
    splits = np.flatnonzero(operators_named(trace, *PARTS)[top])
    if not len(splits):
        return
    _, call = group_calls(trace, top, ("name", "shapes"))  # parts have one size
    hashes = RangeHashes(call)
    ends = np.flatnonzero(ends_run(ops.thread[top], ops.step[top])) + 1
    once, split = group_calls(trace, top[splits])
    read = [_parts(read_call(trace, row)) for row in top[splits[once]].tolist()]
    counts, sizes = (np.array(column, np.int64)[split] for column in zip(*read, strict=True))
    stops = ends[np.searchsorted(ends, splits, side="right")]
    room = np.where(counts >= ROUNDS, (stops - splits - 1) // np.maximum(counts, 1), 0)
    begins = starts_run(splits - np.arange(len(splits)), counts, stops)
    since = np.flatnonzero(begins)[np.cumsum(begins) - 1]
    some = np.flatnonzero(room)
    chosen = (column[some].tolist() for column in (splits + 1, stops, counts, since, room))
    for i, first, end, parts, earliest, longest in zip(some.tolist(), *chosen, strict=True):
        length = _round_length(call, hashes, first, end, parts, longest)
        if length:
            start = int(ops.start_ns[top[first]])
            taken = sizes[earliest : i + 1].tolist()
            items = {start - at: (size, size * parts) for at, size in enumerate(taken)}
            yield _Loop(first, first + length, first + length * parts, parts, items)


def _round_length(
    call: I64, hashes: RangeHashes, first: int, end: int, rounds: int, longest: int
) -> int:
    """Return the length of the first round, where there are ``rounds`` equal ones; else 0.

    Several lengths fit where a loop inside goes on beyond them: then it is the one behind whose
    last round something else begins.
    """
    again = np.flatnonzero(call[first + 1 : first + longest + 1] == call[first]) + 1
    until = first + again * rounds
    fits = hashes.of(np.full(len(again), first), until - again) == hashes.of(first + again, until)
    # One more round would be of something else.
    more = until + again <= end
    further = np.where(more, until + again, until)
    fits &= ~more | (hashes.of(until - again, until) != hashes.of(until, further))
    goes_on = (until < end) & (call[np.minimum(until, len(call) - 1)] == call[first])
    found: list[int] = again[fits][np.argsort(goes_on[fits], kind="stable")].tolist()
    return found[0] if found else 0


def _parts(call: Arguments | None) -> tuple[int, int]:
    """Return the number of parts of a split tensor, and the bytes of one; 0 if unknown."""
    try:
        if call is None:
            return 0, 0
        x, word = call.tensor(0), reduced_name(call.name)
        if word == "unbind":
            count = x.shape[call.integer(1)]
        elif word == "chunk":
            count = call.integer(1)
        else:
            count = -(-x.shape[call.integer(2)] // call.integer(1))
        return count, x.bytes // max(count, 1)
    except (UnknownWork, IndexError, ZeroDivisionError):
        return 0, 0


def _whole(
    anchors: I64, edge: I64, hashes: RangeHashes, segments: Rounds
) -> tuple[I64, I64, I64, I64]:
    """Return the first operator, that of the second round, the end, and the number of rounds.

    All but the number are indices into the outermost operators; ``edge`` is where the step of each
    anchor ends.
    """
    first, second = anchors[segments.first], anchors[segments.first + segments.period]
    length = second - first
    behind = segments.first + segments.period * segments.rounds
    last_edge = edge[behind - 1]
    last = np.minimum(lookup(anchors, behind, LAST), last_edge)
    fits = last + length <= last_edge
    until = np.where(fits, last + length, last)
    one_more = fits & (hashes.of(last, until) == hashes.of(first, second))
    return first, second, np.where(one_more, until, last), segments.rounds + one_more


class _Places:
    """Reads which places of tensors the rounds of a loop take."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._index: dict[tuple[int, int], int | None] = {}

    def items(self, rows: np.ndarray) -> dict[int, tuple[int, int]] | None:
        """Return the bytes of the places that advance, and of all of their tensors.

        The keys are the starts in the first round; ``rows`` are operators, a row per round. Where
        a round takes a place of its item, that is what it reads. None for two different places of
        a tensor in a round: its own and that of the round before.
        """
        found: dict[int, tuple[int, int]] = {}
        taken: dict[int, int] = {}
        divided: set[int] = set()
        for column in rows.T.tolist():
            index = [self._at(row) for row in column]
            known = [one for one in index if one is not None]
            steps = set(np.diff(known).tolist())
            if len(known) < len(index) or len(steps) != 1:
                return {}
            first = column[0]
            size, whole = place_bytes(read_call(self._trace, first))
            of = [start for start, (item, _) in found.items() if item == whole and whole]
            if steps != {0}:
                if taken.setdefault(int(self._trace.ops.shapes[first]), known[0]) != known[0]:
                    return None
            elif not of:
                continue
            divided.update(of)
            whole = found[of[-1]][1] if of else whole
            found[int(self._trace.ops.start_ns[first])] = size, whole
        return {start: one for start, one in found.items() if start not in divided}

    def stays(self, rows: np.ndarray) -> bool:
        """Return whether all rounds take the same known places."""
        index = [[self._at(row) for row in column] for column in rows.tolist()]
        return None not in index[0] and all(one == index[0] for one in index)

    def cycle(self, rows: np.ndarray) -> tuple[int, int]:
        """Return after how many rounds the places come again in equal order, and the first of them.

        The places of an outer loop stay meanwhile. The number is 0 if they do not come again.
        """
        index = np.array([[self._at(row) for row in column] for column in rows.tolist()], object)
        changes = index[1:] != index[:-1]
        for column in index.T:
            again = np.flatnonzero(column[1:] == column[0]) + 1
            cycle = int(again[np.argmax(again > 1)]) if (again > 1).any() else 0
            if not cycle or (column[:cycle] == column[0]).all():
                continue
            outer = (index[cycle:] != index[:-cycle]).any(axis=0)
            at = np.flatnonzero(changes[:, outer].any(axis=1)) + 1
            first = int(at[0]) % cycle if len(at) else 0
            if (at % cycle == first).all():
                return cycle, first
        return 0, 0

    def _at(self, row: int) -> int | None:
        """Return the index that a place begins at; None if it was not recorded."""
        key = int(self._trace.ops.name[row]), int(self._trace.ops.concrete[row])
        if key not in self._index:
            self._index[key] = _first_index(read_call(self._trace, row))
        return self._index[key]


def first_indices(trace: Trace, rows: I64) -> tuple[I64, Bools]:
    """Return the index at which the place of each operator begins, and whether it is recorded."""
    first, call = group_rows(trace.ops.name[rows], trace.ops.concrete[rows])
    found = [_first_index(read_call(trace, row)) for row in rows[first].tolist()]
    index = np.array([0 if one is None else one for one in found], np.int64)
    known = np.array([one is not None for one in found], np.bool_)
    return index[call], known[call]


def _first_index(call: Arguments | None) -> int | None:
    """Return the index at which a place begins, or None; ``slice(x, dim, start, …)``."""
    if call is None:
        return None
    try:
        return call.integer(2) if call.value(2) else None
    except UnknownWork:
        return None


def place_bytes(call: Arguments | None) -> tuple[int, int]:
    """Return the bytes of a place and of its tensor, 0 if they are unknown."""
    try:
        if call is None:
            return 0, 0
        x, dim, start = call.tensor(0), call.integer(1), call.integer(2)
        count = 1
        if reduced_name(call.name) == "slice":
            count = min(call.integer(3), x.shape[dim]) - start
        elif reduced_name(call.name) == "narrow":
            count = call.integer(3)
        whole = math.prod(x.shape) * item_bytes(x.dtype)
        return whole // max(x.shape[dim], 1) * count, whole
    except (UnknownWork, IndexError):
        return 0, 0
