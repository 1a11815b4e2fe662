"""Tell whether a loop's iterations depend on each other, by the sizes that they read and write."""

from __future__ import annotations

import functools
import re
from collections import Counter

import numpy as np

from tb_privateuse1.analysis.idioms.nodes import CAST, Graph, host_graph, working_graph
from tb_privateuse1.analysis.operators.groups import name_categories
from tb_privateuse1.analysis.operators.kinds_of_work import KINDS
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup, mask_of, range_rows, sums_before
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I64, Bools

COPIES = ("copy", "_copy_from")

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
    def _is_top(self) -> Bools:
        return mask_of(self._top, len(self._trace.ops))

    @functools.cached_property
    def _copied(self) -> Bools:
        own = name_categories(self._trace) == KINDS.index("copy")
        return called_copies(self._trace, self._found, self._top, own[self._trace.ops.name])

    @functools.cached_property
    def _own_casts(self) -> Bools:
        """Return the nodes that cast the input of a sum or the like inside of it.

        A sum of truth values makes them whole numbers, and nothing else reads these.
        """
        reduces = (name_categories(self._trace) == _REDUCTION)[self._trace.ops.name]
        casts: Bools = self._found.nodes.role == CAST
        rows = np.flatnonzero(casts)
        around = call_tree.around(self._trace.ops.parent, self._found.nodes.op[rows], reduces)
        casts[rows] = around >= 0
        return casts

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
        inside = _nodes_of(found, self._trace, thread, start_ns, end_ns)
        if inside.start == inside.stop and self._on_host is not None:
            return self._on_host.is_recurrent(thread, start_ns, end_ns, items)
        begin = self._trace.ops.start_ns[found.nodes.op[inside]].tolist()
        places = {size for size, _ in items.values()}
        reads, written = self._as_called(inside, places)
        fresh: Counter[int] = Counter()
        waiting = sorted((time, size) for time, (size, _) in items.items())
        copies, casts = self._copied[inside], self._own_casts[inside]
        wholes = {whole for _, whole in items.values()}
        unexplained = []
        for at, read in enumerate(reads):
            while waiting and waiting[0][0] <= begin[at]:
                fresh[waiting.pop(0)[1]] += 1
            for size in read:
                if size in wholes and copies.any():
                    return True
                if fresh[size]:
                    fresh[size] -= 1
                elif MISSING in written[:at]:
                    written[written.index(int(MISSING))] = size
                else:
                    unexplained.append((at, size))
            if casts[at]:
                written[at] = 0
            elif written[at] and not copies[at]:  # it may be into a place: then nothing reads it
                fresh[written[at]] += 1
        again = set()
        for at, size in unexplained:
            made = size in written[:at]
            if size in wholes and made:  # what was meets what is
                return True
            if not {size, MISSING} & set(written[at:]):
                continue
            if fresh[size] or (size not in wholes and not made):
                return True
            if made:
                again.add(size)
        return not self._earlier(thread, start_ns).isdisjoint(again)

    def _as_called(self, inside: slice, places: set[int]) -> tuple[list[list[int]], list[int]]:
        """Return what each node of a window reads, and the bytes that it writes.

        Several nodes in one operator of the program have its result alone, as its model says or as
        the last one writes it, and what the operator is given is read once. Else a node reads what
        those before it have made, which nothing outside can read.
        """
        found, trace = self._found, self._trace
        nodes = range(inside.start, inside.stop)
        reads = [_reads(trace, found, node, places) for node in nodes]
        written: list[int] = found.nodes.written_bytes[inside].tolist()
        around = call_tree.around(trace.ops.parent, found.nodes.op[inside], self._is_top)
        for row, count in Counter(around.tolist()).items():
            call = read_call(trace, row) if row >= 0 and count > 1 else None
            if call is None or not all(one.dtype for one in call.tensors()):
                continue  # a list of states has no types
            given = Counter(one.bytes for one in call.tensors())
            own = np.flatnonzero(around == row).tolist()
            for at in own:
                kept = list((Counter(reads[at]) & given).elements())
                given.subtract(kept)
                reads[at] = kept
            modeled = int(operator_work(trace).written_bytes[row])
            result = written[own[-1]] if modeled == MISSING else modeled
            for at in own:
                written[at] = result if at == own[-1] else 0
        return reads, written

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


def _sizes(trace: Trace, row: int) -> set[int]:
    """Return the bytes of the tensors with dimensions that a call is given."""
    call = read_call(trace, row)
    tensors = () if call is None else call.tensors()
    return {one.bytes for one in tensors if one.shape and one.dtype}


def _nodes_of(found: Graph, trace: Trace, thread: int, start_ns: int, end_ns: int) -> slice:
    """Return the nodes of a thread in a window, which lie together."""
    low, high = np.searchsorted(found.nodes.thread, (thread, thread + 1))
    begin = trace.ops.start_ns[found.nodes.op[low:high]]
    first, last = np.searchsorted(begin, (start_ns, end_ns))
    return slice(int(low + first), int(low + last))


def _reads(trace: Trace, found: Graph, node: int, places: set[int]) -> list[int]:
    """Return the bytes of what a node reads, but for the vectors of a layer.

    Of tensors without dimensions, which the graph leaves out, those that are as large as places.
    A tensor without elements carries nothing.
    """
    low, high = np.searchsorted(found.reads.node, (node, node + 1))
    sizes: list[int] = [size for size in found.reads.bytes[low:high].tolist() if size]
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
