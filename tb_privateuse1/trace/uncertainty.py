"""How well device activities are known, and how far figures over them may be off.

Bounds add in the worst case. The errors of inferred activities are no independent noise: a wrong
latency moves all of them the same way, so nothing may be taken to cancel out.
docs/reference/definitions.md says how each bound follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.trace import intervals, model
from tb_privateuse1.trace.model import BOUND, EVIDENCE, MEASURED, MISSING, Kernels
from tb_privateuse1.trace.table import I8, I64, Bools


@dataclass(frozen=True)
class Evidence:
    """How many device activities are known in one way, and how well.

    docs/internals/inference.md explains each kind.
    """

    evidence: model.Evidence
    kernels: int
    total_ns: int
    share: float
    """Of the device time of all activities, 0 to 1."""
    bound_ns: int | None
    """How far off ``total_ns`` may be."""
    median_start_bound_ns: int | None
    largest_start_bound_ns: int | None
    median_duration_bound_ns: int | None
    largest_duration_bound_ns: int | None
    unbounded: int
    """Activities of which nothing tells how far off their start may be."""


def evidence_classes(kernels: Kernels) -> Iterator[Evidence]:
    """The classes that there are, the best known first."""
    whole = _time(kernels)
    for i, name in enumerate(EVIDENCE):
        rows = kernels.take(kernels.evidence == i)
        if len(rows):
            start, duration = _known(rows.start_bound_ns), _known(rows.duration_bound_ns)
            total = _time(rows)
            yield Evidence(
                evidence=name,
                kernels=len(rows),
                total_ns=total,
                share=total / whole if whole else 0.0,
                bound_ns=bound_sum(rows.duration_bound_ns),
                median_start_bound_ns=_median(start),
                largest_start_bound_ns=int(start.max()) if len(start) else None,
                median_duration_bound_ns=_median(duration),
                largest_duration_bound_ns=int(duration.max()) if len(duration) else None,
                unbounded=len(rows) - len(start),
            )


LOOKS = ("measured", "inferred", "bounded")
"""How well something is known, as it is drawn: solid, hatched, hollow."""


def appearance_index(kernels: Kernels) -> I8:
    """The index in ``LOOKS`` of each activity."""
    look = np.select((kernels.evidence == MEASURED, kernels.evidence == BOUND), (0, 2), 1)
    return look.astype(np.int8)


def bounded_only(kernels: Kernels) -> Bools:
    """Activities of which only limits are known: neither they nor their like were seen."""
    only: Bools = kernels.evidence == BOUND
    return only


def all_measured(kernels: Kernels) -> bool:
    """Whether all of them were measured."""
    return not (kernels.start_bound_ns.any() or kernels.duration_bound_ns.any())


def known_bound(bound_ns: int | np.int64) -> int | None:
    """A bound for a result: None where it is not known."""
    return None if bound_ns == MISSING else int(bound_ns)


def bound_sum(bounds_ns: I64) -> int | None:
    """The bound of a sum: that of all bounds; None if one of them is not known."""
    return None if (bounds_ns == MISSING).any() else int(bounds_ns.sum())


def bound_of(statistic: Callable[[I64], float], values: I64, bounds_ns: I64) -> int | None:
    """The bound of a median, least or greatest value: each grows with any of its values.

    So its extremes are those of all values at their least, and at their greatest.
    """
    if (bounds_ns == MISSING).any():
        return None
    shown = statistic(values)
    low, high = statistic(np.maximum(values - bounds_ns, 0)), statistic(values + bounds_ns)
    return round(max(shown - low, high - shown))


def union_bound(kernels: Kernels) -> int | None:
    """The bound of the length of their union; None if a duration's bound is not known.

    Activities of one lane do not overlap, so that their union is a sum. Over several lanes it is
    at least that of the busiest and at most the sum of all; and what a moved activity uncovers or
    covers is no more than its bounds, or itself.
    """
    total = bound_sum(kernels.duration_bound_ns)
    lanes = np.unique(kernels.lane)
    if not total and not kernels.start_bound_ns.any():
        return total
    if total is None or len(lanes) == 1:
        return total
    whole = _length(kernels)
    each = [kernels.take(kernels.lane == lane) for lane in lanes]
    lengths = np.array([_length(one) for one in each])
    error = np.array([int(one.duration_bound_ns.sum()) for one in each])
    low, high = int((lengths - error).max()), int((lengths + error).sum())
    return min(max(whole - low, high - whole), int(movable_time(kernels).sum()))


def span_bound(kernels: Kernels) -> int | None:
    """The bound of the time from the first start to the last end; None if one is not known."""
    if not len(kernels):
        return 0
    if not limited(kernels).all():
        return None
    start, end = kernels.start_ns, kernels.end_ns
    early = kernels.start_bound_ns
    late = early + kernels.duration_bound_ns
    span = int(end.max() - start.min())
    least = int((end - late).max() - (start + early).min())
    most = int((end + late).max() - (start - early).min())
    return max(span - max(least, 0), most - span)


def movable_time(kernels: Kernels) -> I64:
    """The most of each activity's time that may lie elsewhere; its duration's bound is known."""
    duration = kernels.end_ns - kernels.start_ns
    unknown = kernels.start_bound_ns == MISSING
    shift = np.where(unknown, duration, np.minimum(kernels.start_bound_ns, duration))
    total: I64 = kernels.duration_bound_ns + shift
    return total


def busy(kernels: Kernels) -> intervals.Set:
    """When one of them runs, as shown."""
    return intervals.union(kernels.start_ns, kernels.end_ns)


def limited(kernels: Kernels) -> Bools:
    """Activities of which it is known how far off their start and their end may be."""
    both: Bools = (kernels.start_bound_ns != MISSING) & (kernels.duration_bound_ns != MISSING)
    return both


def possibly_running(kernels: Kernels, end_ns: int) -> intervals.Set:
    """When one of them may have run, in a trace of this length."""
    early, late = _limits(kernels)
    if early is None or late is None:
        return np.array([0]), np.array([max(end_ns, 1)])
    return intervals.union(kernels.start_ns - early, kernels.end_ns + late)


def certainly_running(kernels: Kernels) -> intervals.Set:
    """When one of them surely ran."""
    early, late = _limits(kernels)
    if early is None or late is None:
        return intervals.EMPTY
    return intervals.union(kernels.start_ns + early, kernels.end_ns - late)


def length_inside(kernels: Kernels, start_ns: int, stop_ns: int) -> tuple[I64, I64]:
    """The part of each that lies in a window at least, and at most.

    Where a start's bound is not known, it may be anywhere; so may the end of an unknown duration.
    """
    length = kernels.end_ns - kernels.start_ns
    lost = ~limited(kernels)
    early = np.where(lost, 0, kernels.start_bound_ns)
    late = early + np.where(lost, 0, kernels.duration_bound_ns)
    first, last = kernels.start_ns - early, kernels.end_ns + late
    least = np.minimum(kernels.end_ns - late, stop_ns) - np.maximum(
        kernels.start_ns + early, start_ns
    )
    # Of what is in there whole, wherever it lies, the duration's bound counts alone.
    whole = (first >= start_ns) & (last <= stop_ns)
    error = np.where(kernels.duration_bound_ns == MISSING, length, kernels.duration_bound_ns)
    least = np.where(whole, np.maximum(least, length - error), least)
    most = np.minimum(length + error, np.minimum(last, stop_ns) - np.maximum(first, start_ns))
    window = max(stop_ns - start_ns, 0)
    least = np.where(lost, 0, np.maximum(least, 0))
    return least, np.where(lost, window, np.clip(most, 0, window))


def covered_bound(kernels: Kernels, start_ns: int, stop_ns: int, shown_ns: int) -> int | None:
    """The bound of the time in a window in which one of them runs; None if that is not known."""
    if all_measured(kernels):
        return 0
    if not limited(kernels).all():
        return None
    window = (np.array([start_ns]), np.array([stop_ns]))
    end = max(int(kernels.end_ns.max()), stop_ns)
    low, high = certainly_running(kernels), possibly_running(kernels, end)
    least, most = (intervals.length(intervals.intersect(one, window)) for one in (low, high))
    low_each, high_each = length_inside(kernels, start_ns, stop_ns)
    if len(np.unique(kernels.lane)) == 1:  # they do not overlap: a sum
        own = np.minimum(kernels.end_ns, stop_ns) - np.maximum(kernels.start_ns, start_ns)
        own = np.maximum(own, 0)
        apart = np.maximum(own - low_each, high_each - own)
    else:
        apart = movable_time(kernels)[high_each > 0]
    return min(max(shown_ns - least, most - shown_ns), int(apart.sum()))


def _limits(kernels: Kernels) -> tuple[I64 | None, I64 | None]:
    """How far starts and ends may be off; None if one is not known."""
    if not limited(kernels).all():
        return None, None
    return kernels.start_bound_ns, kernels.start_bound_ns + kernels.duration_bound_ns


def _known(bounds_ns: I64) -> I64:
    told: I64 = bounds_ns[bounds_ns != MISSING]
    return told


def _median(values: I64) -> int | None:
    return round(float(np.median(values))) if len(values) else None


def _time(kernels: Kernels) -> int:
    return int((kernels.end_ns - kernels.start_ns).sum())


def _length(kernels: Kernels) -> int:
    return intervals.length(busy(kernels))
