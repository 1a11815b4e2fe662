"""Attribute blocks of memory to classes of modules, and find what their forward pass costs."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.memory import by_operator
from tb_privateuse1.analysis.memory.allocations import AllocationLevel, Blocks
from tb_privateuse1.analysis.operators import module_of
from tb_privateuse1.analysis.steps import training_phases
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.columns import latest_not_after, lookup
from tb_privateuse1.trace.groupby import distinct_values, group_rows, sums
from tb_privateuse1.trace.model import NONE, Memory, Trace
from tb_privateuse1.trace.table import I32, I64

AlivePhase = Literal["forward", "backward", "optimizer", "outside", "earlier", "unexplained"]
"""``earlier``: allocated before the recording; ``unexplained``: the rest, negative if releases were
not reported."""


class AliveModule(Struct, frozen=True):
    """Memory that is alive at a peak, by class of module and phase; the rows sum to the peak."""

    module: str | None
    """The class of the innermost module around the allocation; of its forward operator in the
    backward pass. Null outside of modules, and without stacks."""
    phase: AlivePhase
    """The phase in which it was allocated."""
    allocations: int | None
    bytes: int
    share: float
    """Of the peak."""


def alive_modules(
    trace: Trace, events: Memory, level: AllocationLevel, blocks: Blocks, peak: int
) -> list[AliveModule]:
    """Return what is alive at entry ``peak`` of ``level``, most bytes first.

    ``events`` are those of one device in order of time.
    """
    whole = int(level.allocated[peak])
    found, earlier, rest = by_operator.alive_at(level, blocks, peak)
    at = found.allocation
    module = lookup(_class_numbers(trace), module_of.operator_modules(trace, events.op[at]), NONE)
    phase = _phases(trace, events, at)
    first, group = group_rows(module, phase)
    size = sums(group, found.bytes, len(first))
    count = np.bincount(group, minlength=len(first))
    rows = [
        AliveModule(
            class_text(trace, int(module[row])),
            _PHASES[phase[row]],
            int(count[i]),
            int(size[i]),
            int(size[i]) / whole if whole else 0.0,
        )
        for i, row in enumerate(first.tolist())
    ]
    others: tuple[tuple[AlivePhase, int], ...] = (("earlier", earlier), ("unexplained", rest))
    rows += [
        AliveModule(None, name, None, ns, ns / whole if whole else 0.0) for name, ns in others if ns
    ]
    return sorted(rows, key=lambda row: -row.bytes)


_PHASES: tuple[AlivePhase, ...] = ("forward", "backward", "optimizer", "outside")
_FORWARD, _BACKWARD, _OPTIMIZER, _OUTSIDE = range(len(_PHASES))


def _phases(trace: Trace, events: Memory, rows: I64) -> I64:
    """Return the phase of each of these allocations, an index into ``_PHASES``."""
    at = events.ts_ns[rows]
    near = training_phases.phases_around(trace, events.op[rows], events.thread[rows], at)
    passes = training_phases.find_passes(trace)
    place = latest_not_after(passes.forward_ns, at)
    until = lookup(passes.backward_ns, place, np.iinfo(np.int64).min)
    optimizes = np.isin(near.kind, (training_phases.STEPPING, training_phases.RESETTING))
    forward = near.in_module | (at < until)
    return np.select(
        (near.kind == training_phases.BACKWARD, optimizes, forward),
        (_BACKWARD, _OPTIMIZER, _FORWARD),
        _OUTSIDE,
    )


def _class_numbers(trace: Trace) -> I64:
    """Return for each string the first one that names a module of the same class."""
    first: dict[str, int] = {}
    return np.array(
        [first.setdefault(call_tree.class_of(text), i) for i, text in enumerate(trace.strings)],
        np.int64,
    )


def class_text(trace: Trace, string: int) -> str | None:
    """Return the class of module in a frame's name; None for no string."""
    text = trace.text(string).removeprefix(call_tree.MODULE)
    return call_tree.class_of(text) or None


class ModuleClass(Struct, frozen=True):
    """A class of modules that is called several times, with the memory made in its calls."""

    name: str
    instances: int
    bytes: int
    forward: intervals.Set
    """Device time of its forward pass: what recomputing it takes, in all steps together."""


def repeated_class(trace: Trace, ops: I64, size: I64) -> ModuleClass | None:
    """Return the class of several instances with most memory.

    ``ops`` are the operators that made blocks of ``size`` bytes. Of classes with equal memory the
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
