"""Find the processes whose operators are in a recording."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.groupby import distinct_values, group_rows
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.table import I64


@memoize
def operator_processes(trace: Trace) -> tuple[str, ...]:
    """Return the processes that ran operators, as the file spells them."""
    ops = trace.ops
    threads = distinct_values(ops.thread[(ops.kind == OPERATOR) & (ops.thread >= 0)])
    return tuple(trace.text(pid) for pid in np.unique(trace.threads.pid[threads]))


_TWICE = 0.4
"""Of two recordings in one file, half of the ids are again those of the other one."""


@memoize
def ids_repeat(trace: Trace) -> bool:
    """Return whether most ids of the profiler occur twice, at different times: it counts them.

    They are External ids of operators, and correlations of calls of one name. Processes of several
    hosts may have the same number.
    """
    ops, launches = trace.ops, trace.launches
    call = launches.correlation * (len(trace.strings) + 1) + launches.name
    call = np.where(launches.correlation > 0, call, 0)
    return _repeat(ops.external_id, ops.start_ns) or _repeat(call, launches.start_ns)


def _repeat(ids: I64, start_ns: I64) -> bool:
    """Return whether most ids above 0 occur twice, and most of those at different times."""
    rows = np.flatnonzero(ids > 0)
    if _again(ids[rows]) < _TWICE * len(rows) or len(rows) < 2:
        return False
    first, _ = group_rows(ids[rows], start_ns[rows])
    return _again(ids[rows[first]]) >= _TWICE * len(first)


def _again(ids: I64) -> int:
    """Return how many ids were there before."""
    return len(ids) - len(distinct_values(ids))


def is_joined(trace: Trace) -> bool:
    """Return whether several recordings were joined: a profiler of torch records one process.

    Nothing tells whose activities are on a stream, and which wait is for whom: what limits such a
    recording is unknown. Readers of profilers that record several processes say so themselves.
    """
    by_profiler = any(one.code == "several_processes" for one in trace.meta.findings)
    return not by_profiler and (len(operator_processes(trace)) > 1 or ids_repeat(trace))
