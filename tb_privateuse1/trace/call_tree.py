"""Build call trees: ranges of a trace merged by their path of names, vectorized over events.

A *node* is all ranges with the same names from the root down; nodes are numbered so that a
parent comes before its children. Modules are Python frames that torch names ``nn.Module: …``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.trace import intervals, step_names
from tb_privateuse1.trace.columns import latest_not_after, lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import ANNOTATION, NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

MODULE = "nn.Module: "
"""How the names of a module's frames start; its class and number follow (torch's tracer)."""
_SCRIPTED = re.compile(rf"({MODULE})?[\w.]+\((\w+)\)")
"""A module of TorchScript: its path and its class."""

STEP, LOADER = step_names.PREFIX, "enumerate(DataLoader)"
"""Ranges that torch makes around steps and batches; they are not parts of a program."""


class Nodes(Struct, frozen=True):
    """A call tree. ``of`` has the node of each range, ``NONE`` for an excluded one."""

    of: I32
    parent: I32
    name: I32

    def __len__(self) -> int:
        return len(self.parent)


def merge_calls(parent: I32, name: I32, rows: Bools) -> Nodes:
    """Build the call tree of some rows; ``parent`` of a chosen row is a chosen row or ``NONE``.

    Near-linear: rows of a level are grouped by their parent's node and their name.
    """
    of = np.full(len(parent) + 1, NONE, np.int32)  # one more: ``NONE`` reads the last entry
    parents, names, count = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    labels = int(name[rows].max(initial=0)) + 1
    above = 0  # the first node of the level above
    for level in _levels(parent, np.flatnonzero(rows)):
        up = np.maximum(of[parent[level]] - above, 0)  # the outermost level has no parents
        keys, node = number_keys(up.astype(np.int64) * labels + name[level])
        parents.append(keys // labels + above if count else np.full(len(keys), NONE))
        names.append(keys % labels)
        of[level] = node + count
        above, count = count, count + len(keys)
    return Nodes(
        of[:-1], np.concatenate(parents).astype(np.int32), np.concatenate(names).astype(np.int32)
    )


def _levels(parent: I32, chosen: I64) -> Iterator[I64]:
    """Yield the chosen rows of each depth, the outermost first."""
    depth = intervals.depths(parent)[chosen]
    deepest = int(depth.max(initial=-1))
    # numpy sorts small integers in linear time.
    order = np.argsort(depth.astype(np.int16 if deepest < 1 << 15 else np.int32), kind="stable")
    edges = np.searchsorted(depth[order], np.arange(deepest + 2))
    for first, last in itertools.pairwise(edges.tolist()):
        yield chosen[order[first:last]]


_DENSE = 1 << 22
"""Keys below this are numbered by a table, larger ones by sorting."""

_SPARSE = 64
"""Keys are sorted, too, if the largest exceeds this many times their count. Else each level of a
deep tree would need a table of all names."""


def number_keys(key: I64) -> tuple[I64, I64]:
    """Return the distinct keys in order, and each row's index into them; keys are 0 or more."""
    if len(key) < 2:  # a level of a deep tree is often a single call
        return key, np.zeros(len(key), np.int64)
    largest = int(key.max(initial=0))
    if largest >= min(_DENSE, _SPARSE * len(key)):
        return np.unique(key, return_inverse=True)
    seen = np.zeros(largest + 1, np.bool_)
    seen[key] = True
    number = np.cumsum(seen) - 1
    return np.flatnonzero(seen), number[key]


_HEAD = 16
"""Characters of each name that are kept as numbers: nearly all prefixes are shorter."""
_AT_ONCE = 1 << 16
"""Names whose first characters are read together: numpy takes four bytes for each of them."""
_FOREIGN = 255
"""Stands for this character and all behind it."""


