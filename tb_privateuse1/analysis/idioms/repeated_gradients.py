"""Find what is done to gradients in each of several backward passes, where once would do.

Gradients are linear: one backward pass of the sum of the losses gives the same. torch gives each
operator of the forward pass a sequence number, and that to the node of its gradient: a number that
comes again is the same node again.

What a pass adds to a gradient that was scaled by its norm is scaled again behind it. One norm ahead
of the update does, unless each part's own gradient has a limit: then it is reset between the
passes, and nothing is added to it.
"""

from __future__ import annotations

import itertools

import numpy as np

from tb_privateuse1.analysis.idioms.accumulations import accumulations
from tb_privateuse1.analysis.idioms.followed_calls import FollowedCalls, Known, followed_calls
from tb_privateuse1.analysis.steps.training_phases import RESETTING, STEPPING, phase_kinds
from tb_privateuse1.analysis.work.arguments import UnknownWork
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


_NORM, _SCALE = "foreach_norm", "foreach_mul"
_READS = ("foreach", "fused")
"""How operators on lists begin: they keep or reset what was scaled, or update weights by it."""

Shapes = tuple[tuple[int, ...], ...]


@memoize
def repeated_clipping(trace: Trace) -> I64:
    """Return the rows of ``trace.ops`` that scale gradients which are added to and scaled again."""
    calls = followed_calls(trace)
    rounds = [one for at in calls.named(f"_{_NORM}") if (one := _round(calls, at))]
    found: dict[int, float] = {}
    for own, following in itertools.pairwise(rounds):
        if _is_added_to(trace, calls, own, following):
            found |= dict.fromkeys(own, 1.0)
    return calls.everywhere(found)[0]


def _round(calls: FollowedCalls, at: int) -> range | None:
    """Return the places from a norm of tensors to their scaling; None if anything else is there."""
    shapes = _shapes(calls.at(at))
    for place, known in calls.behind(at):
        if known is None or not shapes:
            return None
        if known.word == _SCALE:
            return range(at, place + 1) if _shapes(known) == shapes else None
        if max(known.sizes, default=0) > len(shapes):
            return None
    return None


def _shapes(known: Known | None) -> Shapes:
    try:
        return () if known is None else tuple(one.shape for one in known.call.tensor_list(0))
    except UnknownWork:
        return ()


def _is_added_to(trace: Trace, calls: FollowedCalls, own: range, following: range) -> bool:
    """Return whether a pass adds to what one round has scaled, and the next one scales the sum."""
    last, first = own[-1], following[0]
    shapes = _shapes(calls.at(last))
    if calls.first_of(last) != calls.first_of(first) or _shapes(calls.at(first)) != shapes:
        return False
    for place in range(last + 1, first):
        known = calls.at(place)
        if known is None or (known.word.startswith(_READS) and _shapes(known) == shapes):
            return False
    ops, sums = trace.ops, accumulations(trace)
    at = ops.start_ns[sums.op]
    begin = np.searchsorted(at, ops.end_ns[calls.rows[last]])
    end = np.searchsorted(at, ops.start_ns[calls.rows[first]])
    return bool(end > begin and not sums.is_fresh[begin:end].any())
