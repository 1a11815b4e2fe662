"""Elapsed times that are sums of kernel durations -> kernels: a queue without a loop.

A backend that adds up the durations of what it launched tells them directly; only the starts
must be inferred: as soon as the launch reaches the device and the kernel before it is done.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.infer.timeline.base import Calibration
from tb_privateuse1.trace import I64, NONE, Bools, Ops

_TAIL_NS = 1_500
"""From the launch to the operator's end on the host."""


def build(ops: Ops, c: Calibration) -> tuple[I64, I64, I64, I64, I64]:
    """Rows of launching operators in order; start, duration, and the bounds of both.

    An operator launches between its start and its end, probably near the end. Such a backend's
    queue may be a thread of the host, so that a latency that nobody measured may be none. From
    one kernel to the next a queue takes its time, too.
    """
    row = _launching(ops)
    duration = ops.elapsed_ns[row]
    least = max(c.latency_ns - c.latency_bound_ns, 0) if c.latency_measured else 0
    likely = c.latency_ns if c.latency_measured else 0
    tail = np.minimum(_TAIL_NS, ops.end_ns[row] - ops.start_ns[row])
    half = c.resolution_ns // 2
    starts = [
        _starts(launch, np.maximum(duration + more, 0))
        for launch, more in (
            (ops.start_ns[row] + least, -half),
            (ops.end_ns[row] - tail + likely, c.gap_ns),
            (ops.end_ns[row] + c.latency_ns + c.latency_bound_ns, c.gap_high_ns + half),
        )
    ]
    bound = np.maximum(starts[1] - starts[0], starts[2] - starts[1])
    return row, starts[1], duration, bound, np.full(len(row), c.resolution_ns)


def _starts(ready: I64, taken: I64) -> I64:
    """start[i] = max(ready[i], start[i - 1] + taken[i - 1]), without a loop."""
    done = np.cumsum(taken) - taken
    result: I64 = done + np.maximum.accumulate(ready - done)
    return result


def _launching(ops: Ops) -> I64:
    """Operators with device time, without one inside that has some, in the host's order."""
    own: Bools = ops.elapsed_ns > 0
    outer = np.zeros(len(ops), np.bool_)
    up = ops.parent[own & (ops.parent != NONE)]
    while len(up := np.unique(up[up >= 0])):
        up = up[~outer[up]]
        outer[up] = True
        up = ops.parent[up]
    rows = np.flatnonzero(own & ~outer)
    return rows[np.argsort(ops.start_ns[rows], kind="stable")]
