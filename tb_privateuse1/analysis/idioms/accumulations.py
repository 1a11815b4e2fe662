"""Find how autograd accumulates gradients: the parameter, its shape and the backward pass.

Without shapes, whether an optimizer steps with them shows by what it resets, and by its counts of
steps: torch's operators on lists call one for each number on the host.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.nodes import operators_named
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.steps.training_phases import (
    STEPPING,
    Passes,
    find_passes,
    phase_kinds,
)
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.columns import following, latest_not_after, mask_of, previous
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools

ENGINE, ACCUMULATE = "autograd::engine::evaluate_function", "torch::autograd::AccumulateGrad"
"""torch's names for the evaluation of a node, and for the node that adds to a gradient."""

READING = ("elementwise", "reduction", "copy", "optimizer", "random", "other")
"""Kinds of work that user's code does with a gradient: what it does with a weight is another."""
_LISTS = re.compile(r"foreach_|fused_|^aten::(cat|stack|concat)")
"""Operators that take a list of tensors."""
_ANY = 1 << 32
"""More readers than there are gradients."""
_ZEROES = ("zero", "fill", "foreach_zero")
"""Reduced names of operators that reset gradients and keep their memory."""
_COUNTS = "aten::_foreach_add_"
"""What raises the counts of an optimizer's steps."""

Shape = tuple[int, ...]


class Accumulations(Struct, frozen=True, eq=False):
    """The accumulated gradients by time, one per row of ``op``, and what surrounds them."""

    passes: Passes
    engine: I64
    """The rows of ``trace.ops`` that evaluate nodes."""
    op: I64
    """The rows that accumulate."""
    backward: I64
    """The backward pass of each."""
    shape: I64
    """The shape of each, an index into ``shapes``; -1 if unknown."""
    is_fresh: Bools
    """There was no gradient to add to: it had been reset."""
    shapes: tuple[Shape, ...]


@memoize
def accumulations(trace: Trace) -> Accumulations:
    """Return the gradients that backward passes accumulate."""
    ops, passes = trace.ops, find_passes(trace)
    op = np.flatnonzero(call_tree.starts_with(trace, ACCUMULATE)[ops.name])
    op = op[np.argsort(ops.start_ns[op], kind="stable")]
    backward = latest_not_after(passes.backward_ns, ops.start_ns[op])
    op, backward = op[backward >= 0], backward[backward >= 0]
    shapes: dict[Shape, int] = {}
    first, call = groupby.group_rows(ops.shapes[op], ops.dtypes[op])
    number = np.full(len(first), -1, np.int64)
    for i, row in enumerate(op[first].tolist()):
        for shape in written_shapes(trace, row)[:1]:
            number[i] = shapes.setdefault(shape, len(shapes))
    adding = np.zeros(len(ops) + 1, np.bool_)
    names = call_tree.starts_with(trace, "aten::add")
    adding[ops.parent[names[ops.name]]] = True
    return Accumulations(
        passes=passes,
        engine=np.flatnonzero(call_tree.starts_with(trace, ENGINE)[ops.name]),
        op=op,
        backward=backward,
        shape=number[call],
        is_fresh=~adding[op],
        shapes=tuple(shapes),
    )


def written_shapes(trace: Trace, row: int) -> tuple[Shape, ...]:
    """Return the shapes of the first input of a row of ``trace.ops``, a tensor or a list of them.

    Scalars, which optimizers have as counts of steps, do not count; empty if nothing is recorded.
    """
    call = read_call(trace, row)
    return tuple(one.shape for one in call.tensors(1) if one.shape) if call else ()


def left_over(trace: Trace) -> Bools:
    """Return which gradients a pass adds to those of a pass before the optimizer's last step.

    The step resets its own gradients: they are new in each pass. What others add up is of another
    network, or of parameters without an optimizer. That holds where each pass has one step, where
    nothing is set to zero instead, and where too few operators follow to read them.
    """
    ops, found = trace.ops, accumulations(trace)
    passes, number = np.unique(found.backward, return_inverse=True)
    gaps = _steps_behind(trace, passes)
    usual = (gaps == 1) & (previous(gaps, 1) == 1)
    fresh, added = (
        np.bincount(number[kind], minlength=len(passes))
        for kind in (found.is_fresh, ~found.is_fresh)
    )
    usual &= (fresh > 0) & (added > _readers_behind(trace)[passes])
    # What differs once may be an optimizer's that steps more rarely.
    _, alike = groupby.group_rows(fresh, added)
    refuted = mask_of(alike[~usual], len(passes))
    zeroed = operators_named(trace, *_ZEROES) & groupby.outermost_operators(ops)
    left: Bools = ~refuted[alike][number] & ~found.is_fresh & ~zeroed.any()
    return left


