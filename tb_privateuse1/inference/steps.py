"""Build steps and assign operators and kernels to them; see docs/reference/definitions.md."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.inference.stage_inputs import PRIME, Strings, rows_named
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.model import Kernels, Launches, Ops, Steps
from tb_privateuse1.trace.step_names import step_strings
from tb_privateuse1.trace.step_ranges import step_ranges
from tb_privateuse1.trace.table import I32, I64, Bools

_COMPLETE_SHARE = 0.8
"""A last step with fewer device activities than this share of the one before was cut off
(torch-tb-profiler's rule, profiler/data.py)."""


def build_steps(
    ops: Ops, kernels: Kernels, launches: Launches, strings: Strings, end_ns: int
) -> tuple[Steps, I32, I32]:
    """Return steps, and the step of each row of ``ops`` and ``kernels`` (``NONE``: outside all)."""
    row = _step_ranges(ops, strings)
    if not len(row):
        whole = Steps(
            name=np.array([strings.id("whole trace")], np.int32),
            host_start_ns=np.array([0]),
            host_end_ns=np.array([end_ns]),
            start_ns=np.array([0]),
            end_ns=np.array([end_ns]),
            incomplete=np.array([end_ns <= 0]),
            primed=np.array([bool(len(rows_named(ops, strings, PRIME)))]),
            partial=np.array([False]),
        )
        return whole, np.zeros(len(ops), np.int32), np.zeros(len(kernels), np.int32)

    host_start, host_end = ops.start_ns[row], ops.end_ns[row]
    ranges = step_ranges(host_start, host_end, ops, kernels, launches)
    start, end, of_ops, of_kernels = ranges
    counts = np.bincount(of_kernels[of_kernels >= 0], minlength=len(row))
    steps = Steps(
        name=ops.name[row],
        host_start_ns=host_start,
        host_end_ns=host_end,
        start_ns=start,
        end_ns=end,
        incomplete=_incomplete(counts, end - start),
        primed=_primed(len(row), of_ops[rows_named(ops, strings, PRIME)]),
        partial=np.zeros(len(row), np.bool_),
    )
    return steps, of_ops, of_kernels


def _step_ranges(ops: Ops, strings: Strings) -> I64:
    """Return the rows of ``ProfilerStep#N``, by time; of a step within a step the outer one."""
    named = step_strings(strings.all)[ops.name]
    rows = np.flatnonzero(named & (intervals.nearest(ops.parent, named) < 0))
    return rows[np.argsort(ops.start_ns[rows], kind="stable")]


def _incomplete(activities: I64, duration_ns: I64) -> Bools:
    cut: Bools = duration_ns <= 0
    if len(activities) > 1 and activities[-2] > 0:
        cut[-1] |= bool(activities[-1] < _COMPLETE_SHARE * activities[-2])
    return cut


def _primed(steps: int, of: I32) -> Bools:
    """Return in which steps capture kept the device busy."""
    return mask_of(of, steps)
