"""Who called whom: ranges of a trace merged by their path of names, vectorised over events.

A *node* is all ranges with the same names from the root down; nodes are numbered so that a
parent comes before its children. Modules are Python frames that torch names ``nn.Module: …``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE, Ops, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

MODULE = "nn.Module: "
"""How the names of a module's frames start; its class and number follow (torch's tracer)."""

STEP, LOADER = "ProfilerStep#", "enumerate(DataLoader)"
"""Ranges that torch makes around steps and batches; they are no parts of a program."""


@dataclass(frozen=True)
class Nodes:
    """A call tree. ``of`` is the node of each range, ``NONE`` for one that is left out."""

    of: I32
    parent: I32
    name: I32

    def __len__(self) -> int:
        return len(self.parent)


def merge_calls(parent: I32, name: I32, rows: Bools) -> Nodes:
    """The call tree of some rows; ``parent`` of a chosen row is a chosen row or ``NONE``.

    Near-linear: the rows of a level are told apart by their parent's node and their name.
    """
    of = np.full(len(parent) + 1, NONE, np.int32)  # one more: ``NONE`` reads the last entry
    parents, names, count = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    labels = int(name[rows].max(initial=0)) + 1
    above = 0  # the first node of the level above
    for level in _levels(parent, np.flatnonzero(rows)):
        up = np.maximum(of[parent[level]] - above, 0)  # at the root there is one place
        found, node = number_keys(up.astype(np.int64) * labels + name[level])
        parents.append(found // labels + above if count else np.full(len(found), NONE))
        names.append(found % labels)
        of[level] = node + count
        above, count = count, count + len(found)
    return Nodes(
        of[:-1], np.concatenate(parents).astype(np.int32), np.concatenate(names).astype(np.int32)
    )


def _levels(parent: I32, chosen: I64) -> Iterator[I64]:
    """The chosen rows by how many ancestors they have, the outermost first."""
    depth = intervals.depths(parent)[chosen]
    deepest = int(depth.max(initial=-1))
    # numpy sorts small integers in linear time.
    order = np.argsort(depth.astype(np.int16 if deepest < 1 << 15 else np.int32), kind="stable")
    edges = np.searchsorted(depth[order], np.arange(deepest + 2))
    for first, last in itertools.pairwise(edges.tolist()):
        yield chosen[order[first:last]]


_DENSE = 1 << 22
"""Keys below this are told apart by a table, larger ones by sorting."""

_SPARSE = 64
"""So are keys that are more than this times as large as they are many: a deep tree of different
names has a level, and would have a table of all names, for each of them."""


def number_keys(key: I64) -> tuple[I64, I64]:
    """The different keys in order, and the number of each row's; keys are 0 or more."""
    largest = int(key.max(initial=0))
    if largest >= min(_DENSE, _SPARSE * len(key)):
        return np.unique(key, return_inverse=True)
    seen = np.zeros(largest + 1, np.bool_)
    seen[key] = True
    number = np.cumsum(seen) - 1
    return np.flatnonzero(seen), number[key]


def starts_with(trace: Trace, *prefixes: str) -> Bools:
    """Which of the trace's strings start with one of these."""
    return np.array([text.startswith(prefixes) for text in trace.strings], np.bool_)


def is_module(trace: Trace) -> Bools:
    """Which rows of ``trace.frames`` are calls of an nn.Module."""
    named: Bools = starts_with(trace, MODULE)[trace.frames.name]
    return named


def started_in(trace: Trace, start_ns: I64, step: int | None) -> Bools:
    """Which ranges start within the host range of a row of ``trace.steps``; None: in any."""
    if step is None:
        return np.ones(len(start_ns), np.bool_)
    steps = trace.steps
    inside: Bools = (start_ns >= steps.host_start_ns[step]) & (start_ns < steps.host_end_ns[step])
    return inside


def class_of(name: str) -> str:
    """``Linear`` of ``Linear_12``, a module's name; what has no number stays."""
    head, _, number = name.rpartition("_")
    return head if head and number.isdigit() else name


