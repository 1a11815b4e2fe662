"""Find loops of small kernels in which each round reads what the round before wrote.

Advantages, averages and best paths go through time like this. Rounds cannot be one batch, and no
product in them is worth a device: each kernel takes the time of its launch and of its start.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms import recurrent_loops
from tb_privateuse1.analysis.idioms.fused_kernel_rates import moved_bytes
from tb_privateuse1.analysis.idioms.independent_rounds import independent_rounds
from tb_privateuse1.analysis.idioms.nodes import Graph, graph
from tb_privateuse1.analysis.idioms.outermost_calls import outermost_calls
from tb_privateuse1.analysis.idioms.parameter_loops import parameter_loops
from tb_privateuse1.analysis.idioms.recurrent_loops import Recurrences
from tb_privateuse1.analysis.idioms.repeated_sequences import find_rounds
from tb_privateuse1.analysis.idioms.single_numbers import in_torch
from tb_privateuse1.analysis.operators.groups import name_categories
from tb_privateuse1.analysis.operators.kinds_of_work import KINDS, Kind
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.groupby import containing_by, group_rows, named_rows, sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.step_names import is_of_schedule
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.trace.work_kinds import COPY_TO_DEVICE, COPY_TO_HOST

_SIMPLE: tuple[Kind, ...] = (
    "elementwise", "reduction", "copy", "indexing", "softmax_loss", "allocation", "view",
)  # fmt: skip
"""Work that a host's arrays have as well, and that is no layer of a model."""


FEW_BYTES = 16 << 10
"""Bytes that an operator moves: a host's exponentials take 16 us for them, as long as a launch."""
_ANSWERS = ("_local_scalar_dense", "local_scalar_dense", "item", "is_nonzero")
"""Reduced names of operators that give the host a number."""
_LONGEST = 32
"""Kernels of a round: four evaluations of a small formula have some tens."""
_NUMBER_BYTES = 8
"""Of a single number, whose runs are another finding."""


class SmallRecurrences(Struct, frozen=True, eq=False):
    """Loops and the ranges of their gradients, by thread and start, and the range of each node.

    ``taken`` says that each round takes the next item of a tensor: else equal rounds may have
    tensors of their own. ``calls`` are the outermost operators of a range, ``moved_bytes`` what its
    nodes read and write.
    """

    graph: Graph
    ranges: Recurrences
    taken: Bools
    of: I64
    calls: I64
    moved_bytes: I64

    def where(self, mask: Bools) -> SmallRecurrences:
        """Return some of the ranges."""
        number = np.where(mask, np.cumsum(mask) - 1, NONE)
        return SmallRecurrences(
            graph=self.graph,
            ranges=self.ranges.take(mask),
            taken=self.taken[mask],
            of=lookup(number, self.of, NONE).astype(np.int64),
            calls=self.calls[mask],
            moved_bytes=self.moved_bytes[mask],
        )


@memoize
def small_recurrences(trace: Trace) -> SmallRecurrences:
    """Return the loops of small rounds that need each other, or may do so.

    A loop is left that runs a module or copies from or to the host: a model is in its rounds, or
    the host decides. So is one with a kernel that moves so much that memory takes its time.
    """
    found, top = graph(trace), outermost_calls(trace).rows
    small = _is_small(trace, found)
    loops = independent_rounds(trace, top)
    rounds = loops.take(~loops.independent & (loops.rounds >= recurrent_loops.ROUNDS))
    taken = recurrent_loops.forward(trace, rounds)
    of = recurrent_loops.range_of(trace, taken, found.nodes.thread, found.nodes.op)
    works = np.bincount(of[of >= 0], minlength=len(taken)) >= taken.rounds
    works &= (taken.item_bytes > 0) & ~mask_of(of[(of >= 0) & ~small], len(taken))
    items = recurrent_loops.forward(trace, loops)
    ahead = taken.take(np.flatnonzero(works))
    ahead = recurrent_loops.joined(ahead, _repeated(trace, found, small, items))
    works = ~in_torch(trace, ahead.place.astype(np.int64), ahead.end_ns)
    works &= ~_runs_modules(trace, ahead) & ~_copies(trace, ahead)
    ahead = ahead.take(np.flatnonzero(works))
    ranges = recurrent_loops.ordered(recurrent_loops.with_backward(trace, ahead))
    of = recurrent_loops.range_of(trace, ranges, found.nodes.thread, found.nodes.op)
    called = recurrent_loops.range_of(trace, ranges, trace.ops.thread[top], top)
    return SmallRecurrences(
        graph=found,
        ranges=ranges,
        taken=np.isin(ranges.place, rounds.place),
        of=of,
        calls=np.bincount(called[called >= 0], minlength=len(ranges)).astype(np.int64),
        moved_bytes=sums(of, moved_bytes(found), len(ranges)),
    )


