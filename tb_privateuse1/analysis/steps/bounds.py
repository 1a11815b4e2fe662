"""Compute error bounds of steps and of their parts where activities are inferred.

The truth lies between two extremes: the device covers the host only while it certainly runs, or
also while it may run. Where that range is wide, sums are narrower: activities of one lane do not
overlap, so their time in a step is known as well as their durations.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import device_times, intervals, sum_bounds, uncertainty
from tb_privateuse1.trace.columns import containing, previous
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, NONE, Kernels, Steps, Trace
from tb_privateuse1.trace.table import I8, I32, I64, Bools

_DEVICE = len(breakdown.KINDS)
_ALL = range(_DEVICE)
_COMPUTE = breakdown.KINDS.index("kernel")


class Limits(Struct, frozen=True):
    """Least and greatest end of each step, and the starts that follow from either.

    They hold for one error that all starts share. A step that ends before its window starts has no
    length.
    """

    start_low: I64
    start_high: I64
    end_low: I64
    end_high: I64

    def least(self) -> I64:
        """Return the least length of each window."""
        length: I64 = np.maximum(self.end_low - self.start_high, 0)
        return length

    def most(self) -> I64:
        """Return the greatest length of each window."""
        return self.end_high - self.start_low

    def spans(self, first: I64, last: I64) -> tuple[I64, I64]:
        """Return the least and the greatest time from the start of ``first`` to ``last``'s end."""
        least = _reached(self.start_low, self.end_low)[last] - self.start_high[first]
        most = _reached(self.start_high, self.end_high)[last] - self.start_low[first]
        return least, most

    def pauses(self, rows: I64) -> tuple[int, int]:
        """Return the least and the greatest sum of the pauses before rows, none the first step."""
        most, least = (
            int((start[rows] - _reached(start, end)[rows - 1]).sum())
            for start, end in ((self.start_low, self.end_low), (self.start_high, self.end_high))
        )
        return least, most


def _reached(start: I64, end: I64) -> I64:
    """Return when each step and all before it have ended."""
    reached: I64 = np.maximum(np.maximum.accumulate(end), start)
    return reached


class Windows(Struct, frozen=True):
    """The limits of each step's window, for the least and the greatest error of all starts.

    Such an error moves both ends of a window alike. ``known`` is false without limits, by step.
    """

    early: Limits
    delayed: Limits
    known: Bools

    def bound(self, steps: Steps) -> I64:
        """Return the error bound of each window's length; ``MISSING`` where it is not known."""
        length = steps.end_ns - steps.start_ns
        least = np.minimum(self.early.least(), self.delayed.least())
        most = np.maximum(self.early.most(), self.delayed.most())
        bound: I64 = np.maximum(length - least, most - length)
        return np.where(self.known, bound, MISSING)

    def total_bound(self, steps: Steps, rows: I64) -> int | None:
        """Return the error bound of the sum of some steps' lengths; None if it is not known.

        A later end of one step is a later start of the next one, so that consecutive steps change
        with the first start, the last end, and the pauses between. Their sum alone need not be
        extreme at an extreme of the shared error, but that time is, and so are the pauses.
        """
        if not self.known[rows].all():
            return None
        rows = np.sort(rows)
        apart = np.diff(rows, prepend=NONE - 1) != 1
        first, last = rows[apart], rows[np.append(apart[1:], True)[: len(rows)]]
        (least, most), spans = self.early.spans(first, last), self.delayed.spans(first, last)
        shortest, _ = self.delayed.pauses(rows[~apart])
        _, longest = self.early.pauses(rows[~apart])
        length = int((steps.end_ns - steps.start_ns)[rows].sum())
        low = max(int(np.minimum(least, spans[0]).sum()) - longest, 0)
        high = int(np.maximum(most, spans[1]).sum()) - shortest
        return min(max(length - low, high - length), int(self.bound(steps)[rows].sum()))


@memoize
def step_windows(trace: Trace) -> Windows:
    """Return the windows as ``inference.steps`` builds them, for the least and greatest ends."""
    steps, kernels = trace.steps, trace.kernels
    # Activities without a launch or operator lie in a step, but do not end it.
    own = (kernels.step >= 0) & ((kernels.launch >= 0) | (kernels.op >= 0))
    step, end = kernels.step[own], kernels.end_ns[own]
    unknown = ~uncertainty.limited(kernels)[own]
    late = (uncertainty.own_start_bound(kernels) + kernels.duration_bound_ns)[own]
    late, shift = np.where(unknown, 0, late), kernels.shift_bound_ns[own]
    # Of all shifts the extreme ones count: the length only grows, or only shrinks, with the shift.
    early, delayed = (_limits(steps, step, end + shifted, late) for shifted in (-shift, shift))
    return Windows(early, delayed, known=~(device_times.lacking_steps(trace) | unknown.any()))


