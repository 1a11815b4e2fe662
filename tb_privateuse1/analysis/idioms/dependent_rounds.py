"""Tell whether a loop's iterations depend on each other, by the sizes that they read and write."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.analysis.idioms.nodes import (
    CAST,
    Graph,
    host_graph,
    operators_named,
    working_graph,
)
from tb_privateuse1.analysis.operators.groups import name_categories
from tb_privateuse1.analysis.operators.kinds_of_work import KINDS
from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork, item_bytes
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup, mask_of, range_rows, sums_before
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I64, Bools

COPIES = ("copy", "_copy_from")
_FILLS = ("fill", "zero")
_WIDENED = ("expand", "expand_as")

_LAYERS = re.compile("addmm|linear|norm|convolution")
"""Operators whose vectors are parameters: a bias may have as many bytes as one row."""

_REDUCTION = KINDS.index("reduction")
_NUMBERS = (2, 4, 8)
"""Bytes of single numbers."""


def called_copies(trace: Trace, found: Graph, top: I64, callers: Bools) -> Bools:
    """Return a flag per node: it is a copy, and a chosen operator of the program is its caller.

    Such a one may keep a state in a tensor. Other operators copy inside of them, too. ``top`` are
    the operators that no other one called; ``callers`` are flags of ``trace.ops``.
    """
    copies = found.named(*COPIES)
    rows = np.flatnonzero(copies)
    is_top = mask_of(top, len(trace.ops))
    outermost = call_tree.around(trace.ops.parent, found.nodes.op[rows], is_top)
    copies[rows] = lookup(callers, outermost, False)
    return copies


class Dependence:
    """Tells of loops in a trace whether their rounds depend on each other.

    ``top`` are the operators that no other one called, by thread and start. ``found`` is the graph
    that is asked, by default that of the device, or of a host alone.
    """

    def __init__(self, trace: Trace, top: I64, found: Graph | None = None) -> None:
        self._trace, self._top = trace, top
        self._found = working_graph(trace) if found is None else found

    @functools.cached_property
    def _on_host(self) -> Dependence | None:
        """Return what tells of loops that launch nothing: those of tensors on the host."""
        found = host_graph(self._trace)
        return None if found is self._found else Dependence(self._trace, self._top, found)

    @functools.cached_property
    def _copied(self) -> Bools:
        own = name_categories(self._trace) == KINDS.index("copy")
        return called_copies(self._trace, self._found, self._top, own[self._trace.ops.name])

    @functools.cached_property
    def _inner_parts(self) -> Bools:
        """Return the nodes that cast the input of a sum or the like inside of it, or fill its sum.

        A sum of truth values makes them whole numbers, and nothing else reads these. What is
        filled with what a sum begins with is its result.
        """
        reduces = (name_categories(self._trace) == _REDUCTION)[self._trace.ops.name]
        inner: Bools = (self._found.nodes.role == CAST) | self._found.named(*_FILLS)
        rows = np.flatnonzero(inner)
        around = call_tree.around(self._trace.ops.parent, self._found.nodes.op[rows], reduces)
        inner[rows] = around >= 0
        return inner

    @functools.cached_property
    def _outermost(self) -> I64:
        """Return the operator of torch that a program calls for each node, or ``NONE``.

        Its inputs are all that it reads; what a function of the program or a gradient's node has
        beside them is unknown.
        """
        ops = self._trace.ops
        wanted = mask_of(self._top, len(ops))
        wanted &= call_tree.starts_with(self._trace, "aten::")[ops.name]
        return call_tree.around(ops.parent, self._found.nodes.op, wanted)

    def _widened(self, thread: int, start_ns: int, end_ns: int) -> Iterator[tuple[int, int, int]]:
        """Yield the views of a loop's round that repeat a tensor: time, bytes, and bytes after."""
        ops, rows = self._trace.ops, self._widening
        rows = rows[ops.thread[rows] == thread]
        first, last = np.searchsorted(ops.start_ns[rows], (start_ns, end_ns))
        for row in rows[first:last].tolist():
            sizes = _widened_bytes(read_call(self._trace, row))
            if sizes is not None:
                yield int(ops.start_ns[row]), *sizes

    @functools.cached_property
    def _widening(self) -> I64:
        """Return the operators of the program that only repeat a tensor's items, by thread."""
        found: I64 = self._top[operators_named(self._trace, *_WIDENED)[self._top]]
        return found

    def is_recurrent(
        self, thread: int, start_ns: int, end_ns: int, items: dict[int, tuple[int, int]]
    ) -> bool:
        """Return whether a round of a loop may read what the round before has written.

        ``items`` are the bytes of its places and of their tensors, by the time at which it takes
        them. A round that copies something and reads all of such a tensor keeps its state there. A
        read takes the most recent result or place of its size that nobody has read yet. A read
        without one may be of the round before, if that writes the size behind it. A result of
        unknown size is what such a read takes. Nothing is carried on where all that is made of a
        size is read in the round, and what is read without being made is the tensor of the items,
        or a result again that no tensor ahead of the loop can be. Where places are
        single numbers, single numbers are read, too.
        """
        found = self._found
        inside = self._nodes_of(thread, start_ns, end_ns)
        if inside.start == inside.stop and self._on_host is not None:
            return self._on_host.is_recurrent(thread, start_ns, end_ns, items)
        begin = self._begin[inside].tolist()
        written: list[int] = found.nodes.written_bytes[inside].tolist()
        fresh: Counter[int] = Counter()
        taken = ((time, 0, size) for time, (size, _) in items.items())
        waiting = sorted((*taken, *self._widened(thread, start_ns, end_ns)))
        calls = _Calls(self._trace, self._outermost[inside])
        copies, inner = self._copied[inside], self._inner_parts[inside]
        wholes = {whole for _, whole in items.values()}
        places = {size for size, _ in items.values()}
        unexplained = []
        for at, node in enumerate(range(inside.start, inside.stop)):
            while waiting and waiting[0][0] <= begin[at]:
                _, before, size = waiting.pop(0)
                if not before or fresh[before]:
                    fresh[before] -= 1
                    fresh[size] += 1
            for size in _reads(self._trace, found, node, places):
                if calls.has_read(at, size):
                    continue
                if size in wholes and copies.any():
                    return True
                if fresh[size]:
                    fresh[size] -= 1
                elif MISSING in written[:at]:
                    written[written.index(int(MISSING))] = size
                else:
                    unexplained.append((at, size))
            if inner[at]:
                written[at] = 0
            calls.make(at, written[at])
            if not inner[at] and not copies[at]:  # it may be into a place: then nothing reads it
                fresh[written[at]] += 1
        again = _read_again(unexplained, written, wholes, fresh)
        return again is None or not self._earlier(thread, start_ns).isdisjoint(again)

    def _nodes_of(self, thread: int, start_ns: int, end_ns: int) -> slice:
        """Return the nodes of a thread in a window, which lie together."""
        threads = self._found.nodes.thread
        low, high = np.searchsorted(threads, np.array((thread, thread + 1), threads.dtype))
        first, last = np.searchsorted(self._begin[low:high], (start_ns, end_ns))
        return slice(int(low + first), int(low + last))

    @functools.cached_property
    def _begin(self) -> I64:
        """Return the start of each node."""
        return self._trace.ops.start_ns[self._found.nodes.op]

    def _earlier(self, thread: int, start_ns: int) -> set[int]:
        """Return the bytes of tensors that are read or written in the step before a loop.

        A state has one to begin with. What a round reads twice has not.
        """
        starts, threads, steps, sizes = self._first_seen
        before = starts < start_ns
        own = np.flatnonzero(before & (threads == thread))
        if not len(own):
            return set()
        last = own[np.argmax(starts[own])]
        return set(sizes[before & (steps == steps[last])].tolist())

    @functools.cached_property
    def _first_seen(self) -> tuple[I64, I64, I64, I64]:
        """Return when a size in bytes is first seen in a step: time, thread, step and size."""
        ops, nodes, top = self._trace.ops, self._found.nodes, self._top
        call, same = group_rows(ops.shapes[top], ops.dtypes[top])
        read = [_sizes(self._trace, row) for row in top[call].tolist()]
        count = np.array([len(one) for one in read], np.int64)
        flat = np.array([size for one in read for size in one], np.int64)
        first, _ = group_rows(same, ops.thread[top], ops.step[top])
        place, of = range_rows(sums_before(count)[same[first]], count[same[first]])
        rows = np.concatenate((top[first][place], nodes.op.astype(np.int64)))
        sizes = np.concatenate((flat[of], nodes.written_bytes))
        columns = (ops.thread[rows], ops.step[rows], sizes)
        order = np.argsort(ops.start_ns[rows], kind="stable")
        kept = order[group_rows(*(column[order] for column in columns))[0]]
        thread, step, size = (column[kept].astype(np.int64) for column in columns)
        return ops.start_ns[rows[kept]], thread, step, size


