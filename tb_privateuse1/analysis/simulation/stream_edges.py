"""Find what a stream, or the host, waits for on a stream: by recorded waits, and by tensors.

An operator reads a storage that another one wrote last: its first activity follows the writer's
last one, also where no event is recorded (a stream may wait by other means than recorded events).
Of two on one stream their order says so already. Views write nothing, and have no activities.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import latest_before, latest_not_after, lookup, positions
from tb_privateuse1.trace.event_waits import EventWaits
from tb_privateuse1.trace.groupby import distinct_values
from tb_privateuse1.trace.model import NONE, READ, RETURNED, Trace
from tb_privateuse1.trace.table import I32, I64, Bools


def wait_edges(trace: Trace, launched_ns: I64) -> tuple[I64, I64]:
    """Return pairs of activities: the last one before an event, the first one behind its wait.

    ``launched_ns`` is when each activity was launched.
    """
    kernels, waits = trace.kernels, trace.event_waits
    waits = waits.take(waits.lane >= 0)
    source = _awaited(trace, launched_ns, waits)
    called = trace.launches.start_ns[waits.launch]
    target = np.full(len(waits), NONE)
    for own, rows, launched in _by_lane(trace, launched_ns, waits.lane):
        at = np.searchsorted(launched, called[own], side="left")
        target[own] = lookup(rows, at, NONE)
    # A wait for what is not recorded, or with nothing behind it, delays nothing.
    some = (source >= 0) & (target >= 0)
    some &= lookup(kernels.end_ns, source, 0) <= lookup(kernels.start_ns, target, 0)
    pairs = np.unique(np.stack((source[some], target[some])), axis=1)
    return pairs[0], pairs[1]


def host_waits(trace: Trace, launched_ns: I64, launch: I32) -> tuple[Bools, I64]:
    """Return which calls wait for a recorded stream, and the activity that each waits for.

    ``launch`` are calls, rows of ``trace.launches`` or ``NONE``. The activity is ``NONE`` if the
    stream had nothing to do.
    """
    waits = trace.event_waits.take(trace.event_waits.lane < 0)
    row = lookup(positions(waits.launch, len(trace.launches)), launch, NONE)
    return row >= 0, lookup(_awaited(trace, launched_ns, waits), row, NONE)


def _awaited(trace: Trace, launched_ns: I64, waits: EventWaits) -> I64:
    """Return the last activity of each awaited stream that was launched before the event."""
    call = np.where(waits.record >= 0, waits.record, waits.launch)
    until = trace.launches.start_ns[call]
    found = np.full(len(waits), NONE)
    for own, rows, launched in _by_lane(trace, launched_ns, waits.awaited_lane):
        found[own] = lookup(rows, latest_not_after(launched, until[own]), NONE)
    return found


def _by_lane(trace: Trace, launched_ns: I64, lane: I32) -> list[tuple[I64, I64, I64]]:
    """Return by lane: the waits for it, its activities, and when each of these was launched."""
    waiting = dict(groupby.split_by_value(lane))
    if not waiting:
        return []
    return [
        (waiting[one], rows, np.maximum.accumulate(launched_ns[rows]))
        for one, rows in groupby.split_by_value(trace.kernels.lane)
        if one in waiting
    ]


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
