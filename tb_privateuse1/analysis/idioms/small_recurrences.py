"""Find loops of small kernels in which each round reads what the round before wrote.

Advantages, averages and best paths go through time like this. Rounds cannot be one batch, and no
product in them is worth a device: each kernel takes the time of its launch and of its start.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms import recurrent_loops
from tb_privateuse1.analysis.idioms.fused_kernel_rates import MUCH_BYTES, moved_bytes
from tb_privateuse1.analysis.idioms.independent_rounds import independent_rounds
from tb_privateuse1.analysis.idioms.nodes import Graph, graph
from tb_privateuse1.analysis.idioms.outermost_calls import outermost_calls
from tb_privateuse1.analysis.idioms.recurrent_loops import Recurrences
from tb_privateuse1.analysis.idioms.single_numbers import in_torch
from tb_privateuse1.analysis.operators.groups import name_categories
from tb_privateuse1.analysis.operators.kinds_of_work import KINDS, Kind
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.groupby import containing_by, named_rows, sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.trace.work_kinds import COPY_TO_DEVICE, COPY_TO_HOST

_SIMPLE: tuple[Kind, ...] = (
    "elementwise", "reduction", "copy", "indexing", "softmax_loss", "allocation", "view",
)  # fmt: skip
"""Work that a host's arrays have as well, and that is no layer of a model."""


class SmallRecurrences(Struct, frozen=True, eq=False):
    """Loops and the ranges of their gradients, by thread and start, and the range of each node.

    ``calls`` are the outermost operators of a range, ``moved_bytes`` what its nodes read and write.
    """

    graph: Graph
    ranges: Recurrences
    of: I64
    calls: I64
    moved_bytes: I64


@memoize
def small_recurrences(trace: Trace) -> SmallRecurrences:
    """Return the loops over the items of a tensor whose rounds need each other and are small.

    A loop is left that runs a module or copies from or to the host: a model is in its rounds, or
    the host decides. So is one with a kernel that moves so much that memory takes its time.
    """
    found, top = graph(trace), outermost_calls(trace).rows
    rounds = independent_rounds(trace, top)
    rounds = rounds.take(~rounds.independent & (rounds.rounds >= recurrent_loops.ROUNDS))
    rounds = rounds.take(~in_torch(trace, rounds.place.astype(np.int64), rounds.end_ns))
    ahead = recurrent_loops.forward(trace, rounds)
    of = recurrent_loops.range_of(trace, ahead, found.nodes.thread, found.nodes.op)
    others = of[(of >= 0) & ~_is_small(trace, found)]
    works = np.bincount(of[of >= 0], minlength=len(ahead)) >= ahead.rounds
    works &= ~mask_of(others, len(ahead))
    works &= ~_runs_modules(trace, ahead) & ~_copies(trace, ahead)
    ahead = ahead.take(np.flatnonzero(works))
    ranges = recurrent_loops.ordered(recurrent_loops.with_backward(trace, ahead))
    of = recurrent_loops.range_of(trace, ranges, found.nodes.thread, found.nodes.op)
    called = recurrent_loops.range_of(trace, ranges, trace.ops.thread[top], top)
    return SmallRecurrences(
        graph=found,
        ranges=ranges,
        of=of,
        calls=np.bincount(called[called >= 0], minlength=len(ranges)).astype(np.int64),
        moved_bytes=sums(of, moved_bytes(found), len(ranges)),
    )


def _is_small(trace: Trace, found: Graph) -> Bools:
    """Return which nodes do simple work on few bytes."""
    nodes = found.nodes
    simple = np.isin(name_categories(trace), [KINDS.index(kind) for kind in _SIMPLE])
    small: Bools = simple[trace.ops.name[nodes.op]] & ~nodes.in_optimizer
    reads = np.bincount(found.reads.node, minlength=len(nodes)) > 0
    small &= (nodes.known | reads) & (moved_bytes(found) < MUCH_BYTES)
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
