"""Estimate the time that a batch takes from a worker to the training thread.

A loader with workers still gives each batch to the training thread: it reads a queue, and asks the
worker for the memory of each tensor. A recording without workers does not have that time, so it is
an upper estimate: where processes talk slowly, workers gain that much less.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.simulation.launches_and_waits import Ranges
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

ONE_PROCESS = f"{call_tree.LOADER}#_SingleProcess"

_BATCH_NS, _TENSOR_NS = 650_000, 130_000
"""What the training thread works for a batch, and for each of its tensors.

The least CPU time of ``__next__`` with one worker or two whose batch was ready, in a container
whose calls of the system are slow: 0.3 ms without tensors, 0.8 ms with one, 1.0 with two, 1.7 with
eight and 2.7 with sixteen. With pinned memory another thread does the most of it: recordings of
others have 0.07 to 0.08 ms at least."""


def loading_rows(trace: Trace) -> I64:
    """Return the rows of ``trace.ops`` in which the training process makes a batch itself."""
    return np.flatnonzero(call_tree.starts_with(trace, ONE_PROCESS)[trace.ops.name])


def hand_over_ns(trace: Trace, rows: I64) -> I64:
    """Return what it takes at most to hand over the batches that operators make."""
    return _BATCH_NS + _TENSOR_NS * np.maximum(_kept_blocks(trace, rows), 1)


def _kept_blocks(trace: Trace, rows: I64) -> I64:
    """Return how many blocks of memory are taken in each operator and kept behind it.

    They are those of the batch's tensors; 0 where memory is not recorded.
    """
    ops, memory = trace.ops, trace.memory
    net = np.concatenate(([0], np.cumsum(np.sign(memory.bytes))))
    start = np.searchsorted(memory.ts_ns, ops.start_ns[rows])
    end = np.searchsorted(memory.ts_ns, ops.end_ns[rows])
    kept: I64 = net[end] - net[start]
    return kept


def hand_overs(trace: Trace) -> Ranges:
    """Return the part of each such operator's time that the hand-over of its batch may take."""
    rows = loading_rows(trace)
    made = Ranges.of(trace.ops, rows)
    until = np.minimum(made.start_ns + hand_over_ns(trace, rows), made.end_ns)
    return Ranges(made.thread, made.start_ns, until)
