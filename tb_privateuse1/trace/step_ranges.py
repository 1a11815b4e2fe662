"""Assign operators and kernels to ranges of the host, and find the window of each on the device."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_privateuse1.trace.columns import containing, previous
from tb_privateuse1.trace.model import NONE, Kernels, Launches, Ops
from tb_privateuse1.trace.table import I32, I64


class StepRanges(NamedTuple):
    """The windows of ranges in ns, and the range of each row of the tables (``NONE``: none)."""

    start_ns: I64
    end_ns: I64
    of_ops: I32
    of_kernels: I32


def step_ranges(
    host_start_ns: I64, host_end_ns: I64, ops: Ops, kernels: Kernels, launches: Launches
) -> StepRanges:
    """Return the windows of one or more ranges, which are in order of time.

    A range ends when the last activity that it launched does; the next one begins there.
    """
    of_ops = containing(host_start_ns, host_end_ns, ops.start_ns).astype(np.int32)
    of_kernels = _of_kernels(host_start_ns, host_end_ns, of_ops, kernels, launches)
    end = host_end_ns.copy()
    own = of_kernels >= 0
    np.maximum.at(end, of_kernels[own], kernels.end_ns[own])
    before = previous(np.maximum.accumulate(end), host_start_ns[0])
    start = np.maximum(host_start_ns, before)
    end = np.maximum(end, start)
    stray = ~own & (kernels.launch < 0) & (kernels.op < 0)
    of_kernels[stray] = containing(start, end, kernels.start_ns[stray])
    return StepRanges(start, end, of_ops, of_kernels)


def _of_kernels(starts: I64, ends: I64, of_ops: I32, kernels: Kernels, launches: Launches) -> I32:
    """Return the range of the launching operator; of the launch if no operator is known."""
    step = np.full(len(kernels), NONE, np.int32)
    launched = kernels.launch >= 0
    step[launched] = containing(starts, ends, launches.start_ns[kernels.launch[launched]])
    by_op = kernels.op >= 0
    step[by_op] = of_ops[kernels.op[by_op]]
    return step
