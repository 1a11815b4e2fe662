"""The device activities that a range launched, and the operators inside one."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools
from tb_privateuse1.views.lookups.base import TableName


def launched_kernels(trace: Trace, table: TableName, index: int) -> I64:
    """Return the rows of activities that a launch, or an operator and its descendants, started."""
    if table == "launches":
        return np.flatnonzero(trace.kernels.launch == index)
    if table == "ops":
        return np.flatnonzero(family(trace, index)[trace.kernels.op])
    return np.empty(0, np.int64)


def family(trace: Trace, op: int) -> Bools:
    """Which operators are one, or inside it; the last entry is for ``NONE``."""
    ops = trace.ops
    last = int(np.searchsorted(ops.thread, ops.thread[op], side="right"))
    # By thread and start: what is inside follows its operator.
    behind = op + 1 + int(np.searchsorted(ops.start_ns[op + 1 : last], ops.end_ns[op]))
    parent = np.maximum(ops.parent[op:behind] - op, NONE)
    itself = np.arange(behind - op) == 0
    family = itself | (intervals.nearest(parent, itself) >= 0)
    found = np.zeros(len(ops) + 1, np.bool_)
    found[op:behind] = family
    return found