@memoize
def _heads(trace: Trace) -> NDArray[np.uint64]:
    """Return the first ``_HEAD`` characters of the strings, one byte each: rows of 8 of them."""
    heads = np.zeros((len(trace.strings), _HEAD), np.uint8)
    for first in range(0, len(trace.strings), _AT_ONCE):
        texts = np.array(trace.strings[first : first + _AT_ONCE], f"U{_HEAD}")
        codes = texts.view(np.uint32).reshape(-1, _HEAD)
        heads[first : first + _AT_ONCE] = np.minimum(codes, _FOREIGN)
    return np.ascontiguousarray(heads.view(np.uint64).T)


def starts_with(trace: Trace, *prefixes: str) -> Bools:
    """Return a flag per string, and one more False: it starts with one of the prefixes.

    Names are many, and are asked for many prefixes: their first characters are compared as numbers.
    """
    found = np.zeros(len(trace.strings) + 1, np.bool_)
    for prefix in prefixes:
        codes = bytes(min(ord(letter), _FOREIGN) for letter in prefix[:_HEAD])
        wanted = np.frombuffer(codes.ljust(_HEAD, b"\0"), np.uint64)
        masks = np.frombuffer((b"\xff" * len(codes)).ljust(_HEAD, b"\0"), np.uint64)
        alike = np.ones(len(trace.strings), np.bool_)
        for row, mask, value in zip(_heads(trace), masks, wanted, strict=True):
            if mask:
                alike &= (row & mask) == value
        if len(prefix) > _HEAD or _FOREIGN in codes or 0 in codes:  # an end reads as zeros, too
            for name in np.flatnonzero(alike).tolist():
                alike[name] = trace.strings[name].startswith(prefix)
        found[:-1] |= alike
    return found


def is_module(trace: Trace) -> Bools:
    """Return a mask of the rows of ``trace.frames`` that are calls of an nn.Module."""
    modules: Bools = starts_with(trace, MODULE)[trace.frames.name]
    return modules


def has_functions(trace: Trace) -> bool:
    """Return whether there are calls of Python functions, as frames or as stacks of operators.

    Modules of TorchScript are frames without any.
    """
    in_frames = len(trace.frames) > 0 and not bool(is_module(trace).all())
    return in_frames or bool((trace.ops.stack >= 0).any())


def is_annotation(trace: Trace) -> Bools:
    """Return a mask of the rows of ``trace.ops`` that are annotations, not of steps and loaders."""
    own: Bools = starts_with(trace, STEP, LOADER)[trace.ops.name]
    annotations: Bools = (trace.ops.kind == ANNOTATION) & ~own
    return annotations


def class_of(name: str) -> str:
    """Return the class in a module's name: ``Linear`` of ``Linear_12`` or ``b.lin(Linear)``."""
    if scripted := _SCRIPTED.fullmatch(name):
        return f"{scripted[1] or ''}{scripted[2]}"
    head, _, number = name.rpartition("_")
    return head if head and number.isdigit() else name


def split_path(path: str) -> list[str]:
    r"""Return the names of a path; ``\;`` is a semicolon and ``\\`` a backslash of a name."""
    names, escaped = [""], False
    for c in path:
        if c == ";" and not escaped:
            names.append("")
        elif c != "\\" or escaped:
            names[-1] += c
        escaped = c == "\\" and not escaped
    return names


def self_or_nearest(parent: I32, wanted: Bools) -> I32:
    """Return each row if it is wanted, else its nearest wanted ancestor, or ``NONE``."""
    rows = np.arange(len(parent), dtype=np.int32)
    return np.where(wanted, rows, intervals.nearest(parent, wanted)).astype(np.int32)


def around(parent: I32, rows: I32 | I64, wanted: Bools) -> I64:
    """Return for each of some rows its nearest wanted ancestor or itself, or ``NONE``.

    Climbs one level at a time: for few rows, this is faster than to number the whole tree.
    """
    if not wanted.any():
        return np.full(len(rows), NONE, np.int64)
    at = rows.astype(np.int64)
    wanted = np.append(wanted, True)
    climbing = np.flatnonzero(~wanted[at])
    while len(climbing):
        at[climbing] = parent[at[climbing]]
        climbing = climbing[~wanted[at[climbing]]]
    return at