class _Calls:
    """Tells what the operators that a program calls read again of their inputs.

    An operator computes in several parts. They read no more tensors than it is given and they
    make: what they read beyond is one of these again, and no state of the loop.
    """

    def __init__(self, trace: Trace, rows: I64) -> None:
        self._trace, self._rows = trace, rows.tolist()
        self._row, self._given = NONE, Counter[int]()
        self._made = Counter[int]()

    def has_read(self, at: int, size: int) -> bool:
        """Return whether a part reads an input again; ``at`` counts the nodes of a round."""
        self._enter(at)
        if self._row == NONE or self._made[size]:
            self._made[size] -= 1
            return False
        self._given[size] -= 1
        return self._given[size] < 0

    def make(self, at: int, size: int) -> None:
        """Note what a part has made."""
        self._enter(at)
        self._made[size] += 1

    def _enter(self, at: int) -> None:
        """Begin with an operator's inputs where it is another one; unknown ones count as none."""
        row = self._rows[at]
        if row == self._row and row != NONE:
            return
        call = read_call(self._trace, row) if row != NONE else None
        tensors = [] if call is None else list(call.tensors())
        known = call is not None and all(one.dtype for one in tensors)
        self._row, self._made = (row if known else NONE), Counter()
        self._given = Counter(one.bytes for one in tensors if known)


