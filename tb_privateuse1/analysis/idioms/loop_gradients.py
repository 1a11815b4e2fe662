"""Find when the gradients of loops are computed."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.idioms.batched_cost import Ranges
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import ends_run, starts_run
from tb_privateuse1.trace.groupby import containing_by
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64


def gradients_of(trace: Trace, top: I64, loops: Ranges) -> tuple[Ranges, I64]:
    """Return the ranges in which gradients of loops are computed, and the loop of each.

    ``top`` are the operators that no other one called, by thread and start. A range has those in a
    row whose forward operators are in one loop.
    """
    ops = trace.ops
    forward = call_tree.linked_forward(trace)[top]
    rows = np.flatnonzero(forward >= 0)
    of = np.full(len(top), NONE, np.int64)
    made_by = forward[rows]
    of[rows] = containing_by(
        loops.thread, loops.start_ns, loops.end_ns, ops.thread[made_by], ops.start_ns[made_by]
    )
    columns = ops.thread[top], of
    first = np.flatnonzero(starts_run(*columns) & (of != NONE))
    last = np.flatnonzero(ends_run(*columns) & (of != NONE))
    ranges = Ranges(
        thread=ops.thread[top[first]],
        start_ns=ops.start_ns[top[first]],
        end_ns=ops.end_ns[top[last]],
        independent=loops.independent[of[first]],
    )
    return ranges, of[first]