def split_path(path: str) -> list[str]:
    r"""The names of a path; ``\;`` is a semicolon and ``\\`` a backslash of a name."""
    found, escaped = [""], False
    for c in path:
        if c == ";" and not escaped:
            found.append("")
        elif c != "\\" or escaped:
            found[-1] += c
        escaped = c == "\\" and not escaped
    return found


def self_or_nearest(parent: I32, wanted: Bools) -> I32:
    """The row itself if it is wanted, else its nearest ancestor that is, or ``NONE``."""
    rows = np.arange(len(parent), dtype=np.int32)
    return np.where(wanted, rows, intervals.nearest(parent, wanted)).astype(np.int32)


def take(column: I32 | I64, rows: I32) -> I32:
    """``column[rows]``, and ``NONE`` for the rows that are ``NONE``."""
    return np.where(rows >= 0, np.append(column, NONE)[rows], NONE).astype(np.int32)


def forward_of(ops: Ops) -> I32:
    """The forward operator whose gradient each operator computes, or ``NONE``.

    torch gives an operator of the backward pass the sequence number of its forward operator and
    the number of that one's thread. Of several forward operators with the number it is the
    latest: the innermost one, which made the gradient's function. What an operator of the
    backward pass calls belongs to the same forward operator.
    """
    found = linked_forward(ops)
    return take(found, self_or_nearest(ops.parent, found >= 0))


def linked_forward(ops: Ops) -> I32:
    """``forward_of`` for the operators that carry the number themselves; of others ``NONE``."""
    backward = (ops.sequence >= 0) & (ops.forward_thread > 0)
    forward = np.flatnonzero((ops.sequence >= 0) & ~backward)
    if not len(forward) or not backward.any():
        return np.full(len(ops), NONE, np.int32)
    order = forward[np.lexsort((ops.start_ns[forward], ops.sequence[forward]))]
    last = np.searchsorted(ops.sequence[order], ops.sequence, side="right") - 1
    found = order[np.maximum(last, 0)]
    hit = backward & (last >= 0) & (ops.sequence[found] == ops.sequence)
    return np.where(hit, found, NONE).astype(np.int32)


def parents_of_all(trace: Trace) -> I32:
    """The innermost range around each operator, annotation and frame, of all three kinds.

    Rows are those of ``trace.ops``, then those of ``trace.frames``.
    """
    ops, frames = trace.ops, trace.frames
    n = len(ops)
    start = np.concatenate((ops.start_ns, frames.start_ns, [0]))
    end = np.concatenate((ops.end_ns, frames.end_ns, [0]))
    op = np.concatenate((ops.parent, frames.op))
    frame = np.concatenate((ops.frame, frames.parent))
    frame = np.where(frame >= 0, frame + n, NONE)
    # Both are around the row, so one is in the other: the inner one starts later or ends
    # earlier. Of equal ranges the frame is inside, as infer/host.py nests them.
    later = (start[frame] > start[op]) | ((start[frame] == start[op]) & (end[frame] <= end[op]))
    inner = np.where((op < 0) | ((frame >= 0) & later), frame, op)
    return inner.astype(np.int32)


def clip_ends(thread: I32, parent: I32, starts: I64, ends: I64) -> I64:
    """The ends of nested ranges, so that those directly inside one never overlap.

    Where two ranges of a thread cross, the later one has closed the earlier (``intervals.nest``):
    that one, and all in it, ends here where the later one starts.
    """
    place = np.where(parent >= 0, parent, len(parent) + thread)
    order = np.lexsort((starts, place))
    this, following = order[:-1], order[1:]
    crossed = (place[this] == place[following]) & (starts[following] < ends[this])
    if not crossed.any():
        return ends
    end = ends.copy()
    end[this[crossed]] = starts[following[crossed]]
    for level in itertools.islice(_levels(parent, np.arange(len(parent))), 1, None):
        end[level] = np.maximum(np.minimum(end[level], end[parent[level]]), starts[level])
    return end
