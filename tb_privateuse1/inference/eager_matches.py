"""Give kernels of graph replays the operators and modules of an eager run in the same recording.

A program whose graph has no recorded capture may run without the graph, too: before the capture, or
for batches that no graph has. Then the same kernels follow one another, launched one by one. The
longest block of a replay's kernels that an eager run has in exactly this order is matched.
Where that block occurs several times, only what all of them agree on is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.inference import window_ranges as ranges
from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.captures import CapturedOps, Captures
from tb_privateuse1.trace.model import ANNOTATION, KERNEL, NONE, Trace
from tb_privateuse1.trace.table import I32, I64

MARK = "(matched with an eager run)"
"""The outermost range of what is matched, and not recorded by a capture."""

_FEWEST = 8
"""Kernels of a block: fewer follow one another by chance, as in any two layers of a network."""
_FEWEST_NAMES = 2
"""Of kernels in a block: one kernel again and again is any loop of any program. A plain network may
have no more than two, a product and an activation by turns."""
_LEAST = 0.5
"""Of a replay's kernels: a block of less is another program with a part in common."""
_BASE = np.uint64(0x9E3779B97F4A7C15)
"""An odd factor whose powers spread over 64 bits: the golden ratio, as in Fibonacci hashing."""
_INVERSE = np.uint64(pow(int(_BASE), -1, 1 << 64))


class _Block(Struct, frozen=True):
    """The kernels of a replay that an eager run has, and each place of them there."""

    first: int
    """In the replay, in order of time."""
    length: int
    places: I64
    """In the sequence of eager kernels."""


def add_matches(trace: Trace, replays: Sequence[I64]) -> Trace:
    """Return the trace with the ranges and operators of replays that an eager run has, too.

    ``replays`` are the kernels of each launch of a graph without a capture.
    """
    kernels = trace.kernels
    eager = _eager(trace)
    sequences = [_ordered(trace, rows) for rows in replays]
    names = kernels.name[eager].astype(np.int64)
    # Kernels of two threads do not follow one another: a number that no name has is between them.
    threads = trace.launches.thread[kernels.launch[eager]]
    edges = np.flatnonzero(np.diff(threads)) + 1
    names, eager = np.insert(names, edges, -1), np.insert(eager, edges, NONE)
    blocks: dict[bytes, _Block | None] = {}
    for rows in sequences:
        wanted = kernels.name[rows].astype(np.int64)
        if (key := wanted.tobytes()) not in blocks:
            blocks[key] = longest_block(names, wanted)
    found = [one for one in blocks.values() if one is not None]
    if not found:
        return trace
    strings = Strings(trace.strings)
    made = _made(trace, _windows(trace, eager, found), strings)
    node, op = kernels.capture.copy(), kernels.captured_op.copy()
    for rows in sequences:
        block = blocks[kernels.name[rows].astype(np.int64).tobytes()]
        if block is not None:
            at = rows[block.first : block.first + block.length]
            node[at], op[at] = made.common(trace, eager, block)
    return made.trace_with(trace, node, op, strings)


def _eager(trace: Trace) -> I64:
    """Return the kernels that a call of an operator launched alone, by thread and time."""
    kernels, launches = trace.kernels, trace.launches
    launched = kernels.launch >= 0
    alone = np.bincount(kernels.launch[launched], minlength=len(launches)) == 1
    chosen = launched & (kernels.op >= 0) & (kernels.kind == KERNEL)
    rows = np.flatnonzero(chosen & np.append(alone, False)[kernels.launch])
    call = kernels.launch[rows]
    ordered: I64 = rows[np.lexsort((launches.start_ns[call], launches.thread[call]))]
    return ordered


def _ordered(trace: Trace, rows: I64) -> I64:
    """Return the kernels among the activities of a replay, in order of time."""
    own: I64 = rows[trace.kernels.kind[rows] == KERNEL]
    return own[np.argsort(trace.kernels.start_ns[own], kind="stable")]


def longest_block(names: I64, wanted: I64) -> _Block | None:
    """Return the longest part of ``wanted`` that is in ``names`` as it is; None of too few.

    None, too, if two parts of the greatest length are there, or if its places overlap: nothing
    tells which one it is.
    """
    least = max(_FEWEST, int(np.ceil(_LEAST * len(wanted))))
    most = min(len(wanted), len(names))
    best: tuple[int, I64, I64] | None = None
    # A part of a part is there, too: lengths that are found are all up to the greatest.
    while least <= most:
        length = (least + most + 1) // 2 if best else least
        parts, places = _common(names, wanted, length)
        if len(parts):
            best, least = (length, parts, places), length + 1
        elif best is None:
            return None
        else:
            most = length - 1
    if best is None or len(best[1]) > 1:
        return None
    length, parts, places = best
    own = wanted[parts[0] : parts[0] + length]
    # Places apart are no more kernels than there are: the tables of a block stay that small.
    if len(np.unique(own)) < _FEWEST_NAMES or (np.diff(places) < length).any():
        return None
    equal = [place for place in places.tolist() if (names[place : place + length] == own).all()]
    return _Block(int(parts[0]), length, np.array(equal, np.int64)) if equal else None


def _common(names: I64, wanted: I64, length: int) -> tuple[I64, I64]:
    """Return where parts of a length that both have begin in ``wanted``, and in ``names``."""
    theirs, own = _hashes(names, length), _hashes(wanted, length)
    return np.flatnonzero(np.isin(own, theirs)), np.flatnonzero(np.isin(theirs, own))


