"""Times and bytes of the iterations of serving, on the host and on the device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.recording.phases import phases, time_of
from tb_privateuse1.analysis.serving.iterations import Iteration
from tb_privateuse1.analysis.work.kernel_work import kernel_work
from tb_privateuse1.trace import device_times, intervals, uncertainty
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import KERNEL, MISSING, NONE, Kernels, Trace
from tb_privateuse1.trace.table import I64, Bools


class Figures(Struct, frozen=True):
    """The figures of one iteration; None is not known."""

    time_ns: int
    """From its start to that of the next one; without one, to the end of its work. Less the time in
    which the device finishes work from before the recording."""
    time_bound_ns: int | None
    device_ns: int | None
    """In which its own activities run."""
    device_bound_ns: int | None
    exposed_ns: int | None
    """Of its time, in which no device works."""
    exposed_bound_ns: int | None
    bytes: int | None
    """Those that its kernels of known work read and write."""
    bytes_ns: int
    """The sum of the durations of these kernels."""
    kernels_ns: int
    """The sum of the durations of all its activities."""


class _Window(Struct, frozen=True):
    """The time of an iteration, and what covers it."""

    start_ns: int
    end_ns: int
    end_bound_ns: int | None
    drained_ns: int
    """In which the device finishes work from before the recording."""
    busy_ns: int
    """In which it works on what is recorded."""


def figures(trace: Trace, found: Sequence[Iteration]) -> list[Figures]:
    """Return the figures of each iteration."""
    if not found:
        return []
    owner = owners(trace, found)
    order = np.argsort(owner, kind="stable")
    edges = np.searchsorted(owner[order], np.arange(len(found) + 1))
    members = [np.sort(order[edges[i] : edges[i + 1]]) for i in range(len(found))]
    stops = [_end(trace.kernels, one, rows) for one, rows in zip(found, members, strict=True)]
    starts = np.array([one.start_ns for one in found], np.int64)
    ends = np.array([end for end, _ in stops], np.int64)
    earlier = time_of(phases(trace), ("drain",))
    drained = intervals.covered_length(earlier, starts, ends)
    busy = intervals.subtract(uncertainty.busy(trace.kernels), earlier)
    busy_ns = intervals.covered_length(busy, starts, ends)
    bytes_of, exposure = _bytes_of_kernels(trace), _Exposure(trace)
    return [
        _of_one(
            trace,
            rows,
            _Window(one.start_ns, end, bound, int(drained[i]), int(busy_ns[i])),
            bytes_of,
            exposure,
        )
        for i, (one, rows, (end, bound)) in enumerate(zip(found, members, stops, strict=True))
    ]


def owners(trace: Trace, found: Sequence[Iteration]) -> I64:
    """Return by device activity the iteration whose host time has its launch, or ``NONE``."""
    kernels = trace.kernels
    launched = lookup(trace.launches.start_ns, kernels.launch, MISSING)
    called = lookup(trace.ops.start_ns, kernels.op, MISSING)
    at = np.where(launched == MISSING, called, launched)
    order = np.argsort([one.start_ns for one in found], kind="stable")
    starts = np.array([found[i].start_ns for i in order.tolist()], np.int64)
    ends = np.array([found[i].end_ns for i in order.tolist()], np.int64)
    row = np.searchsorted(starts, at, "right") - 1
    inside = (row >= 0) & (at < lookup(ends, row, MISSING))
    return np.where(inside, lookup(order.astype(np.int64), row, NONE), NONE)


def _bytes_of_kernels(trace: Trace) -> I64:
    """Return the bytes of each kernel; ``MISSING`` if they are unknown, or no more than a limit."""
    work = kernel_work(trace)
    known = (work.read_bytes != MISSING) & (work.written_bytes != MISSING) & ~work.at_most
    known &= trace.kernels.kind == KERNEL
    return np.where(known, work.read_bytes + work.written_bytes, MISSING)


def _end(kernels: Kernels, one: Iteration, rows: I64) -> tuple[int, int | None]:
    """Return when an iteration ends, and the bound of that: the last one with its activities."""
    if not one.is_last or not len(rows):
        return one.end_ns, 0
    last = int(rows[np.argmax(kernels.end_ns[rows])])
    if kernels.end_ns[last] <= one.end_ns:
        return one.end_ns, 0
    own = kernels.take(np.array([last]))
    bounds = np.concatenate([own.start_bound_ns, own.duration_bound_ns])
    return int(own.end_ns[0]), uncertainty.bound_sum(bounds)


def _of_one(
    trace: Trace, rows: I64, window: _Window, bytes_of: I64, exposure: _Exposure
) -> Figures:
    own = trace.kernels.take(rows)
    # The host may run ahead for whole iterations meanwhile: then it is their time.
    drained = window.drained_ns if window.drained_ns < window.end_ns - window.start_ns else 0
    time = window.end_ns - window.start_ns - drained
    known: Bools = bytes_of[rows] != MISSING
    duration = own.end_ns - own.start_ns
    device = intervals.length(uncertainty.busy(own))
    has_device = device_times.known_times(trace) == "device"
    has_idle = has_device and drained == window.drained_ns
    return Figures(
        time_ns=time,
        time_bound_ns=window.end_bound_ns,
        device_ns=device_times.known_sum(trace, device) if has_device else None,
        device_bound_ns=device_times.known_bound(trace, uncertainty.union_bound(own)),
        exposed_ns=time - window.busy_ns if has_idle else None,
        exposed_bound_ns=exposure.bound(window) if has_idle else None,
        bytes=int(bytes_of[rows][known].sum()) if known.any() else None,
        bytes_ns=int(duration[known].sum()),
        kernels_ns=int(duration.sum()),
    )


class _Exposure:
    """The bounds of the time without work, of windows of one trace."""

    def __init__(self, trace: Trace) -> None:
        kernels = trace.kernels
        self._trace = trace
        self._measured = uncertainty.all_measured(kernels)
        self._limited = bool(uncertainty.limited(kernels).all())
        reach = np.where(self._limited, kernels.start_bound_ns + kernels.duration_bound_ns, 0)
        self._earliest, self._latest = kernels.start_ns - reach, kernels.end_ns + reach
        # Of all rows behind, and of all rows before: these are in order.
        self._from = np.minimum.accumulate(self._earliest[::-1])[::-1]
        self._until = np.maximum.accumulate(self._latest)

    def bound(self, window: _Window) -> int | None:
        """Return the bound of a window: that of the work, and of the end."""
        if self._measured:
            return device_times.known_bound(self._trace, 0)
        if window.end_bound_ns is None or not self._limited:
            return None
        start, end = window.start_ns, window.end_ns
        first = int(np.searchsorted(self._until, start, "right"))
        last = int(np.searchsorted(self._from, end, "left"))
        rows = np.arange(first, max(first, last))
        rows = rows[(self._earliest[rows] < end) & (self._latest[rows] > start)]
        near = self._trace.kernels.take(rows)
        bound = uncertainty.covered_bound(near, start, end, window.busy_ns) if len(near) else 0
        total = None if bound is None else bound + window.end_bound_ns
        return device_times.known_bound(self._trace, total)