def _repeated(trace: Trace, found: Graph, small: Bools, placed: Recurrences) -> Recurrences:
    """Return equal rounds of small nodes that may read what the round before wrote.

    Those of loops over items are left, as what they need is known. Without marked steps the whole
    program may be such rounds.
    """
    nodes, ops = found.nodes, trace.ops
    marked = [is_of_schedule(trace.text(name)) for name in trace.steps.name.tolist()]
    usable = small & lookup(np.array(marked, np.bool_), nodes.step, False)
    usable &= parameter_loops(trace).loop < 0
    usable &= lookup(call_tree.forward_of(trace), nodes.op, NONE) < 0
    usable &= recurrent_loops.range_of(trace, placed, nodes.thread, nodes.op) < 0
    _, call = group_rows(
        ops.name[nodes.op], ops.shapes[nodes.op], ops.dtypes[nodes.op], nodes.thread, nodes.step
    )
    equal = find_rounds(np.where(usable, call, -1), _LONGEST, recurrent_loops.ROUNDS)
    known: dict[bytes, bool] = {}
    keys = []
    for first, period in zip(equal.first.tolist(), equal.period.tolist(), strict=True):
        key = nodes.call[first : first + period].tobytes()
        if key not in known:
            known[key] = _carries_on(found, first, period)
        keys.append(key)
    equal = equal.take(np.array([known[key] for key in keys], np.bool_))
    begin = nodes.op[equal.first]
    end = nodes.op[equal.first + equal.period * equal.rounds - 1]
    return Recurrences(
        thread=ops.thread[begin],
        start_ns=ops.start_ns[begin],
        end_ns=ops.end_ns[end],
        rounds=equal.rounds,
        item_bytes=np.zeros(len(equal), np.int64),
        backward=np.zeros(len(equal), np.bool_),
        place=begin.astype(np.int32),
    )


def _carries_on(found: Graph, first: int, period: int) -> bool:
    """Return whether rounds may hand a tensor on, wherever among its nodes a round begins.

    That is one of several numbers, which no node of the round reads behind its writer, and of a
    size that a node reads without its being made in the round.
    """
    reads, written = found.reads, found.nodes.written_bytes
    for begin in range(first, first + period):
        fresh, entering = Counter[int](), set[int]()
        for node in range(begin, begin + period):
            low, high = np.searchsorted(reads.node, (node, node + 1))
            for size in reads.bytes[low:high].tolist():
                if fresh[size]:
                    fresh[size] -= 1
                else:
                    entering.add(size)
            fresh[int(written[node])] += 1
        if not any(fresh[size] and size > _NUMBER_BYTES for size in entering):
            return False
    return True


def _is_small(trace: Trace, found: Graph) -> Bools:
    """Return which nodes do simple work on few bytes."""
    nodes = found.nodes
    simple = np.isin(name_categories(trace), [KINDS.index(kind) for kind in _SIMPLE])
    small: Bools = simple[trace.ops.name[nodes.op]] & ~nodes.in_optimizer
    small &= ~found.named(*_ANSWERS)
    reads = np.bincount(found.reads.node, minlength=len(nodes)) > 0
    small &= (nodes.known | reads) & (moved_bytes(found) < FEW_BYTES)
    return small


def _copies(trace: Trace, ranges: Recurrences) -> Bools:
    """Return in which ranges something is copied to or from the host."""
    kernels, launches, ops = trace.kernels, trace.launches, trace.ops
    directions = [re.compile(one) for one in (COPY_TO_DEVICE, COPY_TO_HOST)]
    rows = np.flatnonzero(
        named_rows(
            trace.strings, kernels.name, lambda name: any(x.search(name) for x in directions)
        )
    )
    launch, op = kernels.launch[rows], kernels.op[rows]
    by_launch = launch >= 0
    thread = np.where(
        by_launch, lookup(launches.thread, launch, NONE), lookup(ops.thread, op, NONE)
    )
    start = np.where(by_launch, lookup(launches.start_ns, launch, 0), lookup(ops.start_ns, op, 0))
    at = containing_by(ranges.thread, ranges.start_ns, ranges.end_ns, thread, start)
    return mask_of(at[at >= 0], len(ranges))


def _runs_modules(trace: Trace, ranges: Recurrences) -> Bools:
    """Return in which ranges a module is called."""
    frames = trace.frames
    rows = np.flatnonzero(call_tree.is_module(trace))
    at = containing_by(
        ranges.thread, ranges.start_ns, ranges.end_ns, frames.thread[rows], frames.start_ns[rows]
    )
    return mask_of(at[at >= 0], len(ranges))
