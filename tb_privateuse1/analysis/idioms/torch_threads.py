"""Compare torch's threads with the processors of the host, as the capture notes both."""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.table import I64

_KEY = "torch_threads"
"""Of the capture (``capture/torch_threads.py``)."""
_LEAST_FLOPS = 1_000_000
"""A smaller product takes a core less than 0.1 ms: threads gain little over their start."""


class RecordedThreads(Struct, frozen=True):
    """Threads within an operator, and processors of this process; None if that is not known."""

    intra_op: int
    processors: int | None = None


_DECODER = msgspec.json.Decoder(RecordedThreads)


@memoize
def recorded_threads(trace: Trace) -> RecordedThreads | None:
    """Return what the recording says; None without an entry, and with a damaged one."""
    keys, values = trace.metadata.key.tolist(), trace.metadata.value.tolist()
    for key, value in zip(keys, values, strict=True):
        if trace.text(key) == _KEY:
            try:
                found = _DECODER.decode(trace.text(value))
            except msgspec.MsgspecError:
                return None
            return found if min(found.intra_op, found.processors or 1) > 0 else None
    return None


def large_products(trace: Trace) -> I64:
    """Return the rows of ``trace.ops`` whose work threads share; none beside an accelerator."""
    if not is_on_host_alone(trace):
        return np.empty(0, np.int64)
    work = operator_work(trace)
    return np.flatnonzero((trace.ops.kind == OPERATOR) & work.matrix & (work.flops >= _LEAST_FLOPS))
