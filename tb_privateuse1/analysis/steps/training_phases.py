"""Find the phases of training: data loading, forward, backward pass, optimizer.

The sources are in every trace of torch: annotations around the optimizer and the data loader, the
autograd engine's operators, sequence numbers, and, with stacks, the frames of modules.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.columns import (
    containing,
    following,
    lookup,
    positions,
    previous,
)
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I8, I32, I64, Bools

ENGINE, OPTIMIZER, ZERO_GRAD = (
    "autograd::engine::evaluate_function",
    "Optimizer.step#",
    "Optimizer.zero_grad#",
)
"""Prefixes of torch's names for a node of the backward pass, an optimizer's step and its reset."""

BACKWARD, STEPPING, RESETTING, LOADING = range(4)
"""Values of ``Around.kind``: the phase of the enclosing range; ``NONE`` without one."""

_MAKERS = ("torch/nn/modules/", "torch/nn/init.py", "torch/nn/parameter.py")
_MAKING = (": __init__", ": _apply", ": reset_parameters", ": __new__")


class Around(Struct, frozen=True):
    """The ranges around operators; ``NONE`` without one."""

    kind: I8
    """Phase of the innermost range of the backward pass, the optimizer or the data loader."""
    row: I32
    """Row of that range."""
    outermost: I32
    """The outermost enclosing operator, or the operator itself."""
    in_module: Bools
    """Within the call of an nn.Module."""
    makes_module: Bools
    """Within code that makes or moves a module's parameters, and not within its call."""


class Passes(Struct, frozen=True):
    """The passes of autograd, by time: the k-th forward pass, then the k-th backward pass.

    A backward pass is a run of the engine's work in which no forward operator and no optimizer step
    begins. A forward pass begins with the first operator behind the last backward pass whose
    gradient the next one computes.
    """

    forward_ns: I64
    """Start of the forward pass; equal to ``backward_ns`` if there is none."""
    backward_ns: I64
    end_ns: I64


def phase_kinds(trace: Trace) -> I8:
    """Return the phase that each row of ``trace.ops`` stands for; ``NONE`` for others."""
    named = np.full(len(trace.strings) + 1, NONE, np.int8)
    for kind, prefix in enumerate((ENGINE, OPTIMIZER, ZERO_GRAD, call_tree.LOADER)):
        named[call_tree.starts_with(trace, prefix)] = kind
    found: I8 = named[trace.ops.name]
    return found


def phases_around(trace: Trace, op: I32, thread: I32, at_ns: I64) -> Around:
    """Return the ranges around instants of a thread; ``op`` is the innermost operator of each.

    It walks up from the operators. Python releases tensors outside of all operators: then it is the
    range of that time.
    """
    ops, kind_of = trace.ops, phase_kinds(trace)
    rows = groupby.distinct_values(op[op >= 0])
    place = positions(rows, len(ops))[op[op >= 0]]
    row, outermost = (np.full(len(rows), NONE, np.int32) for _ in range(2))
    left, at = np.arange(len(rows)), rows.astype(np.int32)
    while len(left):
        first = (row[left] == NONE) & (kind_of[at] != NONE)
        row[left[first]] = at[first]
        operator = ops.kind[at] == OPERATOR
        outermost[left[operator]] = at[operator]
        up = ops.parent[at]
        left, at = left[up >= 0], up[up >= 0]
    in_module, makes = _frames_around(trace, ops.frame[rows])
    whole = np.full(len(op), NONE)
    whole[op >= 0] = place
    range_of = lookup(row, whole, NONE).astype(np.int32)
    bare = op < 0
    wanted = np.flatnonzero(kind_of != NONE)
    inner = intervals.innermost(
        ops.thread[wanted], ops.start_ns[wanted], ops.end_ns[wanted], thread[bare], at_ns[bare]
    )
    range_of[bare] = lookup(wanted, inner, NONE)
    return Around(
        kind=lookup(kind_of, range_of, NONE).astype(np.int8),
        row=range_of,
        outermost=lookup(outermost, whole, NONE).astype(np.int32),
        in_module=lookup(in_module, whole, False),
        makes_module=lookup(makes & ~in_module, whole, False),
    )


def _frames_around(trace: Trace, frame: I32) -> tuple[Bools, Bools]:
    """Return by frame whether a module's call is around it, and whether code makes parameters."""
    called = call_tree.starts_with(trace, call_tree.MODULE)
    makes = groupby.named_rows(
        trace.strings,
        trace.frames.name,
        lambda t: t.endswith(_MAKING) and any(maker in t for maker in _MAKERS),
    )
    inside, making = np.zeros(len(frame), np.bool_), np.zeros(len(frame), np.bool_)
    left = np.flatnonzero(frame >= 0)
    at = frame[left]
    while len(left):
        inside[left] |= called[trace.frames.name[at]]
        making[left] |= makes[at]
        up = trace.frames.parent[at]
        on = (up >= 0) & ~inside[left]
        left, at = left[on], up[on]
    return inside, making


@memoize
def find_passes(trace: Trace) -> Passes:
    """Return the forward and backward passes of the recording; none in inference."""
    ops, kind = trace.ops, phase_kinds(trace)
    engine = np.flatnonzero(kind == BACKWARD)
    if not len(engine):
        none = np.empty(0, np.int64)
        return Passes(none, none, none)
    engine = engine[np.argsort(ops.start_ns[engine], kind="stable")]
    start, end = ops.start_ns[engine], np.maximum.accumulate(ops.end_ns[engine])
    forward = call_tree.linked_forward(trace)
    forward_ns = np.sort(
        ops.start_ns[groupby.distinct_values(forward[forward >= 0])], kind="stable"
    )
    # A forward operator that runs inside the engine recomputes: a checkpoint.
    forward_ns = forward_ns[containing(start, end, forward_ns) < 0]
    marks = np.sort(np.concatenate((forward_ns, ops.start_ns[kind == STEPPING])))
    new = np.searchsorted(marks, start[1:]) > np.searchsorted(marks, end[:-1])
    first = np.flatnonzero(np.append(True, new))
    begin, stop = start[first], end[following(first, len(end)) - 1]
    after = np.searchsorted(forward_ns, previous(stop, np.iinfo(np.int64).min))
    next_ns = lookup(forward_ns, after, np.iinfo(np.int64).max)
    return Passes(np.minimum(next_ns, begin), begin, stop)
