"""Find loops over many tensors, such as parameters: the same few operators for each.

A ``_foreach_`` operator takes a list of tensors of any sizes. Equal rounds on tensors of one size
may as well be steps of an iteration, which need each other's results: only sizes that change from
round to round tell the two apart. Without shapes, a loop behind a backward pass is one over tensors
if it has a round for each gradient of that pass.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.accumulations import ACCUMULATE, accumulations
from tb_privateuse1.analysis.idioms.data_flow import flow_within
from tb_privateuse1.analysis.idioms.fused_kernel_rates import reachable, start_up_ns
from tb_privateuse1.analysis.idioms.nodes import FUSIBLE, Graph, graph
from tb_privateuse1.analysis.idioms.repeated_sequences import Rounds, find_rounds
from tb_privateuse1.analysis.steps.training_phases import STEPPING, phase_kinds
from tb_privateuse1.analysis.work.arguments import numbers_of_elements
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import (
    following,
    latest_not_after,
    lookup,
    mask_of,
    starts_run,
)
from tb_privateuse1.trace.groupby import LAST, group_rows, maxima, named_rows, sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

LONGEST = 12
"""Operators of a round: an unfused Adam takes that many."""
ROUNDS = 8
"""Rounds of a loop: in the shared recordings 1,936 sequences repeat twice to six times by chance,
none seven times, and 19 loops eight to 32 times."""
_CHANGES = 0.25
"""The least share of the calls whose sizes are not those of the round before: a model has several
layers of one size in a row, but not all."""
_FILLS = ("zero", "fill")
_READS = re.compile(r"^aten::(item|is_nonzero|_local_scalar_dense)$")
"""Operators that give the program a number, on a device by a copy."""
_NO_LOOPS = re.compile(rf"::_(foreach|fused)_|^{ACCUMULATE}$")
"""What runs one operator per tensor for another reason: an operator on a list of tensors whose
kernel the backend lacks, and autograd, which adds up each gradient where it is ready."""


class ParameterLoops(Struct, frozen=True, eq=False):
    """The loops, the loop of each node of the graph (-1: none), and each one's device time.

    ``rounds`` are of calls of the program: ``calls`` are their rows of ``trace.ops``.
    ``fused_ns`` is the time of one operator that does a whole round for all tensors.
    """

    graph: Graph
    calls: I64
    rounds: Rounds
    loop: I64
    duration_ns: I64
    fused_ns: I64


@memoize
def parameter_loops(trace: Trace) -> ParameterLoops:
    """Return the loops over tensors of various sizes, outside of the optimizers of torch."""
    found = graph(trace)
    nodes, ops = found.nodes, trace.ops
    calls, call = _calls(trace, nodes.op)
    reads = named_rows(trace.strings, ops.name[calls], _READS.match)
    usable = np.isin(nodes.role, FUSIBLE) | reads[call]
    shaped = bool((ops.shapes >= 0).any())
    usable &= (nodes.known | (not shaped)) & ~nodes.in_optimizer
    usable &= ~_in_no_loop(trace, nodes.op)  # other rules have these
    usable &= ~_of_gradients(trace, nodes.op)
    whole = np.bincount(call[~usable], minlength=len(calls)) == 0
    # The rule on zeroed gradients has these.
    whole &= ~named_rows(trace.strings, ops.name[calls], _is_fill)
    _, symbol = group_rows(ops.name[calls], ops.thread[calls], ops.step[calls])
    equal = find_rounds(np.where(whole, symbol, -1), LONGEST, ROUNDS)
    if shaped:
        changes = _changes(ops.shapes[calls], equal)
        changing = changes >= _CHANGES * (equal.rounds - 1) * equal.period
        equal = equal.take(changing & ~_mixes_sizes(trace, calls, equal))
    else:
        equal = equal.take(_over_gradients(trace, calls, equal))
    loop = equal.of_rows(len(calls))
    at = np.flatnonzero(loop >= 0)
    number = np.full(len(calls), -1, np.int64)
    number[at] = loop[at] * len(calls) + (at - equal.first[loop[at]]) // equal.period[loop[at]]
    return ParameterLoops(
        graph=found,
        calls=calls,
        rounds=equal,
        loop=loop[call],
        duration_ns=sums(loop[call], nodes.duration_ns, len(equal)),
        fused_ns=_together_ns(trace, found, loop[call], number[call], len(equal)),
    )


def _calls(trace: Trace, op: I32) -> tuple[I64, I64]:
    """Return the outermost operators of torch around some, in their order, and the one of each.

    An operator that is in none of torch's counts itself. What one calls may depend on sizes, so
    that calls of the program alone are equal in each round.
    """
    ops = trace.ops
    own = call_tree.starts_with(trace, "aten::")[ops.name]
    around = call_tree.around(ops.parent, op, own & ~lookup(own, ops.parent, False))
    around = np.where(around >= 0, around, op)
    begins = starts_run(around)
    return around[begins].astype(np.int64), np.cumsum(begins) - 1


def _is_fill(name: str) -> bool:
    return reduced_name(name) in _FILLS


def _in_no_loop(trace: Trace, rows: I32) -> Bools:
    """Return which operators run inside of one that takes a list, or inside of autograd's sums."""
    ops = trace.ops
    named = named_rows(trace.strings, ops.name, _NO_LOOPS.search)
    inside: Bools = call_tree.around(ops.parent, ops.parent[rows], named) >= 0
    return inside


