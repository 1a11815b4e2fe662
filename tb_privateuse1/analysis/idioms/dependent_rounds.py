"""Tell whether a loop's iterations depend on each other, by the sizes that they read and write."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from tb_privateuse1.analysis.idioms.nodes import Graph, working_graph
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace.model import MISSING, Trace

_LAYERS = re.compile("addmm|linear|norm|convolution")
"""Operators whose vectors are parameters: a bias may have as many bytes as one row."""


def is_recurrent(
    trace: Trace, thread: int, start_ns: int, end_ns: int, items: dict[int, tuple[int, int]]
) -> bool:
    """Return whether a round of a loop may read what the round before has written.

    ``items`` are the bytes of its places and of their tensors, by the time at which it takes them.
    A round that copies something and reads all of such a tensor keeps its state there. A read
    takes the most recent result or place of its size that nobody has read yet. A read without one
    may be of the round before, if that writes the size behind it. A result of unknown size is what
    such a read takes.
    """
    found = working_graph(trace)
    inside = _nodes_of(found, trace, thread, start_ns, end_ns)
    begin = trace.ops.start_ns[found.nodes.op[inside]].tolist()
    written: list[int] = found.nodes.written_bytes[inside].tolist()
    fresh: Counter[int] = Counter()
    waiting = sorted((time, size) for time, (size, _) in items.items())
    copies = found.named("copy", "_copy_from")[inside]
    wholes = {whole for _, whole in items.values()} if copies.any() else set()
    unexplained = []
    for at, node in enumerate(range(inside.start, inside.stop)):
        while waiting and waiting[0][0] <= begin[at]:
            fresh[waiting.pop(0)[1]] += 1
        for size in _reads(trace, found, node):
            if size in wholes:
                return True
            if fresh[size]:
                fresh[size] -= 1
            elif MISSING in written[:at]:
                written[written.index(int(MISSING))] = size
            else:
                unexplained.append((at, size))
        if not copies[at]:  # it may be into a place: then nothing reads it
            fresh[written[at]] += 1
    return any({size, MISSING} & set(written[at:]) for at, size in unexplained)


def _nodes_of(found: Graph, trace: Trace, thread: int, start_ns: int, end_ns: int) -> slice:
    """Return the nodes of a thread in a window, which lie together."""
    low, high = np.searchsorted(found.nodes.thread, (thread, thread + 1))
    begin = trace.ops.start_ns[found.nodes.op[low:high]]
    first, last = np.searchsorted(begin, (start_ns, end_ns))
    return slice(int(low + first), int(low + last))


def _reads(trace: Trace, found: Graph, node: int) -> list[int]:
    """Return the bytes of what a node reads, but for the vectors of a layer."""
    low, high = np.searchsorted(found.reads.node, (node, node + 1))
    sizes: list[int] = found.reads.bytes[low:high].tolist()
    call = None
    if _LAYERS.search(found.words[found.nodes.word[node]]):
        call = read_call(trace, int(found.nodes.op[node]))
    for one in () if call is None else call.tensors():
        if len(one.shape) == 1 and one.dtype and one.bytes in sizes:
            sizes.remove(one.bytes)
    return sizes
