"""Match memory blocks with the tensor storages in them, by an execution trace of the same run.

A trace has no addresses of inputs, and tensors have none of blocks. Where an operator allocates one
block that outlives it, and is the one that makes one storage, the block holds that storage. Of
other blocks the storage is not known.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.memory.allocations import Blocks
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import distinct_values, maxima
from tb_privateuse1.trace.model import NONE, RETURNED, Memory, Trace
from tb_privateuse1.trace.table import I64, Bools


def block_storages(trace: Trace, events: Memory, blocks: Blocks) -> I64:
    """Return the storage of each block as ``trace.tensors`` numbers them, ``NONE`` if unknown.

    ``events`` are those of one device in order of time.
    """
    found = np.full(len(blocks), NONE, np.int64)
    if not len(trace.tensors) or not len(events):
        return found
    op = np.where(blocks.allocation >= 0, events.op[blocks.allocation], NONE)
    gone_ns = lookup(events.ts_ns, blocks.gone, np.iinfo(np.int64).max)
    outlives = np.flatnonzero((op >= 0) & (gone_ns > trace.ops.end_ns[op]))
    count = np.bincount(op[outlives], minlength=len(trace.ops))
    alone = outlives[count[op[outlives]] == 1]
    found[alone] = _made(trace)[op[alone]]
    return found


def is_used(trace: Trace, storage: I64, begin_ns: I64, until_ns: I64) -> Bools:
    """Return for each storage whether an operator that begins in [begin, until) takes it."""
    tensors = trace.tensors
    taken = (tensors.access != RETURNED) & (tensors.storage >= 0)
    start = trace.ops.start_ns[tensors.op[taken]]
    instants = distinct_values(start)
    span = len(instants) + 1
    keys = np.sort(tensors.storage[taken] * np.int64(span) + np.searchsorted(instants, start))
    low, high = (
        np.searchsorted(keys, storage * np.int64(span) + np.searchsorted(instants, at))
        for at in (begin_ns, until_ns)
    )
    used: Bools = high > low
    return used


def is_covered(trace: Trace, begin_ns: I64, until_ns: I64) -> Bools:
    """Return for each time range whether the execution trace was being written all the time."""
    op = trace.tensors.op
    if not len(op):
        return np.zeros(len(begin_ns), np.bool_)
    first, last = int(trace.ops.start_ns[op].min()), int(trace.ops.end_ns[op].max())
    covered: Bools = (begin_ns >= first) & (until_ns <= last)
    return covered


def _made(trace: Trace) -> I64:
    """Return the storage that each operator makes, ``NONE`` if it makes none or several."""
    tensors = trace.tensors
    returned = (tensors.access == RETURNED) & (tensors.storage >= 0)
    span = int(tensors.storage.max(initial=0)) + 1
    pair = tensors.op * np.int64(span) + tensors.storage
    fresh = np.unique(pair[returned & ~np.isin(pair, pair[~returned])])
    op, storage = fresh // span, fresh % span
    # Of the operators around each other that return it, the innermost one made it: the last row.
    maker = maxima(storage, op, span, NONE)
    made = np.flatnonzero(maker >= 0)
    count = np.bincount(maker[made], minlength=len(trace.ops))
    found = np.full(len(trace.ops), NONE, np.int64)
    found[maker[made]] = made
    found[count != 1] = NONE
    return found
