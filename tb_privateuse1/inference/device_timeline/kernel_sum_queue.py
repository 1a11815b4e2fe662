"""Place kernels one behind the other, where elapsed times are sums of kernel durations.

Such a backend adds up the durations of the kernels it launched, so that only the starts are
inferred: when the launch has reached the device and the kernel before is done. No Python loop.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.i18n import say
from tb_privateuse1.inference.device_timeline import sync_points
from tb_privateuse1.inference.device_timeline.calibration import EVENT_HIGH_NS
from tb_privateuse1.inference.device_timeline.phase_results import StreamInput
from tb_privateuse1.inference.device_timeline.timeline_inputs import (
    NEVER,
    Bounds,
    Calibration,
    EventPairs,
    StreamKernels,
)
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import latest_not_after
from tb_privateuse1.trace.findings import DEVICE, Finding
from tb_privateuse1.trace.model import EVENTS, KERNEL, Ops
from tb_privateuse1.trace.table import I64, Bools

Triple = tuple[I64, I64, I64]
"""The earliest, likely and latest value."""

_EVENT_MOST_NS, _HALVINGS = 20_000, 24
"""The largest cost of an event, and the bisection steps to find the actual one."""

_TAIL_NS = 1_500
"""From the launch to the operator's end on the host."""


def replay_queue(stream: StreamInput) -> StreamKernels:
    """Return the kernels of a stream.

    An operator launches between its start and its end, likely near the end. Such a backend's queue
    may be a thread of the host: so an unmeasured latency may be 0. The queue also takes time from
    one kernel to the next.
    """
    ops, events, c, basis = stream.ops, stream.events, stream.c, stream.basis
    row = _launching(ops)
    duration = ops.elapsed_ns[row]
    least = max(c.latency_ns - c.latency_bound_ns, 0) if c.latency_measured else 0
    likely = c.latency_ns if c.latency_measured else 0
    tail = np.minimum(_TAIL_NS, ops.end_ns[row] - ops.start_ns[row])
    half = c.resolution_ns // 2
    # The sums do not include the cost of the events between two kernels.
    between = np.diff(events.start[row], append=len(events))
    ready = (
        ops.start_ns[row] + least,
        ops.end_ns[row] - tail + likely,
        ops.end_ns[row] + c.latency_ns + c.latency_bound_ns,
    )
    taken = (duration - half, duration + c.gap_ns, duration + c.gap_high_ns + half)
    cost = _event_costs(
        events,
        row,
        sync_points.find_sync_points(events, np.zeros(len(ops), np.bool_), stream.waits, c),
        ready,
        taken,
        between,
        c,
    )
    if stream.measured is None:
        starts = [
            _starts(launch, np.maximum(more + (between * event).astype(np.int64), 0))
            for launch, more, event in zip(ready, taken, cost, strict=True)
        ]
    else:
        starts = _measured_starts(stream, stream.measured.bounds, row, ready, duration - half)
    shift = 0 if stream.measured is None else c.latency_bound_ns
    bound = np.maximum(starts[1] - starts[0], starts[2] - starts[1]) + shift
    message = say("{evidence} So they are taken as kernel durations.", evidence=basis.evidence)
    hint = say("Starts are inferred from the host's launches and the order of the queue.")
    finding = Finding("elapsed_kernel_sum", message, hint, severity="info", affects=DEVICE)
    return StreamKernels(
        row, starts[1], duration, bound, np.full(len(row), c.resolution_ns),
        np.full(len(row), EVENTS, np.int8), np.full(len(row), KERNEL, np.int8),
        np.zeros(len(row), np.bool_),
        shift_bound_ns=shift, findings=(finding,), basis=basis,
    )  # fmt: skip


def _measured_starts(
    stream: StreamInput, bounds: Bounds, row: I64, ready: Triple, duration: I64
) -> list[I64]:
    """Return the earliest, likely and latest start of each kernel between its measured events.

    ``duration``: the least one. A launch that has reached the device starts behind the first event.
    """
    first, last, c = stream.events.start[row], stream.events.end[row], stream.c
    end = bounds.high[last] - c.event_low_ns - duration
    low = np.minimum(np.maximum(ready[0], bounds.low[first]), end)
    high = np.clip(np.maximum(ready[2], bounds.high[first] + c.gap_high_ns), low, end)
    likely = np.clip(np.maximum(ready[1], bounds.likely[first] + c.gap_ns // 2), low, high)
    return [low, likely, high]


def _event_costs(
    events: EventPairs,
    row: I64,
    points: sync_points.SyncPoints,
    ready: Triple,
    taken: Triple,
    between: I64,
    c: Calibration,
) -> tuple[float, float, float]:
    """Return the cost of an event if kernels start as early as possible, likely, and late.

    The queue is then done when waits return. Without a long wait it is what the capture measured,
    or likely nothing: not all such backends record events on the device.
    """
    last = latest_not_after(events.start[row], points.event)
    some = last >= 0
    last, latest = last[some], points.latest[some]
    lengthy = points.earliest[some] > NEVER

    def most(which: int, limit: I64, among: Bools) -> float:
        """Return the largest cost with which the queue is done by a limit."""
        low, high = 0.0, float(_EVENT_MOST_NS)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            duration = np.maximum(taken[which] + between * middle, 0).astype(np.int64)
            done = (_starts(ready[which], duration) + duration)[last]
            low, high = (low, middle) if (done > limit)[among].any() else (middle, high)
        return low

    if not lengthy.any():
        shown = next(one for one in c.constants if one.name == "event_cost")
        if shown.source == "capture":
            return 0.0, float(c.event_ns), float(c.event_high_ns)
        # Sums hold no time of events, so that the trace does not show their cost.
        return 0.0, 0.0, float(max(c.event_high_ns, EVENT_HIGH_NS))
    return (
        most(0, points.earliest[some], lengthy),
        most(1, (points.nearer[some] + latest) // 2, lengthy),
        most(2, latest, lengthy),
    )


def _starts(ready: I64, taken: I64) -> I64:
    """Return start[i] = max(ready[i], start[i - 1] + taken[i - 1]), without a loop."""
    done = np.cumsum(taken) - taken
    result: I64 = done + np.maximum.accumulate(ready - done)
    return result


def _launching(ops: Ops) -> I64:
    """Return the innermost operators with device time, in the host's order."""
    own = ops.elapsed_ns > 0
    outer = intervals.enclosing(ops.parent, own)
    rows = np.flatnonzero(own & ~outer)
    return rows[np.argsort(ops.start_ns[rows], kind="stable")]