def total_bound(trace: Trace, rows: I64) -> int | None:
    """Return how far off the length of rows of ``trace.steps`` may be; None if it is not known."""
    return step_windows(trace).total_bound(trace.steps, rows)


def _limits(steps: Steps, step: I32, end: I64, late: I64) -> Limits:
    low, high = (_ends(steps, step, end + error) for error in (-late, late))
    return Limits(_starts(steps, low), _starts(steps, high), low, high)


def _ends(steps: Steps, step: I32, ends: I64) -> I64:
    latest = steps.host_end_ns.copy()
    np.maximum.at(latest, step, ends)
    return latest


def _starts(steps: Steps, ends: I64) -> I64:
    before = previous(np.maximum.accumulate(ends), np.iinfo(np.int64).min)
    starts: I64 = np.maximum(steps.host_start_ns, before)
    return starts


def part_bounds(trace: Trace, parts: Mapping[str, I64]) -> dict[str, I64]:
    """Return the error bound of each part of each step; ``MISSING`` where it is not known.

    ``parts`` are the ns of each part by step (``breakdown.step_breakdown``).
    """
    steps, kernels = trace.steps, trace.kernels
    nothing = np.zeros(len(steps), np.int64)
    if _unlimited(trace):
        return dict.fromkeys(parts, np.full(len(steps), MISSING))
    if uncertainty.all_measured(kernels):
        return dict.fromkeys(parts, _if_whole(trace, nothing))
    edge = step_windows(trace).bound(steps)
    between = _extremes(trace)
    sums = _sums(trace, parts)
    alone = len(np.unique(kernels.lane)) == 1
    found = {}
    for i, (name, part) in enumerate(parts.items()):
        low, high = between[name]
        if not high.any():  # no step contains this kind
            found[name] = nothing
            continue
        bound = np.minimum(np.maximum(part - low, high - part), sums[name])
        # On a single lane a step's activities lie in its window, wherever that ends.
        free = alone and i < _DEVICE
        bound = bound + (0 if free else edge)
        found[name] = bound if free else np.where(edge == MISSING, MISSING, bound)
    return {name: _if_whole(trace, bound) for name, bound in found.items()}


RANK = ("duration", "computation", "communication", "overlap", "exposed", "copy", "idle")
"""The figures of a step that are compared between ranks."""


def rank_bounds(trace: Trace) -> dict[str, I64]:
    """Return the bound of each of ``RANK`` in each step; ``MISSING`` where it is not known.

    An intersection of sets, or their complement, changes by at most the sum of what moves in each.
    """
    steps, kernels = trace.steps, trace.kernels
    nothing = np.zeros(len(steps), np.int64)
    if _unlimited(trace):
        return dict.fromkeys(RANK, np.full(len(steps), MISSING))
    if uncertainty.all_measured(kernels):
        return dict.fromkeys(RANK, _if_whole(trace, nothing))
    parts = part_bounds(trace, breakdown.step_breakdown(trace))
    edge = step_windows(trace).bound(steps)
    step, kind, moved = (
        _within(steps, kernels),
        breakdown.activity_kinds(kernels),
        uncertainty.movable_time(kernels),
    )
    compute, memcpy, memset, talk, _ = (
        _total(step, kind, moved, range(k, k + 1), len(steps)) for k in range(_DEVICE)
    )
    talks = len(breakdown.communication_time(trace)[0]) > 0
    sums = len(np.unique(kernels.lane)) == 1 and not talks
    busy = (
        _durations(step, kind, kernels, _ALL, len(steps))
        if sums
        else _total(step, kind, moved, _ALL, len(steps))
    )
    both = compute + talk if talks else nothing
    copies = breakdown.activity_kinds(kernels) != _COMPUTE
    found = {
        "duration": nothing,
        "communication": talk,
        "overlap": both,
        "exposed": both,
        "copy": compute + memcpy + memset + talk if copies.any() else nothing,
        "idle": busy,
    }
    free = {name for name in ("communication", "overlap", "exposed") if not talks}
    free |= set() if copies.any() else {"copy"}
    bounds = {
        name: own if name in free else np.where(edge == MISSING, MISSING, own + edge)
        for name, own in found.items()
    }
    return bounds | {"computation": parts["kernel"]}


