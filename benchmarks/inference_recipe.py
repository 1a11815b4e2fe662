"""The published PrivateUse1 recipe, from its description, to compare with.

An operator with no other one inside becomes a kernel of its elapsed time, if that is above a
threshold (100 us there), starting where the operator starts on the host, or behind the kernel
before it of the same thread.
"""

from __future__ import annotations

import numpy as np

from benchmarks.inference_metrics import Timeline
from tb_privateuse1.trace.model import Trace


def recipe(trace: Trace, threshold_us: int) -> Timeline:
    """The recipe's timeline, ns since the trace's start."""
    ops = trace.ops
    leaf = np.ones(len(ops), np.bool_)
    leaf[ops.parent[ops.parent >= 0]] = False
    row = np.flatnonzero(leaf & (ops.elapsed_ns > threshold_us * 1000))
    ids, starts, ends = [], [], []
    for thread in np.unique(ops.thread[row]):
        mine = row[ops.thread[row] == thread]
        mine = mine[np.argsort(ops.start_ns[mine], kind="stable")]
        duration = ops.elapsed_ns[mine]
        done = np.cumsum(duration)
        end = done + np.maximum.accumulate(ops.start_ns[mine] - (done - duration))
        ids.append(ops.external_id[mine])
        starts.append(end - duration)
        ends.append(end)
    if not ids:
        empty = np.empty(0, np.int64)
        return Timeline(empty, empty, empty)
    return Timeline(np.concatenate(ids), np.concatenate(starts), np.concatenate(ends))
