"""Group operators for tables: by name, shapes, call stack, module or kind of work.

A *row* is a row of ``trace.ops``.
"""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.analysis.operators import kinds_of_work, module_of
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import flag_names, lookup
from tb_privateuse1.trace.groupby import distinct_values, maxima, minima
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

Group = Literal["name", "shapes", "stack", "module", "category"]

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def group_columns(trace: Trace, rows: I64, group: Group) -> tuple[NDArray[np.integer], ...]:
    """Return columns by which rows are grouped: equal values in all make one row of the table."""
    ops = trace.ops
    name = ops.name[rows]
    match group:
        case "name":
            return (name,)
        case "shapes":
            return name, ops.shapes[rows]
        case "stack":
            return name, _call_sites(trace, ops.stack[rows]), _paths(trace)[ops.frame[rows]]
        case "module":
            return name, _module_classes(trace)[innermost_modules(trace)[rows]]
        case "category":
            return (name_categories(trace)[name],)


@memoize
def name_categories(trace: Trace) -> I32:
    """Return the index in ``kinds_of_work.KINDS`` of each string that names an operator or kernel.

    Other strings are of kind ``other``, and so is the last of the (strings + 1) entries, that of
    ``NONE``.
    """
    numbers = {kind: number for number, kind in enumerate(kinds_of_work.KINDS)}
    category = np.full(len(trace.strings) + 1, numbers["other"], np.int32)
    named = [trace.ops.name, trace.captures.name, trace.kernels.name]
    names = distinct_values(np.concatenate(named))
    names = names[names >= 0]
    texts = (trace.strings[name] for name in names.tolist())
    category[names] = [numbers[kind] for kind in kinds_of_work.kinds_of(texts, trace.vendor)]
    return category


def innermost_modules(trace: Trace) -> I32:
    """Return the string that names the innermost module of each row, ``NONE`` outside of modules.

    An operator of the backward pass belongs to the module of its forward operator.
    """
    frames, ops = trace.frames, trace.ops
    inner = call_tree.self_or_nearest(frames.parent, call_tree.is_module(trace))
    own = lookup(inner, ops.frame, NONE)
    forward = module_of.forward_operators(trace)
    frame = np.where(forward >= 0, lookup(own, forward, NONE), own).astype(np.int32)
    return lookup(frames.name, frame, NONE)


def _module_classes(trace: Trace) -> I32:
    """Return by string of the trace the first one that names a module of the same class.

    The appended last entry is that of ``NONE``. Instances of a class run the same lines of code.
    """
    names = np.unique(trace.frames.name[call_tree.is_module(trace)])
    first: dict[str, int] = {}
    found = np.append(np.arange(len(trace.strings)), NONE).astype(np.int32)
    for name in names.tolist():
        found[name] = first.setdefault(call_tree.class_of(trace.text(name)), name)
    return found


def module_class(text: str) -> str | None:
    """Return the module's class in a frame's name, such as ``Linear``; None without one."""
    return call_tree.class_of(text).removeprefix(call_tree.MODULE) or None


def module_title(text: str) -> str | None:
    """Return the module's name in a frame's name, such as ``Linear_0``; None without one."""
    return text.removeprefix(call_tree.MODULE) or None


def _call_sites(trace: Trace, stacks: I32) -> I32:
    """Return a number by recorded stack, equal for equal lines of the program as in ``_paths``.

    It is ``NONE`` without a stack.
    """
    texts, code = np.unique(stacks, return_inverse=True)
    number: dict[str | None, int] = {}
    known = [
        NONE if text < 0 else number.setdefault(call_site_of(trace.text(text)), len(number))
        for text in texts.tolist()
    ]
    return np.array(known, np.int32)[code]


def _paths(trace: Trace) -> I32:
    """Return a number by Python frame: equal if all names from the root on are equal.

    Neither the address of the object that a built-in method belongs to nor the number of a module's
    instance counts: a call site is a line of the program.
    """
    frames = trace.frames
    names, code = np.unique(frames.name, return_inverse=True)
    texts = [frame_title(trace.text(name)) for name in names]
    number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    label = np.array([number[text] for text in texts], np.int32)[code]
    nodes = call_tree.merge_calls(frames.parent, label, np.ones(len(frames), np.bool_))
    return np.append(nodes.of, NONE).astype(np.int32)


def frame_title(name: str) -> str:
    """Return a frame's name without what differs between calls of one line of the program."""
    if name.startswith(call_tree.MODULE):
        return call_tree.class_of(name)
    return _ADDRESS.sub("", name)


def call_site_of(stack: str | None) -> str | None:
    """Return what the stacks (``python_stack``) of all calls of one line have in common."""
    return stack and ";".join(map(frame_title, stack.split(";")))


def python_stack(trace: Trace, row: int) -> str | None:
    """Return the Python frames around an operator, innermost first, joined by ``;`` as in torch."""
    if row < 0:
        return None
    if trace.ops.stack[row] >= 0:
        return trace.text(trace.ops.stack[row]) or None
    return frame_stack(trace, int(trace.ops.frame[row]))


def frame_stack(trace: Trace, frame: int) -> str | None:
    """Return the names of a Python frame and those around it, innermost first, joined by ``;``."""
    names = []
    while frame >= 0:
        names.append(trace.text(trace.frames.name[frame]))
        frame = int(trace.frames.parent[frame])
    return ";".join(names) or None


def matching_rows(trace: Trace, rows: I64, group: Group, text: str) -> Bools:
    """Return which rows contain a text, ignoring case, in their group's columns or kind of work."""
    ops, frames = trace.ops, trace.frames
    text = text.lower()
    has = flag_names(trace.strings, lambda string: text in string.lower())
    kinds = np.array([text in kind for kind in kinds_of_work.KINDS], np.bool_)
    found: Bools = kinds[name_categories(trace)[ops.name[rows]]]
    if group != "category":
        found |= has[ops.name[rows]]
    if group == "shapes":
        found |= has[ops.shapes[rows]]
    if group == "module":
        module = innermost_modules(trace)[rows]
        found |= flag_names(trace.strings, lambda name: text in (module_class(name) or "").lower())[
            module
        ]
    if group == "stack":
        within = call_tree.self_or_nearest(frames.parent, has[frames.name]) >= 0
        found |= has[ops.stack[rows]] | lookup(within, ops.frame[rows], False)
    return found


def forward_names(trace: Trace, forward: I32, member: I64, groups: int) -> I64:
    """Return by group the name of the forward operators whose gradient its members compute.

    ``forward`` has the forward operator of each member, ``member`` its group. ``NONE`` without one,
    or if there are several names.
    """
    linked = forward >= 0
    name = trace.ops.name[forward[linked]].astype(np.int64)
    least = minima(member[linked], name, groups)
    most = maxima(member[linked], name, groups, NONE)
    return np.where(least == most, most, NONE)
