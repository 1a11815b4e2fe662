"""Bound what a cold cache, and memory that is touched first, may cost a call of a recording."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.operators.groups import name_categories
from tb_privateuse1.analysis.operators.kinds_of_work import KINDS
from tb_privateuse1.analysis.roofs.compared_calls import PASSES, PRODUCTS, Calls
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import F64

_COLD_BYTES_PER_NS = 4.0
"""What a core of a loaded server reads of memory at least: a sum over 64 MB reached 6."""
_FRESH_BYTES_PER_NS = 0.5
"""What it writes to pages that the system clears first: 1 under a hypervisor, measured."""
_COMPARABLE = 2.0
"""A pass over at least half of the bytes shows what they may take, and what a product's may."""


def memory_ns(trace: Trace, calls: Calls, at: int) -> float:
    """Return the most time that a call may spend on memory which the calls of others do not.

    It is that of its bytes at the rate of this recording's slowest pass over as many. Without one,
    and for calls that are passes themselves, it is not less than that of cold or fresh memory of a
    host.
    """
    work, row = operator_work(trace), int(calls.op[at])
    read, written = int(work.read_bytes[row]), int(work.written_bytes[row])
    if MISSING in (read, written):
        read = written = input_bytes(trace, row)
    seen = _slowest_pass(trace, calls, at, read + written)
    if not is_on_host_alone(trace):
        return (read + written) * seen
    known = read / _COLD_BYTES_PER_NS + written / _FRESH_BYTES_PER_NS
    is_product = int(calls.kind[at]) in [KINDS.index(one) for one in PRODUCTS]
    return (read + written) * seen if seen and is_product else max((read + written) * seen, known)


def _slowest_pass(trace: Trace, calls: Calls, at: int, size: int) -> float:
    """Return the time for each byte of the slowest other call that only passes; 0 without any."""
    work = operator_work(trace)
    read, written = work.read_bytes[calls.op], work.written_bytes[calls.op]
    kind = name_categories(trace)[trace.ops.name[calls.op]]
    passes = np.isin(kind, [KINDS.index(one) for one in PASSES])
    passes &= (read != MISSING) & (written > 0) & ((read + written) * _COMPARABLE >= size)
    passes[at] = False
    per_byte: F64 = calls.high_ns / np.maximum(read + written, 1)
    return float(per_byte[passes].max(initial=0.0))


def input_bytes(trace: Trace, row: int) -> int:
    """Return the bytes of the inputs of a row of ``trace.ops``; 0 if a type is unknown."""
    call = read_call(trace, row)
    try:
        return sum(one.bytes for one in call.tensors()) if call else 0
    except UnknownWork:
        return 0
