"""Find the related call that has the shapes which a call's record lacks, such as its forward's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tb_privateuse1.analysis.work import registry
from tb_privateuse1.analysis.work.call_work import Related
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.analysis.work.models import convolutions, embedding_tables
from tb_privateuse1.trace.columns import latest_not_after, lookup, mask_of
from tb_privateuse1.trace.groupby import distinct_values, group_rows
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools


def named(trace: Trace, names: Mapping[str, object] | frozenset[str]) -> Bools:
    """Return by string of the trace whether it is the name of an operator among these."""
    numbers, reduced = _reduced_names(trace)
    wanted = [numbers[name] for name in names if name in numbers]
    return lookup(mask_of(np.array(wanted, np.int64), len(numbers)), reduced, False)


@memoize
def _reduced_names(trace: Trace) -> tuple[dict[str, int], I32]:
    """Return the numbers of the operators' reduced names, and by string its own or ``NONE``."""
    numbers: dict[str, int] = {}
    reduced = np.full(len(trace.strings), NONE, np.int32)
    names = distinct_values(trace.ops.name)
    words = (registry.reduced_name(trace.strings[name]) for name in names.tolist())
    reduced[names] = [numbers.setdefault(word, len(numbers)) for word in words]
    return numbers, reduced


def _parents(trace: Trace, rows: I64) -> I32:
    return trace.ops.parent[rows]


def _gradient_calls(trace: Trace, rows: I64) -> I32:
    """Return a backward call with the input and weight of each forward call, or ``NONE``.

    If there are several with gradients of different shapes, none is certain.
    """
    ops = trace.ops
    calls = np.flatnonzero(named(trace, convolutions.GRADIENTS)[ops.name] & (ops.shapes >= 0))
    first, _ = group_rows(ops.name[calls], ops.shapes[calls])
    of_inputs: dict[object, dict[object, int]] = {}
    for row in calls[first].tolist():
        if (call := read_call(trace, row)) and (sizes := convolutions.sizes_of_gradient(call)):
            x, grad, weight = sizes
            of_inputs.setdefault((x, weight), {})[grad] = row
    first, group = group_rows(ops.shapes[rows])
    found = np.full(len(first), NONE, np.int32)
    for i, at in enumerate(rows[first].tolist()):
        call = read_call(trace, at)
        shapes = None if call is None else tuple(one.shape for one in call.tensors(2))
        candidates = of_inputs.get(shapes, {})
        if len(candidates) == 1:
            found[i] = next(iter(candidates.values()))
    return found[group]


def _nodes_and_lookups(trace: Trace) -> tuple[I64, I64]:
    """Return the nodes of gradients of embedding tables, and the lookup that made each.

    Lookups have no sequence number, and their nodes have. torch counts the number up with each
    node: the lookup is the only one between the last forward operator that has the node's number
    or a smaller one, and the first that has a greater one.
    """
    ops = trace.ops
    nodes = np.flatnonzero(named(trace, embedding_tables.BY_LOOKUP)[ops.name] & (ops.sequence >= 0))
    lookups = np.flatnonzero(named(trace, embedding_tables.BY_NODE)[ops.name])
    forward = np.flatnonzero((ops.sequence >= 0) & (ops.forward_thread <= 0))
    if not len(nodes) or not len(lookups) or not len(forward):
        return nodes[:0], nodes[:0]
    lookups = lookups[np.argsort(ops.start_ns[lookups], kind="stable")]
    order = forward[np.lexsort((ops.start_ns[forward], ops.sequence[forward]))]
    starts = ops.start_ns[order]
    before = latest_not_after(ops.sequence[order], ops.sequence[nodes])
    before_ns = lookup(starts, before, np.iinfo(np.int64).min)
    after_ns = lookup(starts, before + 1, np.iinfo(np.int64).max)
    first = np.searchsorted(ops.start_ns[lookups], before_ns)
    last = np.searchsorted(ops.start_ns[lookups], after_ns)
    one = last - first == 1
    return nodes[one], lookups[first[one]]


def _lookups(trace: Trace, rows: I64) -> I32:
    """Return the lookup of each node of a gradient, or ``NONE``."""
    nodes, lookups = _nodes_and_lookups(trace)
    return _chosen(len(trace.ops), nodes, lookups)[rows]


def _nodes(trace: Trace, rows: I64) -> I32:
    """Return the node of the gradient of each lookup, or ``NONE``."""
    nodes, lookups = _nodes_and_lookups(trace)
    return _chosen(len(trace.ops), lookups, nodes)[rows]


def _chosen(count: int, rows: I64, values: I64) -> I32:
    column = np.full(count, NONE, np.int32)
    column[rows] = values
    return column


RELATIONS: tuple[tuple[Mapping[str, Related], Callable[[Trace, I64], I32]], ...] = (
    (convolutions.BY_PARENT, _parents),
    (convolutions.BY_GRADIENT, _gradient_calls),
    (embedding_tables.BY_NODE, _nodes),
    (embedding_tables.BY_LOOKUP, _lookups),
)
"""Models, and the function that returns a related row of each row, or ``NONE``."""
