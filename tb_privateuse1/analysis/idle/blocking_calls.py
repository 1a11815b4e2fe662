"""Find the calls in which the host waits for the device."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.threads.clock_slack import WAITED_NS, clock_slack_ns
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.blocking_names import blocking
from tb_privateuse1.trace.columns import flag_names, lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MEMCPY, MISSING, SYNC, Trace
from tb_privateuse1.trace.table import I64, Bools

_READS = ("aten::_local_scalar_dense", "aten::nonzero")
"""Not every backend records the call in which these operators wait."""


@memoize
def blocking_names(trace: Trace) -> Bools:
    """Return by string of the trace whether it names a call that waits for the device."""
    return np.array(blocking(trace.strings), np.bool_)


def blocking_calls(trace: Trace) -> Bools:
    """Return by launch whether it waits for the device: by its name, or by its copy's end."""
    return _named_waits(trace) | blocking_copies(trace)


@memoize
def _named_waits(trace: Trace) -> Bools:
    launches = trace.launches
    used = groupby.distinct_values(launches.name[launches.name >= 0])
    found = np.zeros(len(trace.strings), np.bool_)
    found[used] = blocking(trace.strings[name] for name in used.tolist())
    return lookup(found, launches.name, False)


def synchronization_starts(trace: Trace) -> I64:
    """Return the start of each call that waits for the device by its name, in order.

    An operator that hands a value of the device to Python is one, unless such a call is recorded
    inside. Times decide nothing here, so equal programs have equal numbers.
    """
    launches, ops = trace.launches, trace.ops
    named = _named_waits(trace)
    inside = [rows[rows >= 0] for rows in (launches.op[named], trace.kernels.op)]
    waits, works = (
        groupby.with_descendants(ops.parent, np.bincount(rows, minlength=len(ops)))
        for rows in inside
    )
    reads = _reading_names(trace)[ops.name] & ~ops.single
    alone = reads & (works > 0) & (waits == 0)
    return np.sort(np.concatenate((launches.start_ns[named], ops.start_ns[alone])))


def blocking_copies(trace: Trace) -> Bools:
    """Return by launch whether it returns no earlier than the end of its copy.

    Of a long call, the recorded end may be later than the return by what the clocks disagree.
    """
    launches, kernels = trace.launches, trace.kernels
    waits = np.zeros(len(launches), np.bool_)
    copies = np.flatnonzero((kernels.kind == MEMCPY) & (kernels.launch >= 0))
    made = kernels.launch[copies]
    start, back = launches.start_ns[made], launches.end_ns[made]
    slack = np.where(back - start >= WAITED_NS, clock_slack_ns(trace), 0)
    waits[made[back + slack >= kernels.end_ns[copies]]] = True
    return waits


def blocking_operators(trace: Trace) -> I64:
    """Return the rows of operators that return when their own device work is done.

    They hand a value to Python, or in inferred times their end shows it.
    """
    kernels, ops = trace.kernels, trace.ops
    flag = _reading_names(trace)[ops.name]
    slack = clock_slack_ns(trace)
    late = lookup(ops.end_ns, kernels.op, MISSING) >= kernels.end_ns - slack
    read = (kernels.kind == MEMCPY) & lookup(flag, kernels.op, False) & late
    rows: I64 = np.unique(kernels.op[(kernels.op >= 0) & ((kernels.evidence == SYNC) | read)])
    return rows


@memoize
def _reading_names(trace: Trace) -> Bools:
    return flag_names(trace.strings, _READS.__contains__)
