"""Find calls of one model in a row, which one batch could be: views, triplets, pairs of samples.

Between them is no operator, so that the second reads its own inputs or the first one's results. If
these have another size, it does not read them. All operators of the calls are equal, and so is what
autograd records. Batch norm would see another batch: such calls stay apart.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.adjacent_passes import adjacent_passes
from tb_privateuse1.analysis.idioms.batched_cost import Ranges
from tb_privateuse1.analysis.idioms.nodes import PRODUCT, graph
from tb_privateuse1.analysis.idioms.outermost_calls import OutermostCalls, outermost_calls
from tb_privateuse1.analysis.idioms.prepared_weights import states_read
from tb_privateuse1.analysis.steps.training_phases import find_passes
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup, positions
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64

_MOST = 200
"""Rows of calls that are looked at: a step has few, and a recording tens of steps."""
_NORMS = ("batch_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm")


class PassesInARow(Struct, frozen=True, eq=False):
    """Rows of calls, with their ranges on the threads of both passes and how many there are."""

    module: str
    first: I64
    """The first call of each row, rows of ``trace.frames``."""
    calls: I64
    """By row, the number of calls."""
    ranges: Ranges
    rounds: I64
    """By range, the number of calls."""


@memoize
def passes_in_a_row(trace: Trace) -> PassesInARow | None:
    """Return rows of equal calls that need nothing of each other; None without any."""
    # In inference ``weight_reads`` prices such calls by what their weights take.
    if not len(find_passes(trace).backward_ns):
        return None
    found = graph(trace)
    products = found.nodes.op[found.nodes.role == PRODUCT].astype(np.int64)
    adjacent = adjacent_passes(trace, products) if (trace.ops.shapes >= 0).any() else None
    if adjacent is None:
        return None
    calls = outermost_calls(trace)
    nodes, of = _gradients(trace, calls)
    groups: list[list[int]] = []
    ranges: list[tuple[int, int, int]] = []
    rounds: list[int] = []
    for row in _chains(adjacent.first, adjacent.second)[:_MOST]:
        places = [_inside(trace, calls, call) for call in row]
        if not _are_apart(calls, places):
            continue
        own = [nodes[slice(*np.searchsorted(of, (some[0], some[-1] + 1)))] for some in places]
        if len({len(one) for one in own}) > 1:
            continue
        frames = trace.frames
        groups.append(row)
        ranges.append((int(frames.thread[row[0]]), int(frames.start_ns[row[0]]),
                       int(frames.end_ns[row[-1]])))  # fmt: skip
        rounds.append(len(row))
        if backward := _backward(trace, nodes, np.concatenate(own)):
            ranges.append(backward)
            rounds.append(len(row))
    if not groups:
        return None
    order = sorted(range(len(ranges)), key=ranges.__getitem__)
    thread, start, end = np.array([ranges[i] for i in order], np.int64).T
    return PassesInARow(
        module=adjacent.module,
        first=np.array([row[0] for row in groups], np.int64),
        calls=np.array([len(row) for row in groups], np.int64),
        ranges=Ranges(thread.astype(np.int32), start, end, np.ones(len(start), np.bool_)),
        rounds=np.array(rounds, np.int64)[order],
    )


def _chains(first: I64, second: I64) -> list[list[int]]:
    """Return pairs as rows of two calls or more."""
    rows: list[list[int]] = []
    for one, other in zip(first.tolist(), second.tolist(), strict=True):
        if rows and rows[-1][-1] == one:
            rows[-1].append(other)
        else:
            rows.append([one, other])
    return rows


def _inside(trace: Trace, calls: OutermostCalls, frame: int) -> I64:
    """Return the places of the operators in a call."""
    frames = trace.frames
    first, last = np.searchsorted(calls.thread, frames.thread[frame] + np.arange(2))
    start_ns = trace.ops.start_ns[calls.rows[first:last]]
    begin, end = np.searchsorted(start_ns, (frames.start_ns[frame], frames.end_ns[frame]))
    return np.arange(first + begin, first + end)


def _are_apart(calls: OutermostCalls, places: list[I64]) -> bool:
    """Return whether calls run equal operators, and results have other sizes than inputs."""
    one = places[0]
    if not len(one) or any(not np.array_equal(calls.call[one], calls.call[x]) for x in places):
        return False
    inside = [calls.at(place) for place in one.tolist()]
    if any(call.word in _NORMS for call in inside):
        return False
    made = {call.result for call in inside}
    entered = {key for call in inside[:1] for key in states_read(call)}
    result = inside[-1].result
    writes = any(call.writes for call in inside if call.reads[:1] and call.reads[0] not in made)
    return result is not None and bool(entered) and result not in entered and not writes


def _gradients(trace: Trace, calls: OutermostCalls) -> tuple[I64, I64]:
    """Return nodes of autograd by the place of the outermost operator that they are of."""
    linked = call_tree.linked_forward(trace)
    nodes = np.flatnonzero(linked >= 0)
    place = positions(calls.rows, len(trace.ops))
    outer = call_tree.self_or_nearest(trace.ops.parent, place >= 0)
    at = lookup(place, outer[linked[nodes]], NONE).astype(np.int64)
    order = np.argsort(at, kind="stable")
    return nodes[order], at[order]


def _backward(trace: Trace, nodes: I64, own: I64) -> tuple[int, int, int] | None:
    """Return the thread and the time of the gradients of calls; None if others are between."""
    ops = trace.ops
    if not len(own) or len(np.unique(ops.thread[own])) > 1:
        return None
    start, end = int(ops.start_ns[own].min()), int(ops.end_ns[own].max())
    others = nodes[ops.thread[nodes] == ops.thread[own[0]]]
    between = (ops.start_ns[others] >= start) & (ops.start_ns[others] < end)
    if np.count_nonzero(between) > len(own):
        return None
    return int(ops.thread[own[0]]), start, end