def forward_of(trace: Trace) -> I32:
    """Return the forward operator whose gradient each operator computes, or ``NONE``.

    torch gives an operator of the backward pass the sequence number of its forward operator and
    the number of the forward thread. If several forward operators have the number, the latest
    counts: the innermost one, which made the gradient's function. Operators inside a backward
    operator belong to the same forward operator.
    """
    forward = linked_forward(trace)
    return lookup(forward, self_or_nearest(trace.ops.parent, forward >= 0), NONE)


@memoize
def linked_forward(trace: Trace) -> I32:
    """Return ``forward_of`` for operators with a sequence number of their own, else ``NONE``."""
    ops = trace.ops
    backward = (ops.sequence >= 0) & (ops.forward_thread > 0)
    forward = np.flatnonzero((ops.sequence >= 0) & ~backward)
    if not len(forward) or not backward.any():
        return np.full(len(ops), NONE, np.int32)
    order = forward[np.lexsort((ops.start_ns[forward], ops.sequence[forward]))]
    rows = np.flatnonzero(backward)
    last = latest_not_after(ops.sequence[order], ops.sequence[rows])
    latest = order[np.maximum(last, 0)]
    hit = (last >= 0) & (ops.sequence[latest] == ops.sequence[rows])
    linked = np.full(len(ops), NONE, np.int32)
    linked[rows[hit]] = latest[hit]
    return linked


def parents_of_all(trace: Trace) -> I32:
    """Return the innermost operator, annotation or frame around each of these ranges.

    Rows are all of ``trace.ops``, then all of ``trace.frames``.
    """
    ops, frames = trace.ops, trace.frames
    op = np.concatenate((ops.parent, frames.op))
    return inner_range(trace, op, np.concatenate((ops.frame, frames.parent)))


def inner_range(trace: Trace, op: I32, frame: I32) -> I32:
    """Return the inner one of an operator or annotation and a frame that both enclose something.

    The result counts all rows of ``trace.ops``, then all of ``trace.frames``.
    """
    ops, frames = trace.ops, trace.frames
    start = np.concatenate((ops.start_ns, frames.start_ns, [0]))
    end = np.concatenate((ops.end_ns, frames.end_ns, [0]))
    frame = np.where(frame >= 0, frame + len(ops), NONE)
    # Both enclose the row, so one is inside the other: it starts later or ends earlier.
    # Of equal ranges the frame is inside, as inference/host_tables.py nests them.
    later = (start[frame] > start[op]) | ((start[frame] == start[op]) & (end[frame] <= end[op]))
    inner = np.where((op < 0) | ((frame >= 0) & later), frame, op)
    return inner.astype(np.int32)


def clip_ends(thread: I32, parent: I32, starts: I64, ends: I64) -> I64:
    """Return the ends of nested ranges, clipped so that siblings never overlap.

    If two ranges of a thread cross, the later one closes the earlier (``intervals.nest``): the
    earlier one, and all in it, then ends at the start of the later one. So does one that is longer
    than the range around it, as after rounding.
    """
    place = np.where(parent >= 0, parent, len(parent) + thread)
    order = np.lexsort((starts, place))
    this, following = order[:-1], order[1:]
    crossed = (place[this] == place[following]) & (starts[following] < ends[this])
    within = parent >= 0
    if not crossed.any() and not (ends[within] > ends[parent[within]]).any():
        return ends
    end = ends.copy()
    end[this[crossed]] = starts[following[crossed]]
    for level in itertools.islice(_levels(parent, np.arange(len(parent))), 1, None):
        end[level] = np.maximum(np.minimum(end[level], end[parent[level]]), starts[level])
    return end