def _hashes(values: I64, length: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return a number for each part of a length, equal for equal parts: a polynomial of it."""
    power = np.cumprod(np.full(len(values), _BASE, np.uint64))
    sums = np.append(np.uint64(0), np.cumsum((values + 2).astype(np.uint64) * power))
    back = np.cumprod(np.full(len(values), _INVERSE, np.uint64))
    parts = sums[length:] - sums[:-length]
    numbers: np.ndarray[tuple[int], np.dtype[np.uint64]] = parts * back[: len(parts)]
    return numbers


class _Made(Struct, frozen=True):
    """The ranges and operators of the eager run around the blocks, as those of captures are."""

    captures: Captures
    operators: CapturedOps
    node: I32
    """By launch, a row of ``captures``, or ``NONE``."""
    op: I32
    inputs: I64
    """By operator a number, equal for equal inputs."""

    def common(self, trace: Trace, eager: I64, block: _Block) -> tuple[I32, I32]:
        """Return the range and operator of each kernel of a block; ``NONE`` if places differ."""
        rows = eager[block.places[:, None] + np.arange(block.length)]
        call = trace.kernels.launch[rows]
        node, op = self.node[call], self.op[call]
        inputs = np.append(self.inputs, NONE)[op]
        same = (node == node[0]).all(0)
        known = same & (inputs == inputs[0]).all(0)
        return np.where(same, node[0], NONE), np.where(known, op[0], NONE)

    def trace_with(self, trace: Trace, node: I32, op: I32, strings: Strings) -> Trace:
        """Return the trace with these tables behind those of its captures.

        ``node`` and ``op`` are by kernel: rows of the captures' tables as they were, or of these.
        """
        return replace(
            trace,
            kernels=replace(trace.kernels, capture=node, captured_op=op),
            captures=self.captures,
            captured_ops=self.operators,
            strings=tuple(strings.all),
        )


def _windows(trace: Trace, eager: I64, blocks: Sequence[_Block]) -> I64:
    """Return when the blocks are launched, a row each, with the ranges inside of each alone."""
    launches, call = trace.launches, trace.kernels.launch
    outer = _Outer(trace)
    found = []
    for block in blocks:
        for place in block.places.tolist():
            first, last = (int(call[eager[at]]) for at in (place, place + block.length - 1))
            end = int(launches.end_ns[last])
            before = int(eager[place - 1]) if place else NONE
            start = int(launches.end_ns[call[before]]) if before >= 0 else 0
            found.append((max(start, outer.start_of(first, end)) + 1, end))
    starts, ends = intervals.union(*np.array(found, np.int64).T)
    return np.stack((starts, ends - 1), axis=1)


class _Outer:
    """The ranges around launches that go on behind a block: no part of it, but for its modules."""

    def __init__(self, trace: Trace) -> None:
        ops, frames, launches = trace.ops, trace.frames, trace.launches
        self._parent = call_tree.parents_of_all(trace)
        self._start = np.concatenate((ops.start_ns, frames.start_ns))
        self._end = np.concatenate((ops.end_ns, frames.end_ns))
        self._inner = call_tree.inner_range(trace, launches.around, launches.frame)
        no_operator = np.zeros(len(ops), np.bool_)
        self._is_module = np.concatenate((no_operator, call_tree.is_module(trace)))

    def start_of(self, launch: int, end_ns: int) -> int:
        """Return the start that ranges of a block lie behind; ``launch`` is its first one.

        It is that of the innermost range around, or lies before the outermost module around.
        """
        row, start = int(self._inner[launch]), 0
        while row >= 0:
            if self._end[row] >= end_ns:
                if self._is_module[row]:
                    start = int(self._start[row]) - 1
                elif not start:
                    start = int(self._start[row])
            row = int(self._parent[row])
        return start


def _made(trace: Trace, windows: I64, strings: Strings) -> _Made:
    """Return the tables of the ranges in some windows, behind those that the trace has."""
    own, node = ranges.nodes(trace, windows, strings)
    operators, op = ranges.operators(trace, windows, strings)
    before, behind = len(trace.captures), len(trace.captured_ops)
    # A root of its own says that these are matched.
    parent = np.where(own.parent >= 0, own.parent + before + 1, before)
    captures = Captures(
        name=_joined(trace.captures.name, [strings.id(MARK)], own.name),
        kind=np.concatenate((trace.captures.kind, [np.int8(ANNOTATION)], own.kind)).astype(np.int8),
        parent=_joined(trace.captures.parent, [NONE], parent),
    )
    columns = {
        name: _joined(column, getattr(operators, name))
        for name, column in trace.captured_ops.columns()
        if name != "parent"
    }
    up = np.where(operators.parent >= 0, operators.parent + behind, NONE)
    table = CapturedOps(**columns, parent=_joined(trace.captured_ops.parent, up))
    return _Made(
        captures,
        table,
        np.where(node >= 0, node + before + 1, NONE).astype(np.int32),
        np.where(op >= 0, op + behind, NONE).astype(np.int32),
        ranges.input_numbers(table),
    )


def _joined(*columns: Sequence[int] | I32 | I64) -> I32:
    return np.concatenate(columns).astype(np.int32)
