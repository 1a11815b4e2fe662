"""Calls in which the host waits for the device, as every view and rule knows them."""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.trace import I64, MEMCPY, MISSING, SYNC, Bools, Trace

_WAITS = re.compile(
    r"synchroni[sz]e(?!_|(?-i:[a-z]))|waitfor|(stream|device|event)_?sync", re.IGNORECASE
)
_NO_WAIT = re.compile(r"wait_?event|event_?(query|record)|enqueue", re.IGNORECASE)
"""Calls of the runtime and functions that return when the device is done; those that do not."""

_READS = ("aten::_local_scalar_dense", "aten::nonzero")
"""Not every backend tells of the call by which these wait."""


def named(trace: Trace) -> Bools:
    """Which of the trace's strings are names of what returns when the device is done."""
    found = (bool(_WAITS.search(t)) and not _NO_WAIT.search(t) for t in trace.strings)
    return np.fromiter(found, np.bool_, len(trace.strings))


def calls(trace: Trace) -> Bools:
    """Which launches return when the device is done: by name, and copies that it outlives."""
    launches, kernels = trace.launches, trace.kernels
    found: Bools = np.append(named(trace), False)[launches.name]
    copies = np.flatnonzero((kernels.kind == MEMCPY) & (kernels.launch >= 0))
    made = kernels.launch[copies]
    found[made[launches.end_ns[made] >= kernels.end_ns[copies]]] = True
    return found


def operators(trace: Trace) -> I64:
    """Rows of operators that return when their own work on the device is done.

    They hand a value to Python, or in inferred times their end shows it.
    """
    kernels, ops = trace.kernels, trace.ops
    reading = np.fromiter((t in _READS for t in trace.strings), np.bool_, len(trace.strings))
    flag = np.append(np.append(reading, False)[ops.name], False)
    late = np.append(ops.end_ns, MISSING)[kernels.op] >= kernels.end_ns
    read = (kernels.kind == MEMCPY) & flag[kernels.op] & late
    rows: I64 = np.unique(kernels.op[(kernels.op >= 0) & ((kernels.evidence == SYNC) | read)])
    return rows
