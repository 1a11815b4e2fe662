"""Find how autograd accumulates gradients: the parameter, its shape and the backward pass."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.steps.training_phases import Passes, find_passes
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import latest_not_after
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools

ENGINE, ACCUMULATE = "autograd::engine::evaluate_function", "torch::autograd::AccumulateGrad"
"""torch's names for the evaluation of a node, and for the node that adds to a gradient."""

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
