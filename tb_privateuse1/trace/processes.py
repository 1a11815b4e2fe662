"""Find the processes whose operators are in a recording."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import OPERATOR, Trace


@memoize
def operator_processes(trace: Trace) -> tuple[str, ...]:
    """Return the processes that ran operators, as the file spells them."""
    ops = trace.ops
    threads = np.unique(ops.thread[(ops.kind == OPERATOR) & (ops.thread >= 0)])
    return tuple(trace.text(pid) for pid in np.unique(trace.threads.pid[threads]))


_TWICE = 0.4
"""Of two recordings in one file, half of the ids are again those of the other one."""


@memoize
def ids_repeat(trace: Trace) -> bool:
    """Return whether most External ids occur twice, at different times: a profiler counts them.

    Processes of several hosts may have the same number.
    """
    ops = trace.ops
    rows = np.flatnonzero(ops.external_id > 0)
    ids = np.sort(ops.external_id[rows])
    if int((ids[1:] == ids[:-1]).sum()) < _TWICE * len(rows) or len(rows) < 2:
        return False
    first, _ = group_rows(ops.external_id[rows], ops.start_ns[rows])
    apart = np.sort(ops.external_id[rows[first]])
    return int((apart[1:] == apart[:-1]).sum()) >= _TWICE * len(apart)


def is_joined(trace: Trace) -> bool:
    """Return whether several recordings were joined: a profiler of torch records one process.

    Nothing tells whose activities are on a stream, and which wait is for whom: what limits such a
    recording is unknown. Readers of profilers that record several processes say so themselves.
    """
    by_profiler = any(one.code == "several_processes" for one in trace.meta.findings)
    return not by_profiler and (len(operator_processes(trace)) > 1 or ids_repeat(trace))
