"""Where in training something happens: data loading, forward, backward pass, optimizer.

From what torch writes into every trace: its annotations around the optimizer and the data loader,
the autograd engine's operators, sequence numbers, and, with stacks, the frames of modules.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I8, I32, I64, Bools

ENGINE, OPTIMIZER, ZERO_GRAD = (
    "autograd::engine::evaluate_function",
    "Optimizer.step#",
    "Optimizer.zero_grad#",
)
"""How torch names what runs a node of the backward pass, an optimizer's step and its reset."""

BACKWARD, STEPPING, RESETTING, LOADING = range(4)
"""What the range around something is, as ``Around.kind`` has it; ``NONE`` without one."""

_MAKERS = ("torch/nn/modules/", "torch/nn/init.py", "torch/nn/parameter.py")
_MAKING = (": __init__", ": _apply", ": reset_parameters", ": __new__")


@dataclass(frozen=True)
class Around:
    """What is around operators; ``NONE`` where nothing is."""

    kind: I8
    """Of the innermost range of the backward pass, the optimizer or the data loader."""
    row: I32
    """That range."""
    outermost: I32
    """The outermost operator around, or the operator itself."""
    in_module: Bools
    """Within the call of an nn.Module."""
    makes_module: Bools
    """Within what makes or moves a module's parameters, not within its call."""


@dataclass(frozen=True)
class Passes:
    """The passes of autograd, by time: the k-th forward pass, then the k-th backward pass.

    A backward pass is all work of the engine between which no forward operator and no optimizer
    step begins; a forward pass begins with the first operator after the last backward pass that
    the next one computes a gradient of.
    """

    forward_ns: I64
    """Where the forward pass begins; equal to the next if there is none."""
    backward_ns: I64
    end_ns: I64


def phase_kinds(trace: Trace) -> I8:
    """Which rows of ``trace.ops`` are ranges of one of the kinds; ``NONE`` for others."""
    named = np.full(len(trace.strings) + 1, NONE, np.int8)
    for kind, prefix in enumerate((ENGINE, OPTIMIZER, ZERO_GRAD, call_tree.LOADER)):
        named[:-1][call_tree.starts_with(trace, prefix)] = kind
    found: I8 = named[trace.ops.name]
    return found


def phases_around(trace: Trace, op: I32, thread: I32, at_ns: I64) -> Around:
    """What is around instants of a thread, of which ``op`` is the innermost operator.

    It walks up from the operators. Python lets go of tensors outside of all of them: then it is
    the range of that time.
    """
    ops, kind_of = trace.ops, phase_kinds(trace)
    rows, place = np.unique(op[op >= 0], return_inverse=True)
    row, outermost = (np.full(len(rows), NONE, np.int32) for _ in range(2))
    left, at = np.arange(len(rows)), rows
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
    range_of = np.append(row, NONE)[whole].astype(np.int32)
    bare = op < 0
    wanted = np.flatnonzero(kind_of != NONE)
    inner = intervals.innermost(
        ops.thread[wanted], ops.start_ns[wanted], ops.end_ns[wanted], thread[bare], at_ns[bare]
    )
    range_of[bare] = np.append(wanted, NONE)[inner]
    return Around(
        kind=np.append(kind_of, NONE)[range_of].astype(np.int8),
        row=range_of,
        outermost=np.append(outermost, NONE)[whole].astype(np.int32),
        in_module=np.append(in_module, False)[whole],
        makes_module=np.append(makes & ~in_module, False)[whole],
    )


def _frames_around(trace: Trace, frame: I32) -> tuple[Bools, Bools]:
    """Whether a frame is within a module's call; within what makes parameters."""
    called = call_tree.starts_with(trace, call_tree.MODULE)
    makes = np.array(
        [t.endswith(_MAKING) and any(m in t for m in _MAKERS) for t in trace.strings], np.bool_
    )
    inside, making = np.zeros(len(frame), np.bool_), np.zeros(len(frame), np.bool_)
    left = np.flatnonzero(frame >= 0)
    at = frame[left]
    while len(left):
        inside[left] |= called[trace.frames.name[at]]
        making[left] |= makes[trace.frames.name[at]]
        up = trace.frames.parent[at]
        on = (up >= 0) & ~inside[left]
        left, at = left[on], up[on]
    return inside, making


def find_passes(trace: Trace) -> Passes:
    """The forward and backward passes of the recording; none in inference."""
    ops, kind = trace.ops, phase_kinds(trace)
    engine = np.flatnonzero(kind == BACKWARD)
    if not len(engine):
        none = np.empty(0, np.int64)
        return Passes(none, none, none)
    engine = engine[np.argsort(ops.start_ns[engine], kind="stable")]
    start, end = ops.start_ns[engine], np.maximum.accumulate(ops.end_ns[engine])
    forward = call_tree.linked_forward(ops)
    forward_ns = np.sort(ops.start_ns[np.unique(forward[forward >= 0])])
    # A forward operator that runs while the engine does computes something again: a checkpoint.
    at = np.searchsorted(start, forward_ns, side="right") - 1
    forward_ns = forward_ns[(at < 0) | (forward_ns >= end[np.maximum(at, 0)])]
    marks = np.sort(np.concatenate((forward_ns, ops.start_ns[kind == STEPPING])))
    new = np.searchsorted(marks, start[1:]) > np.searchsorted(marks, end[:-1])
    first = np.flatnonzero(np.append(True, new))
    begin, stop = start[first], end[np.append(first[1:], len(end)) - 1]
    after = np.searchsorted(forward_ns, np.append(np.iinfo(np.int64).min, stop[:-1]))
    padded = np.append(forward_ns, np.iinfo(np.int64).max)
    return Passes(np.minimum(padded[after], begin), begin, stop)
