"""Loops over the items of a tensor: equal rounds of operators, each on the next place of it.

A profiler records no identity of tensors. That rounds do not need each other is known by sizes: a
round may read places of tensors, what it has written itself, and tensors of sizes that it does not
write. What it reads of a size that it writes only later may be the result of the round before.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.idioms.nodes import Graph, graph
from tb_privateuse1.analysis.idioms.rounds import Rounds, find_rounds
from tb_privateuse1.analysis.work.arguments import (
    Arguments,
    UnknownWork,
    item_bytes,
    parse_arguments,
)
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace.groupby import distinct_values, group_rows
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I32, I64, Bools, Table

PLACES = ("select", "slice", "narrow")
_ROUNDS = 4
_LONGEST = 64
"""Places of a round: a model that runs on one item has many of its own."""
_LAYERS = re.compile("addmm|linear|norm|convolution")
"""Operators whose vectors are parameters: a bias may have as many bytes as one row."""
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)


@dataclass(frozen=True)
class ItemLoops(Table):
    """Loops, by thread and start; ``place`` is the operator that takes the first item."""

    thread: I32
    start_ns: I64
    end_ns: I64
    rounds: I64
    place: I64


def item_loops(trace: Trace, top: I64) -> ItemLoops:
    """Return the loops whose rounds take one item after the other and do not need each other.

    ``top`` are the operators that no other one called, by thread and start.
    """
    ops = trace.ops
    anchors = np.flatnonzero(_places(trace)[ops.name[top]])
    if len(anchors) <= _ROUNDS:
        return ItemLoops.empty()
    hashes = _Hashes(ops.name[top])
    until = np.append(anchors[1:], len(top))
    _, symbol = group_rows(
        hashes.of(anchors, until).view(np.int64),
        until - anchors,
        ops.shapes[top[anchors]],
        ops.thread[top[anchors]],
        ops.step[top[anchors]],
    )
    # The last round has no place behind it that would end it.
    stretches = find_rounds(symbol, _LONGEST, _ROUNDS - 1)
    loops = _whole(top, anchors, hashes, stretches)
    return _independent(trace, top, anchors, stretches, loops)


class _Hashes:
    """Hashes of ranges of a column, for equal ranges equal wherever they are; O(n) in all."""

    def __init__(self, column: I32) -> None:
        weight = np.full(len(column) + 1, _BASE, np.uint64)
        back = np.full(len(column) + 1, _INVERSE, np.uint64)
        weight[0] = back[0] = 1
        self._back = np.cumprod(back)
        values = (column.astype(np.uint64) + np.uint64(1)) * np.uint64(_BASE)
        self._sum = np.append(np.uint64(0), np.cumsum(values * np.cumprod(weight)[:-1]))

    def of(self, begin: I64, end: I64) -> np.ndarray:
        """Return the hash of each range, modulo 2 to the 64."""
        hashes: np.ndarray = (self._sum[end] - self._sum[begin]) * self._back[begin]
        return hashes


def _places(trace: Trace) -> Bools:
    """Return a flag per name of the trace: such operators take a place of a tensor."""
    flags = np.zeros(len(trace.strings) + 1, np.bool_)
    for name in distinct_values(trace.ops.name).tolist():
        flags[name] = name >= 0 and reduced_name(trace.text(name)) in PLACES
    return flags


def _whole(top: I64, anchors: I64, hashes: _Hashes, stretches: Rounds) -> tuple[I64, I64, I64, I64]:
    """Return the first operator, that of the second round, the end, and the number of rounds.

    All but the number are indices into ``top``.
    """
    first, second = anchors[stretches.first], anchors[stretches.first + stretches.period]
    length = second - first
    behind = stretches.first + stretches.period * stretches.rounds
    last = np.append(anchors, len(top))[np.minimum(behind, len(anchors))]
    fits = last + length <= len(top)
    until = np.where(fits, last + length, last)
    one_more = fits & (hashes.of(last, until) == hashes.of(first, second))
    return first, second, np.where(one_more, until, last), stretches.rounds + one_more


def _independent(
    trace: Trace,
    top: I64,
    anchors: I64,
    stretches: Rounds,
    loops: tuple[I64, I64, I64, I64],
) -> ItemLoops:
    """Return the loops over items whose rounds do not need each other's results."""
    ops = trace.ops
    first, second, until, rounds = loops
    start, end = ops.start_ns[top[first]], ops.end_ns[top[np.maximum(until - 1, 0)]]
    behind = ops.start_ns[top[np.minimum(second, len(top) - 1)]]
    gradient = np.sort(ops.start_ns[(ops.sequence >= 0) & (ops.forward_thread > 0)])
    trains = np.searchsorted(gradient, end) > np.searchsorted(gradient, start)
    read = _Places(trace)
    chosen = []
    for i in np.flatnonzero((rounds >= _ROUNDS) & ~trains).tolist():
        begin, period = int(stretches.first[i]), int(stretches.period[i])
        places = top[anchors[begin : begin + period * int(stretches.rounds[i])]]
        items = read.items(places.reshape(-1, period))
        window = int(ops.thread[top[first[i]]]), int(start[i]), int(behind[i])
        if items and not _recurrent(trace, read, *window, items):
            chosen.append(i)
    return ItemLoops(
        thread=ops.thread[top[first[chosen]]],
        start_ns=start[chosen],
        end_ns=end[chosen],
        rounds=rounds[chosen],
        place=top[first[chosen]],
    )