def beyond_steps(trace: Trace) -> Bools:
    """Return which gradients are beyond as many as the optimizers step with: a pass's last ones.

    A step raises a count for each parameter. Not where gradients of several passes add up, where
    ranks share the parameters, or where operators follow that may read them.
    """
    found = accumulations(trace)
    passes, number = np.unique(found.backward, return_inverse=True)
    stepped_ns, most = _most_stepped(trace)
    gaps = _steps_behind(trace, passes)
    none = np.zeros(len(found.op), np.bool_)
    if (gaps < 1).any() or (most < 0).any() or len(trace.collectives) or not found.is_fresh.all():
        return none
    behind = np.searchsorted(found.passes.backward_ns[passes], stepped_ns) - 1
    stepped = groupby.sums(behind, most, len(passes))
    count = np.bincount(number, minlength=len(passes))
    may_read = count - stepped <= _readers_behind(trace)[passes]
    # Those of one loop are equal: an optimizer that steps more rarely would show in some.
    if len(np.unique(stepped)) > 1 or may_read.any():
        return none
    begins = np.searchsorted(number, np.arange(len(passes)))
    beyond: Bools = np.arange(len(number)) - begins[number] >= stepped[number]
    return beyond


def _steps_behind(trace: Trace, passes: I64) -> I64:
    """Return how many steps of optimizers begin behind each pass and ahead of the next one."""
    begin = accumulations(trace).passes.backward_ns[passes]
    stepped = np.unique(trace.ops.start_ns[phase_kinds(trace) == STEPPING])
    return np.diff(np.searchsorted(stepped, np.append(begin, np.iinfo(np.int64).max)))


def _most_stepped(trace: Trace) -> tuple[I64, I64]:
    """Return when optimizers step, and with how many parameters at most; -1 if that is unknown.

    A count of steps is on the host for each group at least as often as any list is worked on.
    """
    ops = trace.ops
    steps = np.flatnonzero(phase_kinds(trace) == STEPPING)
    number = np.full(len(ops) + 1, -1, np.int64)
    number[steps] = np.arange(len(steps))
    named = groupby.named_rows(trace.strings, ops.name, lambda name: bool(_LISTS.search(name)))
    lists = np.flatnonzero(named & (number[ops.parent] >= 0))
    first, kind = groupby.group_rows(number[ops.parent[lists]], ops.name[lists])
    least = groupby.minima(number[ops.parent[lists[first]]], np.bincount(kind), len(steps))
    counts = lists[groupby.named_rows(trace.strings, ops.name[lists], _COUNTS.__eq__)]
    children = np.bincount(ops.parent[ops.parent >= 0], minlength=len(ops))[counts]
    at = number[ops.parent[counts]]
    most = groupby.sums(at, children, len(steps))
    counted = groupby.sums(at, (children > 0).astype(np.int64), len(steps))
    return ops.start_ns[steps], np.where((counted > 0) & (counted >= least), most, -1)


def _readers_behind(trace: Trace) -> I64:
    """Return by pass how many operators behind it may read gradients.

    What takes a list may read all of them.
    """
    ops, passes = trace.ops, accumulations(trace).passes
    rows, at = behind_passes(trace, passes)
    weight = np.zeros(len(trace.strings), np.int64)
    for name in groupby.distinct_values(ops.name[rows]).tolist():
        text = trace.text(name)
        if kind_of(text, trace.vendor) in READING:
            weight[name] = _ANY if _LISTS.search(text) else 1
    return groupby.sums(at, weight[ops.name[rows]], len(passes.backward_ns))


def behind_passes(trace: Trace, passes: Passes) -> tuple[I64, I64]:
    """Return the program's operators between a backward pass and the next forward pass, and which.

    Those of optimizers and of autograd are not the program's.
    """
    ops, kinds = trace.ops, phase_kinds(trace)
    begin = following(passes.forward_ns, groupby.LAST)
    at = latest_not_after(passes.end_ns, ops.start_ns)
    between = (at >= 0) & (ops.start_ns < begin[at]) & groupby.outermost_operators(ops)
    between &= intervals.nearest(ops.parent, kinds >= 0) < 0
    rows = np.flatnonzero(between & (kinds < 0))
    return rows, at[rows]
