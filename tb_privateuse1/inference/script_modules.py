"""Find the calls of TorchScript's modules, which operators carry as texts (``with_modules``).

An operator's ``Module Hierarchy`` says where it is: ``TOP(A)::forward.b(B)::forward.`` is in the
module ``b`` of class ``B`` of an ``A`` (``moduleHierarchy`` in
torch/csrc/jit/runtime/interpreter.cpp). A part without a class is a function. ``TOP()`` is a graph
that another operator runs: its parts lie in the module of that.

A call is a run of such operators, from the first one's start to the last one's end. Two calls of
one module with nothing between them look like one.
"""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.readers.raw import Group
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.call_tree import MODULE
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64, Bools

_PART = re.compile(r"(?:(?P<instance>\w*)\((?P<of>\w*)\))?::(?P<function>[^.]*)\.?")
_TOP, _SELF = "TOP", "SELF"


def module_calls(operators: Group, strings: Strings) -> Group | None:
    """Return a range for each call of a module, outer ones first; None where no operator has any.

    Their names are those of ``nn.Module`` events with the path of the module and its class:
    ``nn.Module: b.lin(Linear)``, and of the outermost module the class alone.
    """
    text = operators.text("modules")
    if not (text >= 0).any():
        return None
    order = intervals.nesting_order(operators.thread, operators.start_ns, operators.end_ns)
    ranges, text = operators.take(order), text[order]
    parent = intervals.nest_ordered(ranges.thread, ranges.start_ns, ranges.end_ns)
    codes, code = np.unique(text, return_inverse=True)
    parsed = [_parse(strings.all[one]) if one >= 0 else ("", ()) for one in codes.tolist()]
    paths, path = _paths(parent, text, code, parsed)
    methods = np.array([strings.find(method) if method else NONE for method, _ in parsed])[code]
    depth = np.array([len(one) for one in paths], np.int64)[path]
    parts = [
        _runs(ranges, parent, paths, path, depth, level, ranges.name == methods, strings)
        for level in range(1, int(depth.max(initial=0)) + 1)
    ]
    return Group.join(parts) if parts else None


def _parse(hierarchy: str) -> tuple[str, tuple[str, ...]]:
    """Return the called method of a hierarchy's outermost module, and the names of its modules.

    The method is empty where the outermost module is not named.
    """
    names: list[str] = []
    path = method = ""
    for part in _PART.finditer(hierarchy):
        instance, of = part["instance"] or "", part["of"] or ""
        if instance == _TOP:
            method = part["function"] if of else ""
            names += [of] if of else []
        elif of and instance != _SELF:
            path = f"{path}.{instance}" if path else instance
            names.append(f"{path}({of})")
    return method, tuple(names)


def _paths(
    parent: I32, text: I32, code: I64, parsed: list[tuple[str, tuple[str, ...]]]
) -> tuple[list[tuple[str, ...]], I64]:
    """Return the distinct paths of modules, and the number of each operator's; 0 is of none.

    ``parsed`` are the distinct texts, ``code`` the index of each operator's among them.
    """
    named = np.array([bool(method) for method, _ in parsed], np.bool_)[code]
    holder = np.where(named, np.arange(len(text)), intervals.nearest(parent, named))
    # An operator without a text lies where the one around it does.
    own = np.where(text >= 0, np.arange(len(text)), intervals.nearest(parent, text >= 0))
    pairs = np.stack([lookup(code, lookup(holder, own, NONE), NONE), lookup(code, own, NONE)])
    found, number = np.unique(pairs, axis=1, return_inverse=True)
    paths: dict[tuple[str, ...], int] = {(): 0}
    of_pair = []
    for outer, inner in found.T.tolist():
        names = () if outer < 0 else parsed[outer][1]
        names += () if inner < 0 or inner == outer else _below(names, parsed[inner][1])
        of_pair.append(paths.setdefault(names, len(paths)))
    return list(paths), np.array(of_pair, np.int64)[number.reshape(-1)]


def _below(outer: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of a graph's modules with the path of the module that runs it."""
    around = outer[-1].partition("(")[0] if len(outer) > 1 else ""
    return tuple(f"{around}.{name}" if around else name for name in names)


def _runs(
    ranges: Group,
    parent: I32,
    paths: list[tuple[str, ...]],
    path: I64,
    depth: I64,
    level: int,
    whole: Bools,
    strings: Strings,
) -> Group:
    """Return the calls of the modules at a level, 1 for the outermost ones.

    ``whole`` marks operators with the name of the outermost module's method.
    """
    heads: dict[tuple[str, ...], int] = {}
    of_path = [
        heads.setdefault(one[:level], len(heads)) if len(one) >= level else NONE for one in paths
    ]
    head = np.array(of_path, np.int64)[path]
    holder = intervals.nearest(parent, depth < level)
    rows = np.flatnonzero(head != NONE)
    starts = _starts(ranges, head, holder)
    starts |= whole & (depth == 1) & (lookup(depth, parent, 0) == 0)
    starts = starts[rows]
    starts[:1] = True
    first = np.flatnonzero(starts)
    names = [strings.id(MODULE + one[-1]) for one in heads]
    begin = rows[first]
    return Group(
        name=np.array(names, np.int32)[head[begin]],
        start_ns=ranges.start_ns[begin],
        end_ns=np.maximum.reduceat(ranges.end_ns[rows], first),
        thread=ranges.thread[begin],
        event=np.full(len(first), NONE, np.int32),
    )


def _starts(ranges: Group, head: I64, holder: I32) -> Bools:
    """Return which operators are not in the module, place or thread of the one before."""
    changed: Bools = np.zeros(len(head), np.bool_)
    for column in (head, holder, ranges.thread):
        changed[1:] |= column[1:] != column[:-1]
    return changed
