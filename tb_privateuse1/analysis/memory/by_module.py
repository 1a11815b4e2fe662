"""Attribute blocks of memory to classes of modules, and find what their forward pass costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.steps import training_phases
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.groupby import distinct_values, group_rows, sums
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I32, I64


@dataclass(frozen=True)
class ModuleClass:
    """A class of modules that is called several times, with the memory made in its calls."""

    name: str
    instances: int
    bytes: int
    forward: intervals.Set
    """Device time of its forward pass: what recomputing it takes, in all steps together."""


def repeated_class(trace: Trace, ops: I64, size: I64) -> ModuleClass | None:
    """Return the class of several instances with most memory.

    ``ops`` are the operators that made blocks of ``size`` bytes. Of classes with as much memory the
    one with the fewest instances counts, which is the outermost. None without such modules.
    """
    block, string = _modules_around(trace, trace.ops.frame[ops])
    if not len(block):
        return None
    names = distinct_values(string)
    texts = [trace.text(i).removeprefix(call_tree.MODULE) for i in names.tolist()]
    classes, of_name = np.unique([call_tree.class_of(text) for text in texts], return_inverse=True)
    of = of_name[np.searchsorted(names, string)]
    instances = np.bincount(of_name, minlength=len(classes))
    once, _ = group_rows(block, of)
    total = sums(of[once], size[block[once]], len(classes))
    total[instances < 2] = 0
    best = int(np.lexsort((instances, -total))[0])
    if not total[best]:
        return None
    return ModuleClass(
        name=str(classes[best]),
        instances=int(instances[best]),
        bytes=int(total[best]),
        forward=_forward(trace, names[of_name == best]),
    )


def _modules_around(trace: Trace, frame: I32) -> tuple[I64, I64]:
    """Return pairs (index into ``frame``, string of a module whose call is around it)."""
    frames, named = trace.frames, call_tree.is_module(trace)
    left = np.flatnonzero(frame >= 0)
    at = frame[left]
    pairs = [(left[:0], left[:0])]
    while len(left):
        here = named[at]
        pairs.append((left[here], frames.name[at[here]].astype(np.int64)))
        at = frames.parent[at]
        left, at = left[at >= 0], at[at >= 0]
    return np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs])


def _forward(trace: Trace, names: I64) -> intervals.Set:
    """Return the time of activities that calls of these modules launched."""
    kernels = trace.kernels
    ops = distinct_values(kernels.op[kernels.op >= 0])
    ops = ops[training_phases.phase_kinds(trace)[ops] == NONE]
    member, string = _modules_around(trace, trace.ops.frame[ops])
    inside = np.zeros(len(trace.ops) + 1, np.bool_)
    inside[ops[member[np.isin(string, names)]]] = True
    rows = inside[kernels.op]
    return intervals.union(kernels.start_ns[rows], kernels.end_ns[rows])
