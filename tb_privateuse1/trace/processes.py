"""Find the processes whose operators are in a recording."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import OPERATOR, Trace


@memoize
def operator_processes(trace: Trace) -> tuple[str, ...]:
    """Return the processes that ran operators, as the file spells them."""
    ops = trace.ops
    threads = np.unique(ops.thread[(ops.kind == OPERATOR) & (ops.thread >= 0)])
    return tuple(trace.text(pid) for pid in np.unique(trace.threads.pid[threads]))


def is_joined(trace: Trace) -> bool:
    """Return whether several recordings were joined: a profiler of torch records one process.

    Nothing tells whose activities are on a stream, and which wait is for whom: what limits such a
    recording is unknown. Readers of profilers that record several processes say so themselves.
    """
    by_profiler = any(one.code == "several_processes" for one in trace.meta.findings)
    return not by_profiler and len(operator_processes(trace)) > 1