def _of_gradients(trace: Trace, rows: I32) -> Bools:
    """Return which operators compute gradients of gradients.

    Autograd ran what these belong to: no program loops over tensors there.
    """
    forward = call_tree.forward_of(trace)
    of = forward[rows]
    found: Bools = (of >= 0) & (forward[of] >= 0)
    return found


def _changes(shapes: I32, equal: Rounds) -> I64:
    """Return how many calls of each segment have other sizes than a round before."""
    loop = equal.of_rows(len(shapes))
    rows = np.flatnonzero(loop >= 0)
    period, first = equal.period[loop[rows]], equal.first[loop[rows]]
    later = rows - first >= period
    rows, period = rows[later], period[later]
    differs: Bools = shapes[rows] != shapes[rows - period]
    return np.bincount(loop[rows][differs], minlength=len(equal))


def _over_gradients(trace: Trace, calls: I64, equal: Rounds) -> Bools:
    """Return which segments have a round for each gradient of the backward pass before them.

    They are in its step, or end ahead of the optimizer: what comes later may make the next inputs.
    """
    ops, found = trace.ops, accumulations(trace)
    passes = found.passes
    gradients = np.bincount(found.backward, minlength=len(passes.backward_ns))
    step = maxima(found.backward, ops.step[found.op], len(passes.backward_ns), NONE)
    first, last = calls[equal.first], calls[equal.first + equal.period * equal.rounds - 1]
    at = latest_not_after(passes.end_ns, ops.start_ns[first])
    over: Bools = (at >= 0) & (lookup(gradients, at, 0) == equal.rounds)
    over &= ops.end_ns[last] <= lookup(following(passes.forward_ns, LAST), at, 0)
    stepped = np.sort(ops.start_ns[phase_kinds(trace) == STEPPING])
    optimized = lookup(stepped, np.searchsorted(stepped, lookup(passes.end_ns, at, 0)), 0)
    inside = (ops.step[first] != NONE) & (ops.step[first] == lookup(step, at, NONE))
    over &= inside | (ops.end_ns[last] <= optimized)
    return over


def _mixes_sizes(trace: Trace, calls: I64, equal: Rounds) -> Bools:
    """Return which segments have a call with tensors of two sizes, beside single numbers.

    A for-each operator takes tensors of one size at each place of its lists. Rows, columns and a
    matrix in turn are an iteration on the same tensors.
    """
    loop = equal.of_rows(len(calls))
    inside = np.flatnonzero(loop >= 0)
    mixed = named_rows(
        trace.strings,
        trace.ops.shapes[calls[inside]],
        lambda text: len(numbers_of_elements(text)) > 1,
    )
    return mask_of(loop[inside[mixed]], len(equal))


def _together_ns(trace: Trace, found: Graph, loop: I64, number: I64, count: int) -> I64:
    """Return the time of one operator on all tensors of each segment.

    ``loop`` and ``number`` are the segment and the round of each node. It starts once and reads no
    result of its own: each call takes its share of bytes from outside, of its time beyond the
    start-up. At the memory's rate it may take less.
    """
    nodes, rate = found.nodes, reachable(trace).memory
    rows = np.flatnonzero(loop >= 0)
    at = loop[rows]
    flow = flow_within(found, number)
    outside = (flow.external_read_bytes + flow.external_written_bytes)[rows]
    own = sums(found.reads.node, found.reads.bytes, len(nodes))[rows] + nodes.written_bytes[rows]
    now = nodes.duration_ns[rows]
    start = start_up_ns(trace)
    part = np.where(own > 0, np.minimum(outside / np.maximum(own, 1), 1), 1)
    beyond = np.maximum(now - start, 0) * part
    together = start + sums(at, np.rint(beyond).astype(np.int64), count)
    if rate is not None and own.any():
        one_pass = sums(at, np.rint(outside / rate * 1e9).astype(np.int64), count)
        together = np.minimum(together, np.maximum(one_pass, start))
    return np.minimum(together, sums(at, now, count))
