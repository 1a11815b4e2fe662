"""Find graphs that several backward passes go through, whose gradients are only added up.

Gradients are linear: one backward pass of the sum of the losses gives the same. torch gives each
operator of the forward pass a sequence number, and that to the node of its gradient: a number that
comes again is the same node again.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.idioms.accumulations import accumulations
from tb_privateuse1.analysis.steps.training_phases import RESETTING, STEPPING, phase_kinds
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import latest_not_after, lookup, mask_of, positions
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools


@memoize
def repeated_nodes(trace: Trace) -> I64:
    """Return the rows of ``trace.ops`` that compute a node's gradients another time.

    Nodes whose gradients have gradients (``create_graph``) do not count, nor do passes whose
    gradients are read, reset or stepped with before the next one: these need their own.
    """
    ops, found = trace.ops, accumulations(trace)
    nodes = found.engine[ops.sequence[found.engine] >= 0]
    nodes = nodes[np.argsort(ops.start_ns[nodes], kind="stable")]
    first, group = groupby.group_rows(ops.forward_thread[nodes], ops.sequence[nodes])
    again = first[group] != np.arange(len(nodes))
    if not again.any():
        return np.empty(0, np.int64)
    of_graph = mask_of(group[_makes_graph(trace, nodes)], len(first))
    # Within one sum of gradients: no reset and no step from the first pass to this one.
    marks = np.sort(ops.start_ns[np.isin(phase_kinds(trace), (STEPPING, RESETTING))])
    period = np.searchsorted(marks, ops.start_ns[nodes])
    same = period == period[first[group]]
    adds = ~_in_fresh_passes(trace, nodes)
    found_again: I64 = nodes[again & ~of_graph[group] & same & adds]
    return found_again


def _makes_graph(trace: Trace, nodes: I64) -> Bools:
    """Return which nodes run operators that autograd records."""
    ops = trace.ops
    place = positions(nodes, len(ops))
    wanted = place >= 0
    recorded = np.flatnonzero((ops.sequence >= 0) & ~wanted & (ops.parent >= 0))
    around = call_tree.around(ops.parent, ops.parent[recorded], wanted)
    inside = around >= 0
    recorded, around = recorded[inside], around[inside]
    own = ops.sequence[recorded] == ops.sequence[around]
    return mask_of(place[around[~own]], len(nodes))


def _in_fresh_passes(trace: Trace, nodes: I64) -> Bools:
    """Return which nodes run in a pass that adds to no gradient of an earlier one."""
    found = accumulations(trace)
    adds = mask_of(found.backward[~found.is_fresh], len(found.passes.backward_ns))
    backward = latest_not_after(found.passes.backward_ns, trace.ops.start_ns[nodes])
    return ~lookup(adds, backward, False)
