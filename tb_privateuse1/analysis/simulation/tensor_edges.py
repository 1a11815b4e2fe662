"""Find which activity of another stream made what an activity reads, by an execution trace.

An operator reads a storage that another one wrote last: its first activity follows the writer's
last one, also where no event is recorded (a stream may wait by other means than recorded events).
Of two on one stream their order says so already. Views write nothing, and have no activities.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.columns import latest_before, lookup
from tb_privateuse1.trace.groupby import distinct_values
from tb_privateuse1.trace.model import NONE, READ, RETURNED, Trace
from tb_privateuse1.trace.table import I64


def tensor_edges(trace: Trace) -> tuple[I64, I64]:
    """Return pairs of activities of different streams: the writer's last, the reader's first."""
    first, last = _activities(trace)
    tensors = trace.tensors
    known = (tensors.storage >= 0) & (tensors.op >= 0)
    known &= first[tensors.op] >= 0
    tensors = tensors.take(known)
    if not len(tensors):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    begun = trace.ops.start_ns[tensors.op]
    instants = distinct_values(begun)
    span = np.int64(len(instants) + 1)
    key = tensors.storage * span + np.searchsorted(instants, begun)
    # What an operator writes to was there before: it is read, too.
    takes, makes = tensors.access != RETURNED, tensors.access != READ
    written, writer = key[makes], tensors.op[makes]
    order = np.argsort(written, kind="stable")
    written, writer = written[order], writer[order]
    read, reader = key[takes], tensors.op[takes]
    at = latest_before(written, read)
    same = (at >= 0) & (lookup(written, at, NONE) // span == read // span)
    source, target = last[writer[at[same]]], first[reader[same]]
    kernels = trace.kernels
    some = kernels.lane[source] != kernels.lane[target]
    some &= kernels.end_ns[source] <= kernels.start_ns[target]
    pairs = np.unique(np.stack((source[some], target[some])), axis=1)
    return pairs[0], pairs[1]


def _activities(trace: Trace) -> tuple[I64, I64]:
    """Return the activity of each operator that starts first, and the one that ends last."""
    kernels = trace.kernels
    first, last = (np.full(len(trace.ops), NONE, np.int64) for _ in range(2))
    of = np.flatnonzero(kernels.op >= 0)
    late = of[np.argsort(-kernels.start_ns[of], kind="stable")]
    first[kernels.op[late]] = late
    by_end = of[np.argsort(kernels.end_ns[of], kind="stable")]
    last[kernels.op[by_end]] = by_end
    return first, last
