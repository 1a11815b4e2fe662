"""Times and bytes of the iterations of serving, on the host and on the device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.recording.phases import phases, time_of
from tb_privateuse1.analysis.serving.iterations import Iteration
from tb_privateuse1.analysis.work.kernel_work import kernel_work
from tb_privateuse1.trace import device_times, groupby, intervals, uncertainty
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import KERNEL, MISSING, NONE, Kernels, Trace
from tb_privateuse1.trace.table import I64


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
    work, exposure = _Work(trace, members), _Exposure(trace)
    # Looked up once: it reads all kernels, and iterations may be a hundred thousand.
    has_device = device_times.known_times(trace) == "device"
    return [
        _of_one(
            work,
            i,
            _Window(one.start_ns, end, bound, int(drained[i]), int(busy_ns[i])),
            exposure if has_device else None,
        )
        for i, (one, (end, bound)) in enumerate(zip(found, stops, strict=True))
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


class _Work:
    """The device's work of each iteration: ``members`` has the rows of its activities."""

    def __init__(self, trace: Trace, members: Sequence[I64]) -> None:
        kernels = trace.kernels
        self.trace, self._members = trace, members
        self._measured = uncertainty.all_measured(kernels)
        bytes_of = _bytes_of_kernels(trace)
        rows = np.concatenate(members)
        owner = np.repeat(np.arange(len(members)), [len(own) for own in members])
        known, duration = bytes_of[rows] != MISSING, kernels.end_ns[rows] - kernels.start_ns[rows]

        def total(values: I64) -> list[int]:
            sums: list[int] = groupby.sums(owner, values, len(members)).tolist()
            return sums

        self.known: list[int] = np.bincount(owner[known], minlength=len(members)).tolist()
        self.bytes = total(np.where(known, bytes_of[rows], 0))
        self.bytes_ns = total(np.where(known, duration, 0))
        self.kernels_ns = total(duration)
        # Each iteration in a time of its own: one union is that of all.
        apart = owner * (np.int64(trace.end_ns) + 1)
        union = intervals.union(kernels.start_ns[rows] + apart, kernels.end_ns[rows] + apart)
        first = np.arange(len(members)) * (np.int64(trace.end_ns) + 1)
        within = intervals.covered_length(union, first, first + np.int64(trace.end_ns) + 1)
        self.device_ns: list[int] = within.tolist()

    def device_bound(self, i: int) -> int | None:
        """Return the bound of the time in which the activities of an iteration run."""
        if self._measured:
            return device_times.known_bound(self.trace, 0)
        own = self.trace.kernels.take(self._members[i])
        return device_times.known_bound(self.trace, uncertainty.union_bound(own))


def _of_one(work: _Work, i: int, window: _Window, exposure: _Exposure | None) -> Figures:
    """Return the figures of an iteration; ``exposure`` is None without times of a device."""
    # The host may run ahead for whole iterations meanwhile: then it is their time.
    drained = window.drained_ns if window.drained_ns < window.end_ns - window.start_ns else 0
    time = window.end_ns - window.start_ns - drained
    idle_of = exposure if drained == window.drained_ns else None
    return Figures(
        time_ns=time,
        time_bound_ns=window.end_bound_ns,
        device_ns=device_times.known_sum(work.trace, work.device_ns[i]) if exposure else None,
        device_bound_ns=work.device_bound(i),
        exposed_ns=time - window.busy_ns if idle_of else None,
        exposed_bound_ns=idle_of.bound(window) if idle_of else None,
        bytes=work.bytes[i] if work.known[i] else None,
        bytes_ns=work.bytes_ns[i],
        kernels_ns=work.kernels_ns[i],
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