def idle_bounds(trace: Trace, idle_ns: I64) -> I64:
    """Return the bound of each step's idle time; ``MISSING`` where it is not known.

    ``idle_ns`` is the idle time by step.
    """
    steps, kernels = trace.steps, trace.kernels
    if _unlimited(trace):
        return np.full(len(steps), MISSING)
    if uncertainty.all_measured(kernels):
        return _if_whole(trace, np.zeros(len(steps), np.int64))
    edge = step_windows(trace).bound(steps)
    start, end = steps.start_ns, steps.end_ns
    all_that_may = uncertainty.possibly_running(kernels, trace.end_ns)
    most = (
        end - start - intervals.covered_length(uncertainty.certainly_running(kernels), start, end)
    )
    least = end - start - intervals.covered_length(all_that_may, start, end)
    alone = len(np.unique(kernels.lane)) == 1
    step = _within(steps, kernels)
    kind = breakdown.activity_kinds(kernels)
    moved = uncertainty.movable_time(kernels)
    error = (
        _durations(step, kind, kernels, _ALL, len(steps))
        if alone
        else _total(step, kind, moved, _ALL, len(steps))
    )
    bound = np.minimum(np.maximum(idle_ns - least, most - idle_ns), error)
    return np.where(edge == MISSING, MISSING, bound + edge)


def _unlimited(trace: Trace) -> bool:
    """Return whether the device may have worked for any time: nothing bounds its parts."""
    unknown = trace.kernels.duration_bound_ns == MISSING
    return bool(unknown.any()) or bool(device_times.lacking_steps(trace).all())


def _if_whole(trace: Trace, bounds_ns: I64) -> I64:
    """Return bounds by step; ``MISSING`` where the device may have worked for any time."""
    return np.where(device_times.lacking_steps(trace), MISSING, bounds_ns)


def _extremes(trace: Trace) -> dict[str, tuple[I64, I64]]:
    """Return the least and the greatest value of each part in the windows as they are."""
    start, end = trace.steps.start_ns, trace.steps.end_ns

    def all_that_may(kernels: Kernels) -> intervals.Set:
        return (
            uncertainty.possibly_running(kernels, trace.end_ns) if len(kernels) else intervals.EMPTY
        )

    least, most = (
        breakdown.part_sets(trace, uncertainty.certainly_running),
        breakdown.part_sets(trace, all_that_may),
    )
    below, above = intervals.EMPTY, intervals.EMPTY  # higher precedence: certain, possible
    found = {}
    for name, low, high in zip(breakdown.PARTS, least, most, strict=False):
        found[name] = (
            intervals.covered_length(intervals.subtract(low, above), start, end),
            intervals.covered_length(intervals.subtract(high, below), start, end),
        )
        below, above = intervals.merge(below, low), intervals.merge(above, high)
    covered = [intervals.covered_length(one, start, end) for one in (above, below)]
    found["other"] = (end - start - covered[0], end - start - covered[1])
    return found


def _sums(trace: Trace, parts: Mapping[str, I64]) -> dict[str, I64]:
    """Return bounds of the parts from those of the durations, wherever the activities lie."""
    steps, kernels = trace.steps, trace.kernels
    step = _within(steps, kernels)
    kind = breakdown.activity_kinds(kernels)
    moved = uncertainty.movable_time(kernels)
    alone = len(np.unique(kernels.lane)) == 1

    def total(values: I64, kinds: range) -> I64:
        return _total(step, kind, values, kinds, len(steps))

    def durations(kinds: range) -> I64:
        return _durations(step, kind, kernels, kinds, len(steps))

    found: dict[str, I64] = {}
    for i, name in enumerate(breakdown.PARTS):
        found[name] = total(moved, range(min(i + 1, _DEVICE)))
        # Any device activity may cover the host's own communication.
        if alone and i < _DEVICE and not (name == "communication" and parts[name].any()):
            found[name] = durations(range(i, i + 1))
    # All parts of the host together fill what the device leaves free in the window.
    busy = intervals.covered_length(breakdown.busy(kernels), steps.start_ns, steps.end_ns)
    error = durations(_ALL) if alone else total(moved, _ALL)
    free = steps.end_ns - steps.start_ns - busy
    for name in breakdown.PARTS[_DEVICE:]:
        found[name] = np.minimum(found[name], np.maximum(free + error - parts[name], parts[name]))
    return found


def _total(step: I64, kind: I8, values: I64, kinds: range, steps: int) -> I64:
    """Return by step the sum of the values of some kinds of activities."""
    chosen = (kind >= kinds.start) & (kind < kinds.stop)
    return sums(step[chosen], values[chosen], steps)


def _durations(step: I64, kind: I8, kernels: Kernels, kinds: range, steps: int) -> I64:
    """Return by step the bound of the sum of the durations of some kinds of activities."""
    chosen = (step >= 0) & (kind >= kinds.start) & (kind < kinds.stop)
    return sum_bounds.duration_sum_bounds(np.where(chosen, step, NONE), kernels, steps)


def _within(steps: Steps, kernels: Kernels) -> I64:
    """Return the step of each activity, or else the step whose window contains its start."""
    around = containing(steps.start_ns, steps.end_ns, kernels.start_ns)
    return np.where(kernels.step >= 0, kernels.step, around)
