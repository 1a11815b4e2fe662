"""Find the time window of the steady steps, which figures are about."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64


def judged_window(trace: Trace, rows: I64) -> intervals.Set:
    """Return when the judged steps ran; ``rows`` are rows of ``trace.steps``.

    Without steps it reaches from the first operator, launch or activity to the last end of one:
    before and after, the profiler starts and stops.
    """
    steps = trace.steps
    start, end = steps.start_ns[rows], steps.end_ns[rows]
    tables = [t for t in (trace.ops, trace.launches, trace.kernels) if len(t)]
    if any("#" in trace.text(name) for name in steps.name[rows]) or not tables:
        return intervals.union(start, end)
    first = np.array([min(int(t.start_ns.min()) for t in tables)])
    # The last launch waits for the device while the profiler stops.
    ended = [t for t in tables if t is not trace.launches] or tables
    last = np.array([max(int(t.end_ns.max()) for t in ended)])
    return intervals.union(np.maximum(start, first), np.minimum(end, last))