def _read_again(
    unexplained: list[tuple[int, int]], written: list[int], wholes: set[int], fresh: Counter[int]
) -> set[int] | None:
    """Return the sizes of results that a round reads again; None if it may read a state."""
    again = set()
    for at, size in unexplained:
        made = size in written[:at]
        if size in wholes and made:  # what was meets what is
            return None
        if not {size, MISSING} & set(written[at:]):
            continue
        if fresh[size] or (size not in wholes and not made):
            return None
        if made:
            again.add(size)
    return again


def _widened_bytes(call: Arguments | None) -> tuple[int, int] | None:
    """Return the bytes of a tensor and of its view with items repeated; None if unknown."""
    try:
        if call is None:
            return None
        x = call.tensor(0)
        if reduced_name(call.name) == "expand_as":
            return x.bytes, math.prod(call.tensor(1).shape) * item_bytes(x.dtype)
        shape = call.integers(1)
        own = (1,) * (len(shape) - len(x.shape)) + x.shape
        sides = (old if new < 0 else new for old, new in zip(own, shape, strict=True))
        return x.bytes, math.prod(sides) * item_bytes(x.dtype)
    except (UnknownWork, ValueError):
        return None


def _sizes(trace: Trace, row: int) -> set[int]:
    """Return the bytes of the tensors with dimensions that a call is given."""
    call = read_call(trace, row)
    tensors = () if call is None else call.tensors()
    return {one.bytes for one in tensors if one.shape and one.dtype}


def _reads(trace: Trace, found: Graph, node: int, places: set[int]) -> list[int]:
    """Return the bytes of what a node reads, but for the vectors of a layer.

    Of tensors without dimensions, which the graph leaves out, those that are as large as places.
    """
    low, high = np.searchsorted(found.reads.node, (node, node + 1))
    sizes: list[int] = found.reads.bytes[low:high].tolist()
    is_layer = _LAYERS.search(found.words[found.nodes.word[node]])
    may_be_numbers = not places.isdisjoint(_NUMBERS)
    call = None
    if is_layer or may_be_numbers:
        call = read_call(trace, int(found.nodes.op[node]))
    for one in () if call is None else call.tensors():
        if is_layer and len(one.shape) == 1 and one.dtype and one.bytes in sizes:
            sizes.remove(one.bytes)
        if may_be_numbers and not one.shape and one.dtype and one.bytes in places:
            sizes.append(one.bytes)
    return sizes