class _Places:
    """Reads which places of tensors the rounds of a loop take."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._index: dict[tuple[int, int], int | None] = {}

    def items(self, rows: np.ndarray) -> dict[int, int]:
        """Return the bytes of the places that advance, by their start in the first round.

        ``rows`` are operators, a row per round. Without any such place, or with two different
        ones of a tensor in a round, which may be its own and that of the round before, there are
        none.
        """
        found: dict[int, int] = {}
        taken: dict[int, int] = {}
        for column in rows.T.tolist():
            index = [self._at(row) for row in column]
            known = [one for one in index if one is not None]
            steps = set(np.diff(known).tolist())
            if len(known) < len(index) or len(steps) != 1:
                return {}
            if steps != {0}:
                first = column[0]
                if taken.setdefault(int(self._trace.ops.shapes[first]), known[0]) != known[0]:
                    return {}
                found[int(self._trace.ops.start_ns[first])] = _place_bytes(self._call(first))
        return found

    def reads(self, found: Graph, node: int) -> list[int]:
        """Return the bytes of what a node reads, but for the vectors of a layer."""
        low, high = np.searchsorted(found.reads.node, (node, node + 1))
        sizes: list[int] = found.reads.bytes[low:high].tolist()
        call = None
        if _LAYERS.search(found.words[found.nodes.word[node]]):
            call = self._call(int(found.nodes.op[node]))
        for one in () if call is None else call.tensors():
            if len(one.shape) == 1 and one.dtype and one.bytes in sizes:
                sizes.remove(one.bytes)
        return sizes

    def _at(self, row: int) -> int | None:
        """Return the index that a place begins at; None if it was not recorded."""
        key = int(self._trace.ops.name[row]), int(self._trace.ops.concrete[row])
        if key not in self._index:
            self._index[key] = _first_index(self._call(row))
        return self._index[key]

    def _call(self, row: int) -> Arguments | None:
        ops, text = self._trace.ops, self._trace.text
        columns = (ops.shapes, ops.dtypes, ops.strides, ops.concrete)
        if ops.shapes[row] < 0:
            return None
        try:
            return parse_arguments(text(ops.name[row]), *(text(one[row]) for one in columns))
        except UnknownWork:
            return None


def _first_index(call: Arguments | None) -> int | None:
    """Return the index at which a place begins, or None; ``slice(x, dim, start, …)``."""
    if call is None:
        return None
    try:
        return call.integer(2) if call.value(2) else None
    except UnknownWork:
        return None


def _place_bytes(call: Arguments | None) -> int:
    """Return the bytes of a place, 0 if they are unknown."""
    try:
        if call is None:
            return 0
        x, dim, start = call.tensor(0), call.integer(1), call.integer(2)
        count = 1
        if reduced_name(call.name) == "slice":
            count = min(call.integer(3), x.shape[dim]) - start
        elif reduced_name(call.name) == "narrow":
            count = call.integer(3)
        return math.prod(x.shape) // max(x.shape[dim], 1) * count * item_bytes(x.dtype)
    except (UnknownWork, IndexError):
        return 0


def _recurrent(
    trace: Trace, read: _Places, thread: int, start_ns: int, end_ns: int, items: dict[int, int]
) -> bool:
    """Return whether a round of a loop may read what the round before has written.

    ``items`` are the bytes of its places, by the time at which it takes them. A read takes the
    most recent result or place of its size that nobody has read yet. A read without one may be of
    the round before, if that writes the size behind it. A result of unknown size is what such a
    read takes.
    """
    found = graph(trace)
    inside = _nodes_of(found, trace, thread, start_ns, end_ns)
    begin = trace.ops.start_ns[found.nodes.op[inside]].tolist()
    written: list[int] = found.nodes.written_bytes[inside].tolist()
    fresh: Counter[int] = Counter()
    waiting = sorted(items.items())
    unexplained = []
    for at, node in enumerate(range(inside.start, inside.stop)):
        while waiting and waiting[0][0] <= begin[at]:
            fresh[waiting.pop(0)[1]] += 1
        for size in read.reads(found, node):
            if fresh[size]:
                fresh[size] -= 1
            elif MISSING in written[:at]:
                written[written.index(int(MISSING))] = size
            else:
                unexplained.append((at, size))
        fresh[written[at]] += 1
    return any({size, MISSING} & set(written[at:]) for at, size in unexplained)


def _nodes_of(found: Graph, trace: Trace, thread: int, start_ns: int, end_ns: int) -> slice:
    """Return the nodes of a thread in a window, which lie together."""
    low, high = np.searchsorted(found.nodes.thread, (thread, thread + 1))
    begin = trace.ops.start_ns[found.nodes.op[low:high]]
    first, last = np.searchsorted(begin, (start_ns, end_ns))
    return slice(int(low + first), int(low + last))
