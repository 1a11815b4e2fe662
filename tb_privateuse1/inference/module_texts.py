"""Give the texts of TorchScript's modules to the operators that they are of.

torch collects a text for each operator but the nodes of autograd, and hands one to each event, in
order of their starts in a thread (``begin_op`` and ``materialize`` in
torch/csrc/profiler/collection.cpp). Behind a node all texts of the thread are one event early. The
range of a module's method shows whether a recording has that: its texts belong inside.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.readers.raw import Group
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, Bools

_ENGINE = "autograd::engine::evaluate_function: "
_TOP = "TOP("


def placed_texts(ranges: Group, strings: Strings) -> I32:
    """Return the text of each range, in the order of the rows; ``NONE`` without one.

    ``ranges`` are all that torch records by name: operators and annotations.
    """
    text = ranges.text("modules")
    if not (text >= 0).any():
        return text
    order = intervals.nesting_order(ranges.thread, ranges.start_ns, ranges.end_ns)
    thread, name = ranges.thread[order], ranges.name[order]
    parent = intervals.nest_ordered(thread, ranges.start_ns[order], ranges.end_ns[order])
    takes = np.flatnonzero(~_is_node(parent, name, strings))
    given = text[order]
    placed = np.full(len(given), NONE, np.int32)
    # The first text of a thread is that of its first operator, and so on.
    first = np.flatnonzero(np.append(True, thread[1:] != thread[:-1]))
    of_thread = np.searchsorted(first, takes, "right") - 1
    before = np.searchsorted(takes, first)[of_thread]
    placed[takes] = given[first[of_thread] + np.arange(len(takes)) - before]
    fitting = (_inside_methods(one, name, parent, strings) for one in (given, placed))
    if next(fitting) >= next(fitting):
        return text
    found = np.full(len(text), NONE, np.int32)
    found[order] = placed
    return found


def _is_node(parent: I32, name: I32, strings: Strings) -> Bools:
    """Return which ranges are nodes of autograd: those directly inside the engine's of the name."""
    node = np.full(len(strings.all) + 1, NONE, np.int64)
    for i, one in enumerate(strings.all):
        if one.startswith(_ENGINE):
            node[i] = strings.find(one.removeprefix(_ENGINE))
    outer = np.where(parent >= 0, node[name[parent]], NONE)
    is_node: Bools = (outer >= 0) & (outer == name)
    return is_node


def _inside_methods(text: I32, name: I32, parent: I32, strings: Strings) -> int:
    """Return how many ranges are inside the method that their text begins with, or are it."""
    codes, code = np.unique(text, return_inverse=True)
    method = [strings.find(_method_of(strings.all[one])) if one >= 0 else NONE for one in codes]
    of_range = np.array(method, np.int64)[code]
    return sum(_are_inside(name == one, of_range == one, parent) for one in set(method) - {NONE})


def _are_inside(outer: Bools, inner: Bools, parent: I32) -> int:
    """Return how many of the inner ranges are one of the outer ones, or inside of one."""
    return int((inner & (outer | (intervals.nearest(parent, outer) >= 0))).sum())


def _method_of(hierarchy: str) -> str:
    """Return the method of the outermost part, as ``forward`` of ``TOP(A)::forward.b(B)::run.``."""
    head, _, rest = hierarchy.partition("::")
    return rest.partition(".")[0] if head.startswith(_TOP) else ""
