"""Invert a merged call tree: from callees up to their callers, and around one frame.

The bottom-up tree has the nodes that cost time themselves as its outermost rows, and inside each
its callers. The sandwich of a frame has the calls inside it and, turned, those around it, merged
over all places. Its times are those of the outermost instances: a recursion counts once. Both are
as in speedscope (J. Wong, https://github.com/jlfwong/speedscope).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.analysis.flame.tree import DEVICE, NOWHERE, Label, Tree, assemble
from tb_privateuse1.analysis.kernel_names import display_name
from tb_privateuse1.i18n import all_languages
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64, Bools

LEAST_SHARE = 1 / 4000
"""Of the whole width: less is no pixel of any screen."""


def bottom_up(tree: Tree, path: Sequence[str] = ()) -> Tree:
    """Return the tree whose outermost nodes have the own time of a name, and inside its callers.

    Nodes without a pixel have no callers. ``path`` is where the graph starts: there the width is
    that of its last node. A node's ``calls`` are those of the outermost node's name on this way.
    """
    return _inverted(tree, tree.own > 0, tree.own, np.arange(len(tree), dtype=np.int32), path)


def outermost(tree: Tree, name: str) -> Bools:
    """Return the nodes of a name, the full one or that people read, without those inside others."""
    labels = [of_name(label, name) for label in tree.labels]
    wanted: Bools = np.array(labels, np.bool_)[tree.label]
    found: Bools = wanted & (intervals.nearest(tree.parent, wanted) < 0)
    return found


def of_name(label: Label, name: str) -> bool:
    """Return whether a label has a name, in any language; of a kernel also the one that is read."""
    kind, text = label
    return name in all_languages(text) or (DEVICE <= kind < NOWHERE and name == display_name(text))


def callees(tree: Tree, frame: Bools) -> Tree:
    """Return what the nodes of a frame call: one outermost node, and inside all that is in them."""
    inside = frame | (intervals.nearest(tree.parent, frame) >= 0)
    parent = np.where(frame, NONE, tree.parent)
    label = np.where(frame, _one_label(tree, frame), tree.label).astype(np.int32)
    nodes = call_tree.merge_calls(parent.astype(np.int32), label, inside)
    calls = sums(nodes.of, tree.calls, len(nodes))
    return _regrouped(tree, nodes.of, nodes.parent, nodes.name, calls)


def callers(tree: Tree, frame: Bools) -> Tree:
    """Return what calls the nodes of a frame: one outermost node, and inside its callers."""
    rows = np.arange(len(tree), dtype=np.int32)
    label = np.where(frame, _one_label(tree, frame), tree.label).astype(np.int32)
    holder = np.where(frame, rows, intervals.nearest(tree.parent, frame)).astype(np.int32)
    return _inverted(replace(tree, label=label), frame, tree.total, holder)


def _one_label(tree: Tree, frame: Bools) -> int:
    """Return the label of the largest of some nodes: kernels of one read name may have several."""
    nodes = np.flatnonzero(frame)
    return int(tree.label[nodes[np.argmax(tree.total[nodes])]])


def _inverted(tree: Tree, start: Bools, weight: I64, holder: I32, path: Sequence[str] = ()) -> Tree:
    """Return the tree of the chosen nodes with those above each inside it.

    ``weight`` is the time of each chosen node, ``holder`` the chosen node that has the time of each
    node, or ``NONE``.
    """
    rows = np.flatnonzero(start)
    at, weights, calls = rows.copy(), weight[rows], tree.calls[rows]
    of = np.full(len(rows), NONE, np.int64)
    parents, labels, every = [], [], [np.empty(0, np.int64)]
    active, above, count, whole = np.arange(len(rows)), 0, 0, int(weights.sum())
    for depth in range(len(tree) + 1):
        if not len(active):
            break
        inner = np.maximum(of[active] - above, 0).astype(np.int64)
        keys, node = call_tree.number_keys(inner * len(tree.labels) + tree.label[at[active]])
        up = keys // len(tree.labels) + above
        parents.append(up if depth else np.full(len(keys), NONE, np.int64))
        labels.append(keys % len(tree.labels))
        of[active] = node + count
        every.append(sums(node, calls[active], len(keys)))
        total = sums(node, weights[active], len(keys))
        grows = total >= whole * LEAST_SHARE
        if depth < len(path):
            grows = np.array([of_name(tree.labels[i], path[depth]) for i in labels[-1]], np.bool_)
            whole = int(total[grows].sum())
        active = active[grows[node] & (tree.parent[at[active]] >= 0)]
        at[active] = tree.parent[at[active]]
        above, count = count, count + len(keys)
    none = np.empty(0, np.int64)
    parent = np.concatenate([none, *parents]).astype(np.int32)
    label = np.concatenate([none, *labels]).astype(np.int32)
    place = np.full(len(tree), NONE, np.int32)
    place[rows] = of
    return _regrouped(tree, lookup(place, holder, NONE), parent, label, np.concatenate(every))


def _regrouped(tree: Tree, of: I32, parent: I32, label: I32, calls: I64) -> Tree:
    """Return the tree of other nodes; ``of`` is the new node of each old one, or ``NONE``."""
    events = replace(tree.events, node=lookup(of, tree.events.node, NONE))
    return assemble(parent, label, tree.labels, calls, events)
