"""Merge the call trees of two traces for a differential flame graph, with the spread over steps."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.comparison.significance import Cells, Sample
from tb_privateuse1.analysis.flame.tree import DEVICE, FRAME, NOWHERE, Label, Tree, assemble
from tb_privateuse1.analysis.kernel_names import display_name
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.columns import lookup, positions
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import F64, I32, I64, Bools

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_LINE = re.compile(r"\((\d+)\)(?=: )")

_CELLS = 1 << 22
"""Of the table of nodes by steps at a time."""


class Trees(Struct, frozen=True):
    """The trees of two traces with the same nodes: those that either has."""

    base: Tree
    now: Tree


def compare(base: Tree, now: Tree) -> Trees:
    """Return both trees over the nodes of both.

    Nodes are the same if their names are from the outermost on. Frames of a file that was edited
    have other lines: those that only one trace has are matched in order if each has as many.
    Kernels are matched by the names that people read.
    """
    labels, of_base, of_now = _common_labels(base.labels, now.labels)
    parent = np.concatenate((now.parent, np.where(base.parent >= 0, base.parent + len(now), NONE)))
    label = np.concatenate((of_now[now.label], of_base[base.label]))
    every = np.ones(len(parent), np.bool_)
    nodes = call_tree.merge_calls(parent.astype(np.int32), label.astype(np.int32), every)

    def moved(tree: Tree, of: I32) -> Tree:
        events = replace(tree.events, node=lookup(of, tree.events.node, NONE))
        calls = sums(of, tree.calls, len(nodes))
        return assemble(nodes.parent, nodes.name, labels, calls, events)

    return Trees(moved(base, nodes.of[len(now) :]), moved(now, nodes.of[: len(now)]))


def _common_labels(base: list[Label], now: list[Label]) -> tuple[list[Label], I64, I64]:
    """Return the labels of both, and the index of each one's labels; the new trace names them."""
    old, new = ([(kind, _plain(kind, text)) for kind, text in one] for one in (base, now))
    same = _moved_lines(set(old) - set(new), set(new) - set(old))
    number: dict[Label, int] = {}
    of_now = [number.setdefault(one, len(number)) for one in new]
    of_base = [number.setdefault(same.get(one, one), len(number)) for one in old]
    return list(number), np.array(of_base, np.int64), np.array(of_now, np.int64)


def _plain(kind: int, text: str) -> str:
    """Return a name without what differs from one process to the next."""
    if DEVICE <= kind < NOWHERE:
        return display_name(text)
    return _ADDRESS.sub("", text) if kind == FRAME else text


def _moved_lines(gone: Iterable[Label], came: Iterable[Label]) -> dict[Label, Label]:
    """Return the new label of each frame that only its line tells from one that came."""
    pairs: dict[Label, Label] = {}
    sides = [_by_function(one) for one in (gone, came)]
    for function, old in sides[0].items():
        new = sides[1].get(function, [])
        if len(new) == len(old):
            pairs.update(zip(old, new, strict=True))
    return pairs


def _by_function(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Return the frames of each file and function, by line."""
    found = [
        (_LINE.sub("", text), int(line[1]), (kind, text))
        for kind, text in labels
        if kind == FRAME and (line := _LINE.search(text))
    ]
    groups = itertools.groupby(sorted(found), key=lambda one: one[0])
    return {function: [label for _, _, label in lines] for function, lines in groups}


def sample(tree: Tree, chosen: Bools, steps: I64) -> Sample:
    """Return the time of the chosen nodes over some rows of ``trace.steps``.

    With a chosen node, those around it are chosen. A sample's rows are the chosen nodes in order.
    Where they are too many for one table, the sample has no cells.
    """
    rows = np.flatnonzero(chosen)
    place = positions(rows, len(tree))
    parent = lookup(place, tree.parent[rows], NONE)
    at = lookup(place, call_tree.self_or_nearest(tree.parent, chosen), NONE)
    node, own = lookup(at, tree.events.node, NONE), tree.events.own_ns
    column = _columns(tree.events.step, steps)
    used = np.flatnonzero((node >= 0) & (column >= 0) & (own != 0))
    node, own, column = node[used], own[used], column[used]
    count = max(len(steps), 1)
    mean = tree.total[rows] / count
    squares = np.zeros(len(rows))
    width = max(_CELLS // max(len(rows), 1), 1)
    known: Cells | None = None
    for first in range(0, count, width):
        here = (column >= first) & (column < first + width)
        cells = np.zeros((len(rows), min(width, count - first)), np.int64)
        np.add.at(cells, (node[here], column[here] - first), own[here])
        total = _with_rows_below(parent, cells)
        squares += ((total - mean[:, None]) ** 2).sum(axis=1)
        if count <= width:
            row, at_step = np.nonzero(total)
            known = Cells(row, at_step, total[row, at_step].astype(np.int64))
    return Sample(mean, squares / max(count - 1, 1), len(steps), known)


def _columns(step: I32, steps: I64) -> I32:
    """Return the index of each step among the chosen ones, or ``NONE``."""
    index = positions(steps, int(steps.max(initial=NONE)) + 1)
    return lookup(index, np.minimum(step, len(index)), NONE)


def _with_rows_below(parent: I32, cells: I64) -> F64:
    """Return the sum of each row of a table and of the rows below it in a tree."""
    depth = intervals.depths(parent)
    for level in range(int(depth.max(initial=0)), 0, -1):
        rows = np.flatnonzero(depth == level)
        np.add.at(cells, parent[rows], cells[rows])
    return cells.astype(np.float64)
